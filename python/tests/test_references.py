"""Locations that are computed inside from offsets and references: points, boxes, pillars, with their gradients."""

import pytest
import torch

import msda
from msda import ops
from reference import attention, draw, located

attend = msda.multi_scale_deformable_attention
KINDS = ["points", "points of all levels", "boxes", "boxes of all levels", "pillars"]


def draw_offsets(kind, dtype=torch.float64, points=2, queries=5, batch=2, **others):
    """value, levels, offsets, weights, references and the options of a call."""
    value, levels, _, weights = draw(dtype=dtype, points=points, queries=queries, batch=batch, **others)
    generator = torch.Generator().manual_seed(7)
    count = 3 if kind == "pillars" else len(levels) if "points" == kind or "boxes" == kind else 1
    references = torch.rand(batch, queries, count, 4 if "boxes" in kind else 2, generator=generator, dtype=torch.float64)
    offsets = torch.randn(*weights.shape, 2, generator=generator, dtype=torch.float64)
    options = {"pillars": True} if kind == "pillars" else {}
    return value, levels, offsets.to(weights.dtype), weights, references.to(weights.dtype), options


def outcomes(function, *tensors):
    """The output and the gradients of all tensors."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    output = function(*leaves)
    torch.manual_seed(1)
    return [output, *torch.autograd.grad(output, leaves, torch.randn(output.shape).to(output))]


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("points", [4, (3, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_output_and_gradients_agree_with_the_formula(kind, points, softmax):
    value, levels, offsets, weights, references, options = draw_offsets(kind, points=points)
    ragged = points if isinstance(points, tuple) else None

    def fused(value, offsets, weights, references):
        return attend(value, levels, offsets, weights, softmax=softmax, references=references, points=ragged or (), **options)

    def unfused(value, offsets, weights, references):
        shared = weights.flatten(3).softmax(-1).view_as(weights) if softmax else weights
        return attention(value, levels, located(offsets, references, levels, ragged, **options), shared, ragged)

    tensors = (value, offsets, weights, references)
    for got, expected in zip(outcomes(fused, *tensors), outcomes(unfused, *tensors), strict=True):
        torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(kind):
    value, levels, offsets, weights, references, options = draw_offsets(kind, batch=1, queries=2, heads=2, points=4, seed=3)
    leaves = [tensor.requires_grad_() for tensor in (value, offsets, weights, references)]
    assert torch.autograd.gradcheck(lambda v, o, w, r: attend(v, levels, o, w, softmax=True, references=r, **options), leaves)


@pytest.mark.parametrize("wanted", [(False, False, False, True), (True, True, False, False), (False, True, False, True)])
def test_what_needs_no_gradient_gets_none(wanted):
    value, levels, offsets, weights, references, _ = draw_offsets("boxes")
    tensors = (value, offsets, weights, references)
    complete = outcomes(lambda v, o, w, r: attend(v, levels, o, w, references=r), *tensors)[1:]
    leaves = [tensor.clone().requires_grad_(asked) for tensor, asked in zip(tensors, wanted, strict=True)]
    output = attend(leaves[0], levels, leaves[1], leaves[2], references=leaves[3])
    torch.manual_seed(1)
    output.backward(torch.randn(output.shape).to(output))
    for leaf, asked, expected in zip(leaves, wanted, complete, strict=True):
        assert (leaf.grad is not None) == asked
        assert not asked or torch.equal(leaf.grad, expected)


def test_a_nearest_pixel_has_no_gradient_by_its_place():
    value, levels, offsets, weights, references, _ = draw_offsets("points")
    leaves = [tensor.requires_grad_() for tensor in (value, offsets, weights, references)]
    output = attend(value, levels, offsets, weights, references=references, sampling="nearest")
    grads = torch.autograd.grad(output.sum(), leaves, allow_unused=True)
    assert [grad is not None for grad in grads] == [True, False, True, False]


def test_no_gradients_no_graph():
    value, levels, offsets, weights, references, _ = draw_offsets("points")
    assert attend(value, levels, offsets, weights, references=references).grad_fn is None
    with torch.no_grad():
        assert attend(value, levels, offsets, weights, references=references.requires_grad_()).grad_fn is None


@pytest.mark.parametrize("kind", ["points", "boxes", "pillars"])
def test_opcheck(kind):
    value, _, offsets, weights, references, options = draw_offsets(kind, dtype=torch.float32)
    leaves = [tensor.requires_grad_() for tensor in (value, offsets, weights)]
    arguments = (*leaves, [6, 4, 3, 5], [], [], "bilinear", True, "automatic", None, None, references.requires_grad_())
    torch.library.opcheck(ops.forward, (*arguments, "pillars" in options))
    grad = torch.randn(2, 5, 12)
    tensors = [tensor.detach() for tensor in (grad, *leaves)]
    for mask in [(True, True, True, True), (False, False, False, True)]:
        keywords = {"references": references.detach(), "mask": mask, **options}
        torch.library.opcheck(ops.backward, (*tensors, [6, 4, 3, 5]), keywords)


@pytest.mark.parametrize("kind", ["boxes", "pillars"])
def test_compile_and_transforms(kind):
    value, _, offsets, weights, references, options = draw_offsets(kind)

    def function(value, offsets, weights, references):
        return attend(value, ((6, 4), (3, 5)), offsets, weights, references=references, **options)

    expected = outcomes(function, value, offsets, weights, references)
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for got, wanted in zip(outcomes(compiled, value, offsets, weights, references), expected, strict=True):
        torch.testing.assert_close(got, wanted)
    grads = torch.func.grad(lambda *t: function(*t).sum(), argnums=(0, 1, 2, 3))(value, offsets, weights, references)
    leaves = [tensor.clone().requires_grad_() for tensor in (value, offsets, weights, references)]
    for got, wanted in zip(grads, torch.autograd.grad(function(*leaves).sum(), leaves), strict=True):
        torch.testing.assert_close(got, wanted)


def test_autocast_keeps_the_references_beside_the_locations():
    value, levels, offsets, weights, references, _ = draw_offsets("boxes", dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = attend(value, levels, offsets, weights, references=references)
    assert torch.equal(got, attend(value.bfloat16(), levels, offsets, weights, references=references))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r[:, :3], r"^references: expected shape \(2, 5, 2 or 1, 2 for points or 4 for boxes\), got \(2, 3, 2, 4\)"),
        (lambda r: r[..., :3].contiguous(), r"^references: expected shape .*, got \(2, 5, 2, 3\)"),
        (lambda r: r.repeat(1, 1, 2, 1), r"^references: expected shape .*, got \(2, 5, 4, 4\)"),
        (lambda r: r.transpose(0, 1).contiguous().transpose(0, 1), r"^references: expected a contiguous tensor"),
        (lambda r: r.to("meta"), r"^references: expected a tensor on cpu, as value"),
    ],
)
def test_wrong_references_are_named(change, message):
    value, levels, offsets, weights, references, _ = draw_offsets("boxes")
    with pytest.raises(ValueError, match=message):
        attend(value, levels, offsets, weights, references=change(references))


def test_wrong_types_and_pillars_are_named():
    value, levels, offsets, weights, references, _ = draw_offsets("boxes")
    with pytest.raises(TypeError, match=r"^references: expected dtype float64, got float32"):
        attend(value, levels, offsets, weights, references=references.float())
    with pytest.raises(ValueError, match=r"^references: expected shape \(2, 5, Z, 2\), since they are pillars"):
        attend(value, levels, offsets, weights, references=references, pillars=True)
    with pytest.raises(ValueError, match=r"^pillars: expected False, since there are no references"):
        attend(value, levels, offsets, weights, pillars=True)

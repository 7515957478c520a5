"""Values and gradients on the CPU against grid_sample, and the operator's options."""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import msda
from msda import _prepared, ops
from reference import attention, draw

attend = msda.multi_scale_deformable_attention


def gradients(function, value, levels, locations, weights, **options):
    """The output and the gradients of value, locations and weights."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in (value, locations, weights)]
    output = function(leaves[0], levels, leaves[1], leaves[2], **options)
    torch.manual_seed(1)
    grad = torch.randn(output.shape).to(output)
    return [output, *torch.autograd.grad(output, leaves, grad)]


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 2e-5)])
def test_output_and_gradients_agree_with_grid_sample(dtype, tolerance):
    inputs = draw(dtype=dtype)
    for got, expected in zip(gradients(attend, *inputs), gradients(attention, *inputs), strict=True):
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_16_bit_values_are_summed_in_float32(dtype):
    value, levels, locations, weights = draw(dtype=dtype)
    output, *grads = gradients(attend, value, levels, locations, weights)
    expected, *expected_grads = gradients(attention, value.float(), levels, locations, weights)
    assert output.dtype == dtype and [g.dtype for g in grads] == [dtype, torch.float32, torch.float32]
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(output.float(), expected, rtol=eps, atol=eps)
    for got, wanted in zip(grads, expected_grads, strict=True):
        torch.testing.assert_close(got.float(), wanted, rtol=4 * eps, atol=16 * eps)


def test_points_may_differ_from_level_to_level():
    inputs = draw(points=(3, 1), dtype=torch.float64)
    for got, expected in zip(gradients(attend, *inputs, points=(3, 1)), gradients(attention, *inputs, points=(3, 1)), strict=True):
        torch.testing.assert_close(got, expected)


def test_levels_in_every_form():
    value, levels, locations, weights = draw()
    expected = attend(value, levels, locations, weights)
    starts = [(6, 4, 0), (3, 5, 24)]
    for form in ([list(level) for level in levels], list(levels), starts, torch.tensor(levels), torch.tensor(levels, dtype=torch.int32)):
        assert torch.equal(attend(value, form, locations, weights), expected)


def test_starts_decide_where_a_level_lies():
    value, levels, locations, weights = draw(levels=((3, 3), (3, 3)))
    swapped = torch.cat([value[:, 9:], value[:, :9]], 1)
    assert torch.equal(attend(swapped, [(3, 3, 9), (3, 3, 0)], locations, weights), attend(value, levels, locations, weights))


def test_softmax_inside_equals_softmax_before():
    value, levels, locations, logits = draw(dtype=torch.float64)

    def before(value, levels, locations, logits):
        return attend(value, levels, locations, logits.flatten(3).softmax(-1).view_as(logits))

    inside = gradients(attend, value, levels, locations, logits, softmax=True)
    for got, expected in zip(inside, gradients(before, value, levels, locations, logits), strict=True):
        torch.testing.assert_close(got, expected)


def test_value_may_have_strides():
    value, levels, locations, weights = draw()
    wide = torch.stack([value, -value], 2)  # (B, S, 2, M, D)
    strided = wide[:, :, 0]
    assert not strided.is_contiguous()
    for got, expected in zip(
        gradients(lambda v, *rest: attend(torch.stack([v, -v], 2)[:, :, 0], *rest), value, levels, locations, weights),
        gradients(attend, value, levels, locations, weights),
        strict=True,
    ):
        assert torch.equal(got, expected)
    assert torch.equal(attend(strided, levels, locations, weights), attend(value, levels, locations, weights))


@pytest.mark.parametrize(("batch", "queries"), [(0, 5), (2, 0)])
def test_empty_batches_and_queries(batch, queries):
    inputs = draw(batch=batch, queries=queries)
    output, grad_value, grad_locations, grad_weights = gradients(attend, *inputs)
    assert output.shape == (batch, queries, 12)
    assert torch.equal(grad_value, torch.zeros_like(inputs[0]))
    assert grad_locations.numel() == grad_weights.numel() == 0


def test_nearest_takes_one_pixel_and_has_no_gradient_by_its_place():
    value = torch.arange(16.0).view(1, 16, 1, 1).requires_grad_()
    locations = torch.tensor([0.60, 0.5]).view(1, 1, 1, 1, 1, 2).requires_grad_()
    weights = torch.ones(1, 1, 1, 1, 1, requires_grad=True)
    assert attend(value, [(1, 16)], locations, weights, sampling="nearest").item() == 9
    output = attend(value, [(1, 16)], locations, weights, sampling="rtdetrv2")
    assert output.item() == 10
    grads = torch.autograd.grad(output, [value, locations, weights], allow_unused=True)
    assert grads[0].flatten().nonzero().item() == 10 and grads[1] is None and grads[2].item() == 10


def test_8_bit_values_have_a_scale_a_head():
    value, levels, locations, weights = draw(dtype=torch.float32)
    narrow = value.to(torch.float8_e4m3fn)
    scales = torch.tensor([1.0, 2.0, 0.5])
    got = attend(narrow, levels, locations, weights, scales=scales, output_type=torch.float16)
    expected = attend(narrow.float() * scales[:, None], levels, locations, weights)
    assert got.dtype == torch.float16
    torch.testing.assert_close(got.float(), expected, rtol=1e-3, atol=1e-3)
    assert attend(narrow, levels, locations, weights, scales=scales).dtype == torch.bfloat16


@pytest.mark.parametrize("accumulate", ["automatic", "f32", "deterministic"])
def test_sums_of_16_bit_gradients_do_not_stall(accumulate):
    value = torch.zeros(1, 4, 1, 8, dtype=torch.float16, requires_grad=True)
    locations = torch.full((1, 4096, 1, 1, 1, 2), 0.25)  # the centre of pixel 0
    output = attend(value, [(2, 2)], locations, torch.ones(1, 4096, 1, 1, 1), accumulate=accumulate)
    output.backward(torch.ones_like(output))
    assert value.grad[0, 0, 0].tolist() == [4096.0] * 8


class Backwards(TorchDispatchMode):
    """Notes the masks of the backward operators that run under it."""

    def __init__(self):
        super().__init__()
        self.masks = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function is ops.backward:
            self.masks.append(tuple(kwargs["mask"]))
        return function(*args, **(kwargs or {}))


def test_only_the_gradients_that_are_needed_are_computed():
    value, levels, locations, weights = draw()
    for wanted in [(True, False, False), (False, True, True), (False, False, True)]:
        leaves = [t.clone().requires_grad_(asked) for t, asked in zip((value, locations, weights), wanted, strict=True)]
        output = attend(leaves[0], levels, *leaves[1:]).sum()
        with Backwards() as seen:
            output.backward()
        assert [leaf.grad is not None for leaf in leaves] == list(wanted)
        assert seen.masks == [(*wanted, False)]


@pytest.mark.parametrize("which", [0, 1, 2])
def test_a_tensor_that_is_negated_lazily_is_read_as_what_it_is(which):
    value, levels, locations, weights = draw()
    tensors = [value, locations, weights]
    expected = gradients(attend, value, levels, locations, weights)
    tensors[which] = torch._neg_view(-tensors[which])
    assert tensors[which].is_neg()
    assert torch.equal(attend(tensors[0], levels, *tensors[1:]), expected[0])
    leaves = [tensor if i == which else tensor.clone().requires_grad_() for i, tensor in enumerate(tensors)]
    output = attend(leaves[0], levels, *leaves[1:])
    torch.manual_seed(1)
    output.backward(torch._neg_view(-torch.randn(output.shape)))
    for i in range(3):
        assert i == which or torch.equal(leaves[i].grad, expected[1 + i])


def test_forward_mode_derivatives_are_refused():
    value, levels, locations, weights = draw()
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(value, value)
        with pytest.raises(NotImplementedError, match="forward-mode"):
            attend(dual, levels, locations, weights)
        assert torch.autograd.forward_ad.unpack_dual(attend(value, levels, locations, weights)).tangent is None
    with pytest.raises(NotImplementedError, match="forward-mode"):
        torch.func.jvp(lambda v: attend(v, levels, locations, weights), (value,), (value,))


def test_without_gradients_no_graph_is_built():
    value, levels, locations, weights = draw()
    assert attend(value, levels, locations, weights).grad_fn is None
    with torch.no_grad():
        assert attend(value.requires_grad_(), levels, locations, weights).grad_fn is None
    with torch.inference_mode():
        assert attend(value, levels, locations, weights).is_inference()


def test_second_derivatives_are_refused():
    value, levels, locations, weights = draw(dtype=torch.float64)
    value.requires_grad_()
    locations.requires_grad_()
    (grad,) = torch.autograd.grad(attend(value, levels, locations, weights).sum(), value, create_graph=True)
    with pytest.raises(NotImplementedError, match="second derivatives"):
        torch.autograd.grad(grad.sum(), locations)


def test_remembers_shapes_up_to_a_limit(monkeypatch):
    monkeypatch.setattr(_prepared, "MOST_OPERATORS", 3)
    monkeypatch.setattr(_prepared, "_forwards", {})
    for queries in range(1, 8):
        value, levels, locations, weights = draw(queries=queries)
        got = _prepared.forward(value, locations, weights, (6, 4, 3, 5))
        torch.testing.assert_close(got, attention(value, levels, locations, weights))
    assert len(_prepared._forwards) == 3

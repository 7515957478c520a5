"""The operator inside PyTorch: opcheck, gradcheck, compile, autocast, transforms, pickling, copies, threads."""

import copy
import io
import pickle
import threading

import pytest
import torch

import msda
from msda import ops
from reference import attention, draw

attend = msda.multi_scale_deformable_attention


def leaves(*tensors):
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


@pytest.mark.parametrize("wanted", [(True, True, True), (True, False, False), (False, True, False), (False, False, False)])
def test_opcheck_forward(wanted):
    value, _, locations, weights = draw()
    tensors = [t.clone().requires_grad_(asked) for t, asked in zip((value, locations, weights), wanted, strict=True)]
    torch.library.opcheck(ops.forward, (*tensors, [6, 4, 3, 5]))


def test_opcheck_of_all_arguments():
    value, _, locations, weights = draw(points=(3, 1))
    arguments = (*leaves(value, locations, weights), [6, 4, 3, 5], [0, 24], [3, 1], "bilinear", True, "f32")
    torch.library.opcheck(ops.forward, arguments)


def test_opcheck_backward():
    value, _, locations, weights = draw()
    grad = torch.randn(2, 5, 12)
    for mask in [(True, True, True, False), (False, True, False, False)]:
        torch.library.opcheck(ops.backward, (grad, value, locations, weights, [6, 4, 3, 5]), {"mask": mask})


def test_opcheck_with_levels_in_tensors():
    value, levels, locations, weights = draw()
    shapes, starts = torch.tensor(levels), torch.tensor([0, 24])
    value, locations, weights = leaves(value, locations, weights)
    torch.library.opcheck(ops.forward_levels, (value, shapes, starts, locations, weights))
    with torch.no_grad():
        arguments = (torch.randn(2, 5, 12), value.detach(), shapes, starts, locations.detach(), weights.detach())
        torch.library.opcheck(ops.backward_levels, arguments, {"mask": (True, True, True)})


@pytest.mark.parametrize("options", [{}, {"softmax": True}, {"points": (3, 1)}])
def test_gradcheck(options):
    value, levels, locations, weights = draw(batch=1, queries=3, heads=2, points=options.get("points", 2), dtype=torch.float64, seed=3)
    assert torch.autograd.gradcheck(lambda v, l, w: attend(v, levels, l, w, **options), leaves(value, locations, weights))


@pytest.fixture(params=["aot_eager", "inductor"])
def backend(request):
    torch._dynamo.reset()
    yield request.param
    torch._dynamo.reset()


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_fullgraph(backend, dynamic):
    def function(value, locations, weights):
        return attend(value * 2, ((6, 4), (3, 5)), locations, weights.softmax(-1)).relu().sum()

    compiled = torch.compile(function, fullgraph=True, backend=backend, dynamic=dynamic)
    for queries in (5, 7):
        value, _, locations, weights = draw(queries=queries)
        got, expected = leaves(value, locations, weights), leaves(value, locations, weights)
        compiled(*got).backward()
        function(*expected).backward()
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a.grad, b.grad)


def test_compile_with_level_sizes_that_are_traced():
    def function(image, locations, weights):
        batch, heads, head_dim, height, width = image.shape
        value = image.flatten(3).permute(0, 3, 1, 2).contiguous()
        return attend(value, [(height, width)], locations, weights)

    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
    for size in ((5, 7), (6, 9), (8, 3)):
        _, _, locations, weights = draw(levels=((1, 1),))
        image = torch.randn(2, 3, 4, *size)
        torch.testing.assert_close(compiled(image, locations, weights), function(image, locations, weights))


def test_compile_of_drop_ins_with_levels_in_tensors(backend):
    from msda.mmcv import MultiScaleDeformableAttnFunction

    def function(value, shapes, starts, locations, weights):
        return MultiScaleDeformableAttnFunction.apply(value, shapes, starts, locations, weights, 64).sum()

    value, levels, locations, weights = draw()
    shapes, starts = torch.tensor(levels), torch.tensor([0, 24])
    got, expected = leaves(value, locations, weights), leaves(value, locations, weights)
    torch.compile(function, fullgraph=True, backend=backend)(got[0], shapes, starts, *got[1:]).backward()
    attention(expected[0], levels, *expected[1:]).sum().backward()
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def test_compile_of_tensor_levels_in_the_function_itself():
    torch._dynamo.reset()
    value, levels, locations, weights = draw()
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(value, torch.tensor(levels), locations, weights), attend(value, levels, locations, weights))


def test_export_names_the_operator():
    class Model(torch.nn.Module):
        def forward(self, value, locations, weights):
            return attend(value, ((6, 4), (3, 5)), locations, weights)

    value, levels, locations, weights = draw()
    program = torch.export.export(Model(), (value, locations, weights))
    assert any(node.target is ops.forward for node in program.graph.nodes)
    torch.testing.assert_close(program.module()(value, locations, weights), attend(value, levels, locations, weights))


def test_autocast_casts_the_value_and_keeps_locations():
    value, levels, locations, weights = draw()
    tensors = leaves(value, locations, weights)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = attend(tensors[0], levels, *tensors[1:])
        narrow = attend(value, levels, locations, weights.to(torch.float16))
    assert output.dtype == narrow.dtype == torch.bfloat16
    assert torch.equal(output, attend(value.bfloat16(), levels, locations, weights))
    output.sum().backward()
    assert [t.grad.dtype for t in tensors] == [torch.float32] * 3


def test_autocast_leaves_float64_alone():
    value, levels, locations, weights = draw(dtype=torch.float64)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert attend(value, levels, locations, weights).dtype == torch.float64


def test_autocast_under_compile():
    torch._dynamo.reset()
    value, levels, locations, weights = draw()

    def function(value, locations, weights):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return attend(value, levels, locations, weights)

    got, expected = leaves(value, locations, weights), leaves(value, locations, weights)
    output = torch.compile(function, fullgraph=True, backend="aot_eager")(*got)
    assert torch.equal(output, function(*expected))
    output.sum().backward()
    function(*expected).sum().backward()
    assert all(torch.equal(a.grad, b.grad) for a, b in zip(got, expected, strict=True))


def test_function_transforms():
    value, levels, locations, weights = draw(dtype=torch.float64)
    grads = torch.func.grad(lambda v, l, w: attend(v, levels, l, w).sum(), argnums=(0, 1, 2))(value, locations, weights)
    expected = torch.func.grad(lambda v, l, w: attention(v, levels, l, w).sum(), argnums=(0, 1, 2))(value, locations, weights)
    for got, wanted in zip(grads, expected, strict=True):
        torch.testing.assert_close(got, wanted)


def test_modes_see_the_operator():
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(function)
            return function(*args, **(kwargs or {}))

    value, levels, locations, weights = draw()
    value.requires_grad_()
    with Watch():
        attend(value, levels, locations, weights).sum().backward()
    assert ops.forward in seen and ops.backward in seen


def test_fake_tensors_and_meta_device():
    value, levels, locations, weights = draw(dtype=torch.float16)
    with torch._subclasses.FakeTensorMode() as mode:
        fake = attend(mode.from_tensor(value), levels, mode.from_tensor(locations), mode.from_tensor(weights))
    assert fake.shape == (2, 5, 12) and fake.dtype == torch.float16
    assert attend(value.to("meta"), levels, locations.to("meta"), weights.to("meta")).shape == (2, 5, 12)


def test_checkpointing_and_hooks():
    value, levels, locations, weights = draw(dtype=torch.float64)
    plain, again = leaves(value, locations, weights), leaves(value, locations, weights)
    attend(plain[0], levels, *plain[1:]).sum().backward()
    torch.utils.checkpoint.checkpoint(lambda v, l, w: attend(v, levels, l, w), *again, use_reentrant=False).sum().backward()
    with torch.autograd.graph.save_on_cpu():
        hooked = leaves(value, locations, weights)
        attend(hooked[0], levels, *hooked[1:]).sum().backward()
    for a, b, c in zip(plain, again, hooked, strict=True):
        assert torch.equal(a.grad, b.grad) and torch.equal(a.grad, c.grad)


def test_a_change_in_place_before_backward_is_an_error():
    value, levels, locations, weights = draw()
    (leaf,) = leaves(weights)
    scaled = leaf * 1
    output = attend(value.requires_grad_(), levels, locations, scaled)
    scaled.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()


def test_module_pickles_copies_and_saves():
    module = msda.MSDeformAttn(d_model=16, n_levels=2, n_heads=2, n_points=2)
    arguments = (torch.randn(1, 3, 16), torch.rand(1, 3, 2, 2), torch.randn(1, 39, 16), [(6, 4), (3, 5)])
    expected = module(*arguments)
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), torch.load(file, weights_only=False)):
        assert torch.equal(other(*arguments), expected)


def test_functions_and_errors_pickle():
    assert pickle.loads(pickle.dumps(attend)) is attend
    error = pickle.loads(pickle.dumps(msda.InvalidInput("value: expected", "invalid_problem", "log")))
    assert (str(error), error.code, error.log) == ("value: expected", "invalid_problem", "log")


def test_many_threads():
    inputs = [draw(queries=q, seed=q) for q in range(1, 9)]
    expected = [attend(*i) for i in inputs]
    wrong = []

    def work(index):
        for _ in range(20):
            if not torch.equal(attend(*inputs[index]), expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

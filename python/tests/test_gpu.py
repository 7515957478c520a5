"""What only a GPU can show: kernels against the CPU path, streams, captures, several devices, automatic casts."""

import pytest
import torch

import msda
from reference import draw

pytestmark = pytest.mark.gpu
attend = msda.multi_scale_deformable_attention


def on_both(dtype, **options):
    """(output, gradients) on the GPU and on the CPU, the latter computed in float64 from the same inputs."""
    value, levels, locations, weights = draw(queries=37, heads=4, head_dim=32, levels=((16, 12), (8, 6), (4, 3)), points=4, dtype=dtype)
    results = []
    for device, kind in (("cuda", None), ("cpu", torch.float64)):
        leaves = [t.to(device, kind or t.dtype).requires_grad_() for t in (value, locations, weights)]
        output = attend(leaves[0], levels, leaves[1], leaves[2], **options)
        torch.manual_seed(1)
        grad = torch.randn(output.shape, dtype=torch.float64).to(output)
        results.append([output, *torch.autograd.grad(output, leaves, grad)])
    return results


@pytest.mark.parametrize("accumulate", ["automatic", "f32", "deterministic"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_agrees_with_the_cpu(dtype, accumulate):
    got, expected = on_both(dtype, accumulate=accumulate)
    eps = torch.finfo(dtype).eps
    for a, b in zip(got, expected, strict=True):
        # Errors against the size of the whole tensor: near a pixel line single precision may take the other pixel's slope.
        norm = float((a.cpu().double() - b).norm() / b.norm())
        assert norm < max(16 * eps, 1e-5 if dtype is not torch.float64 else 1e-12), (norm, dtype)


@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-12), (torch.float32, 5e-5), (torch.bfloat16, 0.1)])
@pytest.mark.parametrize(("shape", "pillars"), [((3, 2), False), ((1, 4), False), ((3, 4), False), ((2, 2), True)])
def test_offsets_from_references(dtype, most, shape, pillars):
    value, levels, offsets, weights = draw(queries=37, heads=4, head_dim=32, levels=((16, 12), (8, 6), (4, 3)), points=4, dtype=dtype)
    references = torch.rand(2, 37, *shape).to(offsets.dtype)
    results = []
    for device, kind in (("cuda", None), ("cpu", torch.float64)):
        leaves = [t.to(device, kind or t.dtype).requires_grad_() for t in (value, offsets, weights, references)]
        output = attend(leaves[0], levels, *leaves[1:3], references=leaves[3], pillars=pillars, softmax=True)
        torch.manual_seed(1)
        grad = torch.randn(output.shape, dtype=torch.float64).to(output)
        results.append([output, *torch.autograd.grad(output, leaves, grad)])
    for got, expected in zip(*results, strict=True):
        norm = float((got.cpu().double() - expected).norm() / expected.norm())
        assert norm < most, norm


def test_gradcheck():
    value, levels, locations, weights = draw(batch=1, queries=3, heads=2, dtype=torch.float64, device="cuda", seed=3)
    leaves = [t.requires_grad_() for t in (value, locations, weights)]
    assert torch.autograd.gradcheck(lambda v, l, w: attend(v, levels, l, w), leaves, nondet_tol=1e-12)


def test_opcheck():
    value, _, locations, weights = draw(device="cuda")
    leaves = [t.requires_grad_() for t in (value, locations, weights)]
    torch.library.opcheck(torch.ops.msda.forward.default, (*leaves, [6, 4, 3, 5]))


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compile(mode):
    torch._dynamo.reset()
    value, levels, locations, weights = draw(device="cuda", head_dim=8)

    def function(value, locations, weights):
        return attend(value * 2, levels, locations, weights.softmax(-1)).relu()

    compiled = torch.compile(function, fullgraph=True, mode=mode)
    for _ in range(4):
        got, expected = ([t.clone().requires_grad_() for t in (value, locations, weights)] for _ in range(2))
        output, wanted = compiled(*got), function(*expected)
        torch.testing.assert_close(output, wanted, rtol=1e-4, atol=1e-4)
        output.sum().backward()
        wanted.sum().backward()
        for a, b in zip(got, expected, strict=True):
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)


def test_a_stream_of_ones_own():
    value, levels, locations, weights = draw(batch=4, queries=2000, heads=8, head_dim=32, levels=((64, 64),), device="cuda")
    expected = attend(value, levels, locations, weights)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(20):
            torch.cuda._sleep(1_000_000)
            late = value.clone()  # ready only when the stream has come here
            output = attend(late, levels, locations, weights)
            late.zero_()
    stream.synchronize()
    assert torch.equal(output, expected)


def test_no_call_waits_for_the_gpu():
    value, levels, locations, weights = draw(device="cuda")
    leaves = [t.requires_grad_() for t in (value, locations, weights)]
    shapes = torch.tensor(levels, device="cuda")
    attend(leaves[0], levels, *leaves[1:]).sum().backward()
    attend(leaves[0], shapes, *leaves[1:])
    torch.cuda.set_sync_debug_mode("error")
    try:
        attend(leaves[0], levels, *leaves[1:]).sum().backward()
        attend(leaves[0], shapes, *leaves[1:])  # remembered
        with pytest.raises(RuntimeError, match="synchronizing"):
            attend(leaves[0], shapes.clone(), *leaves[1:])
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_graph_of_a_training_step():
    value, levels, locations, weights = draw(device="cuda", head_dim=8)
    leaves = [t.requires_grad_() for t in (value, locations, weights)]

    def step():
        return torch.autograd.grad(attend(leaves[0], levels, *leaves[1:]).square().sum(), leaves)

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        expected = [g.clone() for g in step()]
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step()
    for _ in range(3):
        for gradient in captured:
            gradient.zero_()
        graph.replay()
    for got, wanted in zip(captured, expected, strict=True):
        torch.testing.assert_close(got, wanted)
    with torch.no_grad():
        leaves[0].mul_(2)
    graph.replay()
    torch.testing.assert_close(captured[2], 4 * expected[2], rtol=1e-4, atol=1e-4)


def test_a_miss_during_capture_is_an_error_that_leaves_the_capture_valid():
    value, levels, locations, weights = draw(device="cuda", queries=11, head_dim=12)
    known = draw(device="cuda", queries=12, head_dim=12)
    expected = attend(*known)
    unread = torch.tensor(levels, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        with pytest.raises(msda.Error) as caught:
            attend(value, levels, locations, weights)
        assert caught.value.code == "not_prepared"
        with pytest.raises(msda.Error, match="captured"):
            attend(value, unread, locations, weights)
        output = attend(*known)
    graph.replay()
    assert torch.equal(output, expected)
    attend(value, levels, locations, weights)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast(dtype):
    value, levels, locations, weights = draw(device="cuda")
    leaves = [t.requires_grad_() for t in (value, locations, weights)]
    with torch.autocast("cuda", dtype=dtype):
        output = attend(leaves[0], levels, *leaves[1:])
    assert torch.equal(output, attend(value.to(dtype), levels, locations, weights))
    output.float().sum().backward()
    assert [t.grad.dtype for t in leaves] == [torch.float32] * 3


def test_deterministic_gradients_are_equal_from_run_to_run():
    value, levels, locations, weights = draw(
        batch=2, queries=500, heads=8, head_dim=32, levels=((32, 32),), dtype=torch.float16, device="cuda"
    )
    value.requires_grad_()
    runs = [torch.autograd.grad(attend(value, levels, locations, weights, accumulate="deterministic").sum(), value)[0] for _ in range(5)]
    assert all(torch.equal(run, runs[0]) for run in runs)


def test_the_second_gpu_while_the_first_is_current():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    value, levels, locations, weights = draw(device="cuda:0")
    expected = attend(value, levels, locations, weights)
    with torch.cuda.device(0):
        output = attend(value.to("cuda:1"), levels, locations.to("cuda:1"), weights.to("cuda:1"))
        assert output.device.index == 1 and torch.cuda.current_device() == 0
    torch.testing.assert_close(output.to("cuda:0"), expected)
    with pytest.raises(ValueError, match="^weights: expected a tensor on cuda:0, as value, got one on cuda:1"):
        attend(value, levels, locations, weights.to("cuda:1"))


def test_nvrtc_is_found():
    assert msda.has_gpu() and "taken, CUDA" in msda.doctor()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_softmax_inside_agrees_with_the_cpu(dtype):
    got, expected = on_both(dtype, softmax=True)
    for a, b in zip(got, expected, strict=True):
        norm = float((a.cpu().double() - b).norm() / b.norm())
        assert norm < max(16 * torch.finfo(dtype).eps, 1e-5), (norm, dtype)

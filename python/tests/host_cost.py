"""Host time of one call, without waiting for the GPU, in µs: through the function, through torch.ops, with and without gradients, and bare;
with the kernels in Python, and with those of the extension where it is built.

On a GPU the problem is so small that it is never waited for; on the CPU it is empty, so that only the way there is measured.
Usage: host_cost.py [cuda|cpu] [OUT.json]
"""

import json
import os
import statistics
import subprocess
import sys
import time

import torch

import msda
from msda import _prepared, mmcv
from msda._library import pack_tensors

CALLS, ROUNDS = 50, 300
MOST = 15  # us of a call through torch.ops
KERNELS_DO_NOT_MATTER = ("launch", "kernel", "for comparison")


def measure(call, device):
    """Median and least, over rounds, of the mean time of a call; on a busy machine the least says more."""
    for _ in range(50):
        call()
    times = []
    for _ in range(ROUNDS):
        if device == "cuda":
            torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        times.append((time.perf_counter() - start) / CALLS)
    return {"median": round(statistics.median(times) * 1e6, 2), "least": round(min(times) * 1e6, 2)}


def cases(device):
    levels = ((8, 8), (4, 4), (2, 2), (1, 1))
    pixels = sum(h * w for h, w in levels)
    value = torch.randn(1, pixels, 8, 32, device=device)
    queries = 8 if device == "cuda" else 0
    locations = torch.rand(1, queries, 8, 4, 4, 2, device=device)
    weights = torch.rand(1, queries, 8, 4, 4, device=device)
    trained = [t.clone().requires_grad_() for t in (value, locations, weights)]
    shapes = [size for level in levels for size in level]
    op, attend = torch.ops.msda.forward, msda.multi_scale_deformable_attention
    on_device = torch.tensor(levels, device=device), torch.tensor([0, 64, 80, 84], device=device)
    function = mmcv.MultiScaleDeformableAttnFunction.apply

    output = _prepared.forward(value, locations, weights, shapes)
    (prepared,) = _prepared._forwards.values()
    scratch = prepared.workspace
    scratch = None if scratch is None else torch.empty_like(scratch, memory_format=torch.contiguous_format)
    tensors = pack_tensors(
        value.data_ptr(), locations.data_ptr(), weights.data_ptr(), 0, 0, output.data_ptr(), 0, 0, 0, 0, 0,
        0 if scratch is None else scratch.data_ptr(),
    )  # fmt: skip
    stream = _prepared._stream(0) if device == "cuda" else 0
    grad = torch.randn_like(output)

    def there_and_back():
        attend(trained[0], levels, *trained[1:]).backward(grad)

    return {
        "launch through ctypes": lambda: prepared.launch(prepared.handle, tensors, stream),
        "kernel function": lambda: _prepared.forward(value, locations, weights, shapes),
        "torch.ops": lambda: op(value, locations, weights, shapes),
        "torch.ops with gradients": lambda: op(trained[0], trained[1], trained[2], shapes),
        "function": lambda: attend(value, levels, locations, weights),
        "function with gradients": lambda: attend(trained[0], levels, *trained[1:]),
        "function under no_grad": torch.no_grad()(lambda: attend(trained[0], levels, *trained[1:])),
        "drop-in, levels on the device": lambda: function(value, *on_device, locations, weights, 64),
        "forward and backward": there_and_back,
        "for comparison: torch.empty_like": lambda: torch.empty_like(output),
        "for comparison: relu": lambda: torch.relu(output),
    }


def raise_clocks():
    """An idle GPU starts at a sixth of its clock: for some tenths of a second a small kernel then takes longer than its launch."""
    matrix = torch.ones(2048, 2048, device="cuda")
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        matrix @ matrix
        torch.cuda.synchronize()


def rows(device):
    """The cases in this process, which has the kernels of one kind."""
    torch.set_num_threads(1)
    if device == "cuda":
        raise_clocks()
    calls = cases(device)
    if msda.backend().startswith("C++"):
        calls = {f"{name}, extension": call for name, call in calls.items() if not name.startswith(KERNELS_DO_NOT_MATTER)}
    return {name: measure(call, device) for name, call in calls.items()}


def rows_of_process(device, extension):
    environment = {**os.environ, "MSDA_TORCH_EXTENSION": extension}
    return json.loads(subprocess.check_output([sys.executable, __file__, "rows", device], env=environment))


def main():
    if sys.argv[1:2] == ["rows"]:
        print(json.dumps(rows(sys.argv[2])))
        return
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda" if torch.cuda.is_available() else "cpu"
    times = rows_of_process(device, "0")
    if msda.backend().startswith("C++"):
        times |= rows_of_process(device, "1")
    print(f"torch.ops.msda: {msda.backend()}\n  median    least  us a call")
    for name, of_call in times.items():
        print(f"{of_call['median']:8.2f} {of_call['least']:8.2f}  {name}")
    if device == "cuda":
        for name, of_call in times.items():
            if name.startswith("torch.ops"):
                print(f"verdict: {name}: {'within' if of_call['median'] <= MOST else 'OVER'} {MOST} us")
    if len(sys.argv) > 2:
        gpu = torch.cuda.get_device_name() if device == "cuda" else None
        with open(sys.argv[2], "w") as file:
            json.dump({"gpu": gpu, "torch": torch.__version__, "python": sys.version.split()[0], "us": times}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()

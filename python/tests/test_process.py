"""What importing does to a process, forked children, and PyTorch that is used without a GPU."""

import multiprocessing
import subprocess
import sys

import pytest
import torch

import msda
from reference import attention, draw


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)


def test_import_loads_no_library_and_starts_no_thread():
    done = python(
        "import torch, threading\n"
        "before = threading.active_count(), open('/proc/self/status').read().split('Threads:')[1].split()[0]\n"
        "import msda\n"
        "after = threading.active_count(), open('/proc/self/status').read().split('Threads:')[1].split()[0]\n"
        "assert before == after, (before, after)\n"
        "maps = open('/proc/self/maps').read()\n"
        "assert 'libmsda' not in maps\n"
        "assert not torch.cuda.is_initialized()\n"
    )
    assert done.returncode == 0, done.stderr


def test_nothing_is_printed():
    done = python(
        "import torch, msda\n"
        "msda.multi_scale_deformable_attention(torch.ones(1, 4, 1, 4), [(2, 2)], torch.ones(1, 2, 1, 1, 1, 2), torch.ones(1, 2, 1, 1, 1))\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_python_m_msda_prints_what_was_found():
    done = subprocess.run([sys.executable, "-m", "msda"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and "nvrtc:" in done.stdout


def child(queue):
    value, levels, locations, weights = draw()
    got = msda.multi_scale_deformable_attention(value, levels, locations, weights)
    queue.put(float((got - attention(value, levels, locations, weights)).abs().max()))


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("used_before", [False, True])
def test_children_compute(method, used_before):
    if used_before:
        msda.multi_scale_deformable_attention(*draw())
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    torch.set_num_threads(1)  # PyTorch's own threads do not live through a fork
    process.start()
    assert queue.get(timeout=120) < 1e-5
    process.join(timeout=60)
    assert process.exitcode == 0


def test_an_interpreter_that_ends_with_operators_alive():
    done = python(
        "import torch, msda\n"
        "value = torch.ones(1, 4, 1, 4, requires_grad=True)\n"
        "out = msda.multi_scale_deformable_attention(value, [(2, 2)], torch.ones(1, 2, 1, 1, 1, 2), torch.ones(1, 2, 1, 1, 1))\n"
        "out.sum().backward()\n"
    )
    assert (done.returncode, done.stderr) == (0, "")

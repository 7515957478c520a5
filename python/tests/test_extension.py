"""The C++ kernels of torch.ops.msda: when a process takes them and what it says, and what they do where the whole suite does not look.

Skipped where the extension is not built; tests/scripts/python builds it and runs the suite with both kinds of kernels.
"""

import os
import subprocess
import sys
import threading

import pytest
import torch

import msda
from msda import _extension, ops
from reference import attention, draw

compiled = pytest.mark.skipif(not msda.backend().startswith("C++"), reason="the extension is not built")
attend = msda.multi_scale_deformable_attention


def says(**environment):
    """What a fresh process says of its kernels after a call."""
    code = (
        "import torch, msda\n"
        "out = msda.multi_scale_deformable_attention(torch.ones(1, 4, 1, 4), [(2, 2)], torch.full((1, 2, 1, 1, 1, 2), 0.5),"
        " torch.ones(1, 2, 1, 1, 1))\n"
        "assert torch.equal(out, torch.ones(1, 2, 4)), out\n"
        "assert msda.doctor().endswith('torch.ops.msda: ' + msda.backend() + '\\n')\n"
        "print(msda.backend())\n"
    )
    environment = {**os.environ, "MSDA_TORCH_EXTENSION": "", **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, env=environment)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_without_the_extension_the_kernels_are_those_in_python(tmp_path):
    assert says(MSDA_CACHE_DIR=str(tmp_path)).startswith("Python; `python -m msda build`")
    assert says(MSDA_TORCH_EXTENSION="0") == "Python, since MSDA_TORCH_EXTENSION is 0\n"


def test_a_file_that_cannot_be_loaded_or_trusted_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("MSDA_CACHE_DIR", str(tmp_path))
    file = _extension.path()
    file.parent.mkdir(mode=0o700)
    file.write_text("no library")
    file.chmod(0o700)
    assert says().startswith("Python, since the extension cannot be loaded: ")
    file.chmod(0o777)
    assert says().startswith("Python, since others than this user can write ")


def test_a_setting_that_does_not_fit_names_the_variable():
    done = subprocess.run(
        [sys.executable, "-c", "import msda"], capture_output=True, text=True, env={**os.environ, "MSDA_TORCH_EXTENSION": "yes"}
    )
    assert done.returncode == 1 and "MSDA_TORCH_EXTENSION: expected 0 or 1, got 'yes'" in done.stderr


def test_a_compiler_that_is_missing_or_fails_is_an_error_with_its_log(tmp_path, monkeypatch):
    monkeypatch.setenv("MSDA_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(msda.Error, match="expected a C\\+\\+20 compiler"):
        _extension.build()
    failing = tmp_path / "failing"
    failing.write_text("#!/bin/sh\necho 'it is broken'\nexit 1\n")
    failing.chmod(0o700)
    monkeypatch.setenv("CXX", str(failing))
    with pytest.raises(msda.Error, match="does not compile") as caught:
        _extension.build()
    assert "it is broken" in caught.value.log and not _extension.path().exists()


def functions_called(function):
    """The names of the Python functions that run."""
    names = []
    sys.setprofile(lambda frame, event, argument: names.append(frame.f_code.co_name) if event == "call" else None)
    try:
        function()
    finally:
        sys.setprofile(None)
    return names


@compiled
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_no_python_runs_in_a_call_that_is_known(device):
    value, levels, locations, weights = draw(device=device)
    for tensors in [(value, locations, weights), [t.clone().requires_grad_() for t in (value, locations, weights)]]:
        ops.forward(*tensors, [6, 4, 3, 5])
        called = functions_called(lambda tensors=tensors: ops.forward(*tensors, [6, 4, 3, 5]))
        assert called == ["<lambda>", "__call__"]  # that of torch's OpOverload


@compiled
@pytest.mark.parametrize("change", ["queries", "levels", "starts", "dtype", "strides", "alignment", "sampling", "softmax"])
def test_whatever_an_operator_depends_on_has_its_own(change):
    value, levels, locations, weights = draw()
    attend(value, levels, locations, weights)
    options, shapes = {}, levels
    if change == "queries":
        locations, weights = locations[:, :4].contiguous(), weights[:, :4].contiguous()
    elif change == "levels":
        shapes = ((4, 6), (5, 3))
    elif change == "starts":
        shapes = ((6, 4, 15), (3, 5, 0))
    elif change == "dtype":
        value = value.double()
    elif change == "strides":
        value = torch.stack([value, -value], 2)[:, :, 0]
    elif change == "alignment":
        value = torch.cat([torch.zeros(1), value.flatten()])[1:].view(value.shape)
    else:
        options = {"sampling": {"sampling": "nearest"}, "softmax": {"softmax": True}}[change]
    got = attend(value, shapes, locations, weights, **options)
    settings = [number for level in shapes for number in level[:2]], [level[2] for level in shapes if len(level) == 3]
    expected = msda._prepared.forward(value, locations, weights, *settings, **options)  # the kernel in Python
    assert torch.equal(got, expected)


@compiled
def test_more_shapes_than_are_remembered():
    value, levels, locations, weights = draw(batch=1, heads=1, queries=5000)
    expected = attend(value, levels, locations, weights)
    for queries in range(1, 4300):
        attend(value, levels, locations[:, :queries], weights[:, :queries])
    assert torch.equal(attend(value, levels, locations, weights), expected)


@compiled
def test_errors_of_the_library_and_of_the_checks_arrive_as_they_are():
    value, levels, locations, weights = draw()
    with pytest.raises(ValueError, match=r"^locations: expected shape"):
        ops.forward(value, locations, weights, [6, 4])
    with pytest.raises(msda.InvalidInput) as caught:
        ops.forward(value, locations, weights, [6, 4, 3, 50])
    assert caught.value.code == "invalid_problem"
    ops.forward(value, locations, weights, [6, 4, 3, 5])


@compiled
def test_many_threads_with_gradients():
    wrong = []

    def work(seed):
        for queries in range(1, 12):
            value, levels, locations, weights = draw(queries=queries, seed=seed)
            value.requires_grad_()
            output = attend(value, levels, locations, weights)
            output.sum().backward()
            other = value.detach().clone().requires_grad_()
            attention(other, levels, locations, weights).sum().backward()
            if not torch.allclose(value.grad, other.grad, atol=1e-5):
                wrong.append((seed, queries))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong

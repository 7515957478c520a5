"""What the C++ kernels (extension.cpp) leave to Python, as operators that they call: preparing, exceptions, calls that are not plain."""

from __future__ import annotations

import ctypes

from . import _library, _prepared
from ._problem import Settings


def _described(handle: int) -> list:
    """The operator as four integers: handle, addresses of msda_launch and msda_operator_destroy, bytes of workspace. The caller owns it."""
    library = _library.library()
    functions = (ctypes.cast(function, ctypes.c_void_p).value for function in (library.msda_launch, library.msda_operator_destroy))
    return [handle, *functions, library.msda_operator_workspace_bytes(handle)]


def _alignment(*tensors) -> int:
    address = 0
    for tensor in tensors:
        if tensor is not None:
            address |= tensor.data_ptr()
    return address & 15


def _prepare_forward(
    value, locations, weights, shapes, starts=(), points=(), sampling="bilinear", softmax=False, accumulate="automatic",
    scales=None, output_type=None, references=None, pillars=False,
):  # fmt: skip
    settings = Settings(tuple(shapes), tuple(starts), tuple(points), sampling, softmax, accumulate)
    alignment = _alignment(value, locations, weights, references)
    return _described(
        _prepared.prepare_forward(value, locations, weights, settings, scales, output_type, references, pillars, alignment)[0]
    )


def _prepare_backward(
    grad, value, locations, weights, shapes, starts=(), points=(), sampling="bilinear", softmax=False, accumulate="automatic",
    references=None, pillars=False, *, mask,
):  # fmt: skip
    settings = Settings(tuple(shapes), tuple(starts), tuple(points), sampling, softmax, accumulate)
    alignment = _alignment(grad, value, locations, weights, references)
    return _described(_prepared.prepare_backward(grad, value, locations, weights, settings, references, pillars, mask, alignment))


def register(library, forward: str, backward: str, general_forward, general_backward) -> None:
    """``forward`` and ``backward``: the arguments of both operators; ``general_...``: their autograd kernels for any device, mode and
    transform."""
    library.define(f"_prepare_forward({forward}) -> int[]")
    library.define(f"_prepare_backward({backward}) -> int[]")
    library.define("_check(Tensor value, int status) -> ()")
    library.define(f"_forward_general({forward}) -> Tensor")
    library.define(f"_backward_general({backward}) -> Tensor[]")
    for key in ("CPU", "CUDA"):
        library.impl("_prepare_forward", _prepare_forward, key)
        library.impl("_prepare_backward", _prepare_backward, key)
        library.impl("_check", lambda value, status: _library.check(status), key)
    library.impl("_forward_general", general_forward, "Autograd")
    library.impl("_backward_general", general_backward, "Autograd")

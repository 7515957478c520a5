"""libmsda through ctypes: the structures and functions of msda/msda.h, loaded at first use and never at import."""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from ctypes import POINTER, byref, c_char_p, c_int32, c_int64, c_size_t, c_void_p

from .errors import Error, InvalidInput

ABI_VERSION = 1

SHARED_RUNTIME = None
OK, INVALID_PROBLEM, INVALID_ARGUMENT = 0, 1, 2
CPU = -1
FORWARD, BACKWARD = 0, 1
TYPES = {"f32": 0, "f16": 1, "bf16": 2, "f64": 3, "e4m3": 4}
ACCUMULATE = {"automatic": 0, "native": 1, "f32": 2, "deterministic": 3}
SAMPLING = {"bilinear": 0, "nearest": 1, "rtdetrv2": 2, "rtdetrv2_square": 3}
REFERENCE = {"none": 0, "points": 1, "boxes": 2, "pillars": 3}
SPECIALISE = {"exact": 0, "family": 1}
GRADIENT_VALUE, GRADIENT_LOCATION, GRADIENT_WEIGHT = 1, 2, 4


class ProblemFields(ctypes.Structure):
    """msda_problem_fields."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("batch", c_int64),
        ("queries", c_int64),
        ("heads", c_int64),
        ("head_dim", c_int64),
        ("pixels", c_int64),
        ("level_count", c_int64),
        ("level_shapes", POINTER(c_int64)),
        ("level_starts", POINTER(c_int64)),
        ("point_count", c_int64),
        ("points", POINTER(c_int64)),
        ("value_strides", c_int64 * 3),
        ("alignment", c_int64),
        ("reference_levels", c_int64),
        ("pillars", c_int64),
        ("pass_", c_int32),
        ("value_type", c_int32),
        ("location_type", c_int32),
        ("weight_type", c_int32),
        ("output_type", c_int32),
        ("sampling", c_int32),
        ("reference", c_int32),
        ("softmax", c_int32),
        ("gradients", c_int32),
        ("accumulate", c_int32),
        ("specialise", c_int32),
        ("reserved", c_int32),
    ]


class PrepareOptions(ctypes.Structure):
    """msda_prepare_options."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("config", c_char_p),
        ("has_stream", c_int32),
        ("reserved", c_int32),
        ("stream", c_void_p),
    ]


# msda_tensors: its size, then the addresses in this order. A launch packs them into a bytes object of its own, which costs a third of what
# filling a ctypes structure does and is safe between threads.
TENSORS = (
    "value", "locations", "weights", "references", "scales", "output",
    "grad_output", "grad_value", "grad_locations", "grad_weights", "grad_references", "workspace",
)  # fmt: skip
_tensors = struct.Struct(f"@N{len(TENSORS)}N")
pack_tensors = functools.partial(_tensors.pack, _tensors.size)

_SIGNATURES = {
    "msda_abi_version": (c_int32, []),
    "msda_version": (c_char_p, []),
    "msda_status_name": (c_char_p, [c_int32]),
    "msda_error_message": (c_char_p, []),
    "msda_error_log": (c_char_p, []),
    "msda_free_text": (None, [c_void_p]),
    "msda_runtime_has_gpu": (c_int32, [c_void_p]),
    "msda_runtime_doctor": (c_int32, [c_void_p, POINTER(c_void_p)]),
    "msda_problem_create": (c_int32, [POINTER(ProblemFields), POINTER(c_void_p)]),
    "msda_problem_destroy": (None, [c_void_p]),
    "msda_problem_text": (c_char_p, [c_void_p]),
    "msda_prepare": (c_int32, [c_void_p, c_void_p, c_int32, POINTER(PrepareOptions), POINTER(c_void_p)]),
    "msda_operator_destroy": (None, [c_void_p]),
    "msda_operator_config": (c_char_p, [c_void_p]),
    "msda_operator_config_origin": (c_char_p, [c_void_p]),
    "msda_operator_workspace_bytes": (c_size_t, [c_void_p]),
    "msda_launch": (c_int32, [c_void_p, c_char_p, c_void_p]),
}


@functools.cache
def library() -> ctypes.CDLL:
    """The library that lies beside this file, with the signatures set. Raises Error where it is missing or of another ABI."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libmsda.so")
    try:
        loaded = ctypes.CDLL(path)
    except OSError as reason:
        raise Error(f"cannot load {path}: {reason}; install the package with `pip install .`", "io_failed") from None
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    if loaded.msda_abi_version() != ABI_VERSION:
        raise Error(f"{path} has ABI {loaded.msda_abi_version()}, expected {ABI_VERSION}", "unsupported")
    return loaded


def check(status: int) -> None:
    """Raises what the calling thread's last call reported, unless it went well."""
    if status == OK:
        return
    text = library()
    kind = InvalidInput if status in (INVALID_PROBLEM, INVALID_ARGUMENT) else Error
    raise kind(text.msda_error_message().decode(), text.msda_status_name(status).decode(), text.msda_error_log().decode())


def version() -> str:
    """The library's version, "major.minor.patch"."""
    return library().msda_version().decode()


def has_gpu() -> bool:
    """True when a CUDA driver with at least one device is there."""
    return bool(library().msda_runtime_has_gpu(SHARED_RUNTIME))


def doctor() -> str:
    """Each library path tried and what came of it, driver and NVRTC versions, devices, the cache."""
    text = c_void_p()
    check(library().msda_runtime_doctor(SHARED_RUNTIME, byref(text)))
    try:
        return ctypes.string_at(text).decode()
    finally:
        library().msda_free_text(text)

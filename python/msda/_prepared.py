"""Operators that were prepared once and are launched from then on: one dictionary look-up a call, keyed by all that an operator depends on.

What the key holds is checked when an operator is prepared, so a call of a known shape checks nothing again.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int64, c_void_p

import torch

from . import _library, _problem
from ._library import BACKWARD, FORWARD, pack_tensors
from ._problem import TYPE_NAMES, Settings

# More shapes than a training run with padding to multiples sees; the least recently prepared goes first.
MOST_OPERATORS = 4096

_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_dense = torch.contiguous_format
_empty_like = torch.empty_like
_forwards: dict = {}
_backwards: dict = {}


class Prepared:
    """A prepared operator with what a launch of it needs; destroys the handle with itself."""

    __slots__ = ("_destroy", "handle", "launch", "templates", "workspace")

    def __init__(self, handle: int, templates: tuple, device: torch.device):
        library = _library.library()
        self._destroy = library.msda_operator_destroy
        self.handle = handle
        self.launch = library.msda_launch
        self.templates = templates
        scratch = library.msda_operator_workspace_bytes(handle)
        self.workspace = template((scratch,), torch.uint8, device) if scratch else None

    def __del__(self):
        self._destroy(self.handle)


def template(shape, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """One element expanded to a shape: torch.empty_like of it allocates the whole, at half the cost of torch.empty with its options."""
    return torch.empty(1, dtype=dtype, device=device).expand(shape)


def _of(tensor: torch.Tensor) -> tuple:
    """What an operator depends on of a tensor that few calls have."""
    return tensor.shape, tensor.dtype, tensor.device, tensor.is_contiguous()


def _array(numbers):
    return (c_int64 * len(numbers))(*numbers)


def _fields(pass_: int, value, locations, weights, settings: Settings, references, pillars, alignment: int) -> _library.ProblemFields:
    sizes = _problem.sizes_of(value, locations, weights, settings)
    kind, count = _problem.references_of(locations, references, pillars, sizes)
    strides = (0, 0, 0) if value.is_contiguous() else value.stride()[:3]
    return _library.ProblemFields(
        struct_size=ctypes.sizeof(_library.ProblemFields),
        batch=sizes.batch,
        queries=sizes.queries,
        heads=sizes.heads,
        head_dim=sizes.head_dim,
        pixels=sizes.pixels,
        level_count=sizes.levels,
        level_shapes=_array(settings.shapes),
        level_starts=_array(settings.starts) if settings.starts else None,
        point_count=len(sizes.points),
        points=_array(sizes.points),
        value_strides=strides,
        alignment=(alignment & -alignment) or 16,
        reference=_library.REFERENCE[kind],
        reference_levels=0 if pillars else count,
        pillars=count if pillars else 0,
        pass_=pass_,
        value_type=_library.TYPES[TYPE_NAMES[value.dtype]],
        location_type=_library.TYPES[TYPE_NAMES[locations.dtype]],
        weight_type=_library.TYPES[TYPE_NAMES[weights.dtype]],
        sampling=_library.SAMPLING[settings.sampling],
        softmax=settings.softmax,
        accumulate=_library.ACCUMULATE[settings.accumulate],
    )


def _prepare(fields: _library.ProblemFields, device: torch.device) -> int:
    """The handle of an operator. While the current stream is captured, only one that is compiled already."""
    library = _library.library()
    options = _library.PrepareOptions(struct_size=ctypes.sizeof(_library.PrepareOptions))
    ordinal = _library.CPU
    if device.type == "cuda":
        ordinal = device.index
        options.has_stream, options.stream = 1, _stream(ordinal)
    problem, handle = c_void_p(), c_void_p()
    _library.check(library.msda_problem_create(byref(fields), byref(problem)))
    try:
        _library.check(library.msda_prepare(_library.SHARED_RUNTIME, problem, ordinal, byref(options), byref(handle)))
    finally:
        library.msda_problem_destroy(problem)
    return handle.value


def _remember(operators: dict, key: tuple, prepared: Prepared) -> None:
    while len(operators) >= MOST_OPERATORS:
        operators.pop(next(iter(operators)), None)
    operators[key] = prepared


def prepare_forward(value, locations, weights, settings, scales, output_type, references, pillars, alignment) -> tuple:
    """Checks the arguments; the handle of their operator, the shape and the type of its output."""
    sizes = _problem.sizes_of(value, locations, weights, settings)
    _problem.check_scales(value, scales)
    fields = _fields(FORWARD, value, locations, weights, settings, references, pillars, alignment)
    _problem.check_layout(value=value, locations=locations, weights=weights, scales=scales, references=references)
    dtype = _problem.output_type(value, output_type)
    fields.output_type = _library.TYPES[TYPE_NAMES[dtype]]
    return _prepare(fields, value.device), (sizes.batch, sizes.queries, sizes.heads * sizes.head_dim), dtype


def forward(
    value, locations, weights, shapes, starts=(), points=(), sampling="bilinear", softmax=False, accumulate="automatic",
    scales=None, output_type=None, references=None, pillars=False,
):  # fmt: skip
    """The output (B, Q, M*D) on the device of the tensors, on its current stream."""
    device = value.get_device()
    value_at, locations_at, weights_at = value.data_ptr(), locations.data_ptr(), weights.data_ptr()
    references_at = 0 if references is None else references.data_ptr()
    alignment = (value_at | locations_at | weights_at | references_at) & 15
    key = (
        value.shape, locations.shape, weights.shape, value.dtype, locations.dtype, weights.dtype,
        device, locations.get_device(), weights.get_device(),
        value.is_contiguous() or value.stride(), locations.is_contiguous(), weights.is_contiguous(), alignment,
        tuple(shapes), tuple(starts), tuple(points), sampling, softmax, accumulate,
        scales is None or _of(scales), output_type, references is None or _of(references), pillars,
    )  # fmt: skip
    prepared = _forwards.get(key)
    if prepared is None:
        settings = Settings(*key[13:16], sampling, softmax, accumulate)
        handle, shape, dtype = prepare_forward(value, locations, weights, settings, scales, output_type, references, pillars, alignment)
        prepared = Prepared(handle, (template(shape, dtype, value.device),), value.device)
        _remember(_forwards, key, prepared)
    output = _empty_like(prepared.templates[0], memory_format=_dense)
    scratch = prepared.workspace
    if scratch is not None:
        scratch = _empty_like(scratch, memory_format=_dense)
    status = prepared.launch(
        prepared.handle,
        pack_tensors(
            value_at, locations_at, weights_at, references_at, 0 if scales is None else scales.data_ptr(), output.data_ptr(),
            0, 0, 0, 0, 0, 0 if scratch is None else scratch.data_ptr(),
        ),
        0 if device < 0 else _stream(device),
    )  # fmt: skip
    if status:
        _library.check(status)
    return output


def prepare_backward(grad, value, locations, weights, settings, references, pillars, mask, alignment) -> int:
    """Checks the arguments; the handle of their operator."""
    sizes = _problem.sizes_of(value, locations, weights, settings)
    expected = (sizes.batch, sizes.queries, sizes.heads * sizes.head_dim)
    if tuple(grad.shape) != expected:
        raise ValueError(f"grad: expected shape {expected}, got {tuple(grad.shape)}")
    if grad.dtype != value.dtype:
        raise TypeError(f"grad: expected dtype {value.dtype}, the value's, got {grad.dtype}")
    fields = _fields(BACKWARD, value, locations, weights, settings, references, pillars, alignment)
    _problem.check_layout(value=value, locations=locations, weights=weights, grad=grad, references=references)
    wanted = (mask[0], mask[1] or mask[3], mask[2])  # the references' gradient comes with that of the locations
    fields.gradients = sum(1 << i for i in range(3) if wanted[i])
    return _prepare(fields, value.device)


def backward(
    grad, value, locations, weights, shapes, starts=(), points=(), sampling="bilinear", softmax=False, accumulate="automatic",
    references=None, pillars=False, mask=(True, True, True, False), into=None,
):  # fmt: skip
    """The gradients that `mask` asks for, dense, in the order value, locations, weights, references; None in the place of the others.

    `into`: three dense tensors and None that receive them, instead of new ones.
    """
    if not any(mask):
        return None, None, None, None
    if not grad.is_contiguous():
        grad = grad.contiguous()
    device = value.get_device()
    grad_at, value_at, locations_at, weights_at = grad.data_ptr(), value.data_ptr(), locations.data_ptr(), weights.data_ptr()
    references_at = 0 if references is None else references.data_ptr()
    alignment = (grad_at | value_at | locations_at | weights_at | references_at) & 15
    if into is not None:
        alignment |= (into[0].data_ptr() | into[1].data_ptr() | into[2].data_ptr()) & 15
    key = (
        grad.shape, value.shape, locations.shape, weights.shape, grad.dtype, value.dtype, locations.dtype, weights.dtype,
        device, grad.get_device(), locations.get_device(), weights.get_device(),
        value.is_contiguous() or value.stride(), locations.is_contiguous(), weights.is_contiguous(), alignment,
        tuple(shapes), tuple(starts), tuple(points), sampling, softmax, accumulate, tuple(mask),
        references is None or _of(references), pillars,
    )  # fmt: skip
    prepared = _backwards.get(key)
    if prepared is None:
        settings = Settings(*key[16:19], sampling, softmax, accumulate)
        handle = prepare_backward(grad, value, locations, weights, settings, references, pillars, mask, alignment)
        wanted = tuple(
            template(tensor.shape, tensor.dtype, value.device) if asked else None
            for tensor, asked in zip((value, locations, weights, references), (mask[0], mask[1] or mask[3], mask[2], mask[3]), strict=True)
        )
        prepared = Prepared(handle, wanted, value.device)
        _remember(_backwards, key, prepared)
    scratch = prepared.workspace
    if into is None:
        into = [None if like is None else _empty_like(like, memory_format=_dense) for like in prepared.templates]
    if scratch is not None:
        scratch = _empty_like(scratch, memory_format=_dense)
    status = prepared.launch(
        prepared.handle,
        pack_tensors(
            value_at, locations_at, weights_at, references_at, 0, 0, grad_at,
            *(0 if gradient is None else gradient.data_ptr() for gradient in into),
            0 if scratch is None else scratch.data_ptr(),
        ),
        0 if device < 0 else _stream(device),
    )  # fmt: skip
    if status:
        _library.check(status)
    return tuple(gradient if asked else None for gradient, asked in zip(into, mask, strict=True))

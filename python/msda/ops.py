"""The operators torch.ops.msda.forward and backward: schemas, kernels and autograd.

They are registered key by key instead of through torch.library.custom_op, whose wrappers cost more than the launch they lead to. Where the
extension is built (_extension.py), forward and backward have its kernels on the CPU and on GPUs instead of those here.
"""

from __future__ import annotations

import torch
from torch._functorch.utils import enable_single_level_autograd_function as _one_level
from torch.autograd import forward_ad as _forward_ad

from . import _autocast, _compiled, _extension, _fakes, _levels, _prepared
from ._problem import Settings

_SETTINGS = (
    "SymInt[] shapes, SymInt[] starts=[], SymInt[] points=[], str sampling='bilinear', bool softmax=False, str accumulate='automatic'"
)
_TENSOR_LEVELS = "Tensor value_spatial_shapes, Tensor value_level_start_index"

_library = torch.library.Library("msda", "DEF")
_REFERENCES = "Tensor? references=None, bool pillars=False"
_FORWARD = f"Tensor value, Tensor locations, Tensor weights, {_SETTINGS}, Tensor? scales=None, ScalarType? output_type=None, {_REFERENCES}"
_BACKWARD = f"Tensor grad, Tensor value, Tensor locations, Tensor weights, {_SETTINGS}, {_REFERENCES}, *, bool[4] mask"
_library.define(f"forward({_FORWARD}) -> Tensor")
# The gradients that `mask` asks for, in the order value, locations, weights, references.
_library.define(f"backward({_BACKWARD}) -> Tensor[]")
# The same with levels in tensors, for graphs that cannot know what these hold.
_library.define(f"forward.levels(Tensor value, {_TENSOR_LEVELS}, Tensor locations, Tensor weights) -> Tensor")
_library.define(
    f"backward.levels(Tensor grad, Tensor value, {_TENSOR_LEVELS}, Tensor locations, Tensor weights, *, bool[3] mask) -> Tensor[]"
)
_REFERENCES_AT = 8  # among the arguments of forward after the tensors

forward = torch.ops.msda.forward.default
backward = torch.ops.msda.backward.default
forward_levels = torch.ops.msda.forward.levels
backward_levels = torch.ops.msda.backward.levels

_has_extension = _extension.load()


def _backward_kernel(grad, value, locations, weights, *settings, mask):
    return [gradient for gradient in _prepared.backward(grad, value, locations, weights, *settings, mask=mask) if gradient is not None]


def _forward_levels_kernel(value, shapes, starts, locations, weights):
    return _prepared.forward(value, locations, weights, *_levels.from_tensors(shapes, starts))


def _backward_levels_kernel(grad, value, shapes, starts, locations, weights, *, mask):
    return _backward_kernel(grad, value, locations, weights, *_levels.from_tensors(shapes, starts), mask=(*mask, False))


for _key in ("CPU", "CUDA"):
    if not _has_extension:
        _library.impl("forward", _prepared.forward, _key)
        _library.impl("backward", _backward_kernel, _key)
    _library.impl("forward.levels", _forward_levels_kernel, _key)
    _library.impl("backward.levels", _backward_levels_kernel, _key)


_fakes.register(_library)


# ---- Autograd.

_is_grad_enabled = torch.is_grad_enabled
_modes = torch._C._len_torch_dispatch_stack
_transforms = torch._C._functorch.peek_interpreter_stack
_plain = (torch.Tensor, torch.nn.Parameter)
_eight_bit = torch.float8_e4m3fn
_below_autograd = torch._C._AutoDispatchBelowAutograd


def _direct(value, locations, weights) -> bool:
    """True when nothing stands between a call on the CPU or a GPU and its kernel: plain tensors on such a device, none negated lazily, no
    mode that watches calls, no function transform."""
    return (
        type(value) in _plain and type(locations) in _plain and type(weights) in _plain
        and not (value.is_neg() or locations.is_neg() or weights.is_neg())
        and (value.is_cuda or value.is_cpu) and not _modes() and _transforms() is None
    )  # fmt: skip


class _Forward(torch.autograd.Function):
    """forward(value, locations, weights, references or None, the rest of the schema as one tuple) with its gradients."""

    @staticmethod
    def forward(ctx, value, locations, weights, references, rest):
        ctx.save_for_backward(value, locations, weights, references)
        ctx.settings, ctx.pillars = rest[:6], len(rest) > _REFERENCES_AT + 1 and rest[_REFERENCES_AT + 1]
        with _below_autograd():
            return forward(value, locations, weights, *rest)

    @staticmethod
    def backward(ctx, grad):
        value, locations, weights, references = ctx.saved_tensors
        settings = ctx.settings
        need = ctx.needs_input_grad
        # A pixel that is chosen, not interpolated, has no gradient by its place.
        placed = len(settings) < 4 or settings[3] == "bilinear"
        mask = (need[0], need[1] and placed, need[2], need[3] and placed)
        known = references is None and not _is_grad_enabled() and type(grad) in _plain and not grad.is_neg()
        if known and _direct(value, locations, weights):
            return (*_prepared.backward(grad, value, locations, weights, *settings, mask=mask), None)
        gradients = iter(backward(grad, value, locations, weights, *settings, references=references, pillars=ctx.pillars, mask=mask))
        return (*(next(gradients) if asked else None for asked in mask), None)


class _ForwardDirect(_Forward):
    """The same where _direct() says that the kernel can be called."""

    @staticmethod
    def forward(ctx, value, locations, weights, references, rest):
        ctx.save_for_backward(value, locations, weights, references)
        ctx.settings, ctx.pillars = rest[:6], False  # references do not come here
        return _prepared.forward(value, locations, weights, *rest)


class _ForwardLevels(torch.autograd.Function):
    """forward.levels with its gradients."""

    @staticmethod
    def forward(ctx, value, shapes, starts, locations, weights):
        ctx.save_for_backward(value, shapes, starts, locations, weights)
        with _below_autograd():
            return forward_levels(value, shapes, starts, locations, weights)

    @staticmethod
    def backward(ctx, grad):
        need = ctx.needs_input_grad
        mask = (need[0], need[3], need[4])
        gradients = iter(backward_levels(grad, *ctx.saved_tensors, mask=mask))
        value, locations, weights = (next(gradients) if asked else None for asked in mask)
        return value, None, None, locations, weights


class _OnceDifferentiable(torch.autograd.Function):
    """Gradients as they are; asking for theirs is an error."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tensors[:count]

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("msda: second derivatives of multi-scale deformable attention are not available")


# Function.apply without what it does for function transforms: where the dispatcher comes to autograd, one level of them is left to do,
# which _one_level() allows.
_apply = super(torch.autograd.Function, _Forward).apply
_apply_direct = super(torch.autograd.Function, _ForwardDirect).apply
_apply_levels = super(torch.autograd.Function, _ForwardLevels).apply
_apply_once = super(torch.autograd.Function, _OnceDifferentiable).apply


def _check_differentiable(value, scales) -> None:
    if value.requires_grad and value.dtype is _eight_bit:
        raise TypeError("value: expected one that requires no gradient, since 8-bit values have a forward only")
    if scales is not None and scales.requires_grad:
        raise ValueError("scales: expected a tensor that requires no gradient")


def _references(rest):
    """The references among the arguments after the tensors, or None."""
    return rest[_REFERENCES_AT] if len(rest) > _REFERENCES_AT else None


def _refuse_tangents(*tensors) -> None:
    if any(tensor is not None and _forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors):
        raise NotImplementedError("msda: forward-mode derivatives of multi-scale deformable attention are not available")


def _needed(value, locations, weights, rest) -> bool:
    references = _references(rest)
    if _forward_ad._current_level >= 0:
        _refuse_tangents(value, locations, weights, references)
    needed = _is_grad_enabled() and (
        value.requires_grad or locations.requires_grad or weights.requires_grad or (references is not None and references.requires_grad)
    )
    if needed or len(rest) > 6:
        _check_differentiable(value, rest[6] if len(rest) > 6 else None)
    return needed


def _forward_autograd(value, locations, weights, *rest):
    """For any device, mode and transform."""
    if _needed(value, locations, weights, rest):
        with _one_level():
            return _apply(value, locations, weights, _references(rest), rest)
    with _below_autograd():
        return forward(value, locations, weights, *rest)


def _forward_autograd_direct(value, locations, weights, *rest):
    """The same for the devices that have kernels, which are called without asking the dispatcher again where that changes nothing."""
    if not _direct(value, locations, weights) or _references(rest) is not None:
        return _forward_autograd(value, locations, weights, *rest)
    if _needed(value, locations, weights, rest):
        return _apply_direct(value, locations, weights, None, rest)
    return _prepared.forward(value, locations, weights, *rest)


_autocast_enabled = torch._C._is_any_autocast_enabled
_function_modes = torch._C._len_torch_function_stack
_profiled = torch._C._autograd._profiler_enabled
_traced = torch._C._get_tracing_state


def _eager(value, locations, weights, settings):
    """torch.ops.msda.forward without the dispatcher, where nobody would see the difference: no autocast, no mode, no profiler, no
    tracing, no transform, plain tensors. That halves the host's time of a call. ``settings``: the schema's after the tensors, the first
    six at most.

    The checks of _direct() and _needed() stand here once more, since calling those costs 10 % of the whole.
    """
    if (
        _autocast_enabled() or _function_modes() or _modes() or _profiled() or _traced() is not None or _transforms() is not None
        or _forward_ad._current_level >= 0
        or not (type(value) in _plain and type(locations) in _plain and type(weights) in _plain)
        or value.is_neg() or locations.is_neg() or weights.is_neg() or not (value.is_cuda or value.is_cpu)
    ):  # fmt: skip
        return forward(value, locations, weights, *settings)
    if _is_grad_enabled() and (value.requires_grad or locations.requires_grad or weights.requires_grad):
        if value.dtype is _eight_bit:
            _check_differentiable(value, None)
        return _apply_direct(value, locations, weights, None, settings)
    return _prepared.forward(value, locations, weights, *settings)


_DEFAULTS = tuple(Settings._field_defaults.values())


def _eager_compiled(value, locations, weights, settings):
    """The same where the dispatcher leads to C++, at less cost where the schema fills in the defaults."""
    if settings[1:] == _DEFAULTS:
        return forward(value, locations, weights, settings[0])
    return forward(value, locations, weights, *settings)


eager = _eager_compiled if _has_extension else _eager


def _forward_levels_autograd(value, shapes, starts, locations, weights):
    with _one_level():
        return _apply_levels(value, shapes, starts, locations, weights)


def _backward_autograd(grad, value, *rest, mask, op=backward):
    with _below_autograd():
        gradients = op(grad, value, *rest, mask=mask)
    tensors = [t for t in (grad, value, *rest) if isinstance(t, torch.Tensor)]
    if _is_grad_enabled() and any(t.requires_grad for t in tensors):
        with _one_level():
            return list(_apply_once(len(gradients), *gradients, *tensors))
    return gradients


def _backward_levels_autograd(*arguments, mask):
    return _backward_autograd(*arguments, mask=mask, op=backward_levels)


_library.impl("forward", _forward_autograd, "Autograd")
if _has_extension:
    _compiled.register(_library, _FORWARD, _BACKWARD, _forward_autograd, _backward_autograd)
else:
    _library.impl("forward", _forward_autograd_direct, "AutogradCPU")
    _library.impl("forward", _forward_autograd_direct, "AutogradCUDA")
_library.impl("backward", _backward_autograd, "Autograd")
_library.impl("forward.levels", _forward_levels_autograd, "Autograd")
_library.impl("backward.levels", _backward_levels_autograd, "Autograd")

_autocast.register(_library, forward, forward_levels, "cpu", "AutocastCPU")
_autocast.register(_library, forward, forward_levels, "cuda", "AutocastCUDA")

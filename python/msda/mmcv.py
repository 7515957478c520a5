"""mmcv.ops.multi_scale_deform_attn's names with their exact signatures, for code that imports them from there."""

from __future__ import annotations

from torch import Tensor

from . import _levels, _prepared
from ._clients import AttentionFunction as MultiScaleDeformableAttnFunction
from ._clients import attend
from ._clients import attend_dense as multi_scale_deformable_attn_pytorch

__all__ = [
    "MultiScaleDeformableAttnFunction",
    "ms_deform_attn_backward",
    "ms_deform_attn_forward",
    "multi_scale_deformable_attn_pytorch",
]


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int = 64,
) -> Tensor:
    """The output (B, Q, M * D); ``im2col_step`` is accepted and ignored."""
    return attend(value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights)


def ms_deform_attn_backward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    grad_output: Tensor,
    grad_value: Tensor,
    grad_sampling_loc: Tensor,
    grad_attn_weight: Tensor,
    im2col_step: int = 64,
) -> None:
    """Writes the gradients into the last three tensors, which may hold anything before; ``im2col_step`` is accepted and ignored."""
    into = {"grad_value": grad_value, "grad_sampling_loc": grad_sampling_loc, "grad_attn_weight": grad_attn_weight}
    for (name, gradient), tensor in zip(into.items(), (value, sampling_locations, attention_weights), strict=True):
        if gradient.shape != tensor.shape or gradient.dtype != tensor.dtype or gradient.device != tensor.device:
            raise ValueError(
                f"{name}: expected shape {tuple(tensor.shape)}, {tensor.dtype} on {tensor.device}, "
                f"got {tuple(gradient.shape)}, {gradient.dtype} on {gradient.device}"
            )
        if not gradient.is_contiguous():
            raise ValueError(f"{name}: expected a contiguous tensor, got strides {gradient.stride()}")
    shapes, starts = _levels.from_tensors(value_spatial_shapes, value_level_start_index)
    tensors = (tensor.resolve_neg() for tensor in (grad_output, value, sampling_locations, attention_weights))
    _prepared.backward(*tensors, shapes, starts, into=(*into.values(), None))

"""Deformable-DETR's names with their exact signatures: the autograd function, the module, and the extension's two functions."""

from __future__ import annotations

from torch import Tensor

from . import _levels, _prepared
from ._clients import AttentionFunction as MSDeformAttnFunction
from ._clients import attend
from ._clients import attend_dense as ms_deform_attn_core_pytorch
from .modules import MSDeformAttn

__all__ = [
    "MSDeformAttn",
    "MSDeformAttnFunction",
    "ms_deform_attn_backward",
    "ms_deform_attn_core_pytorch",
    "ms_deform_attn_forward",
]


def ms_deform_attn_forward(
    value: Tensor,
    value_spatial_shapes: Tensor,
    value_level_start_index: Tensor,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,
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
    im2col_step: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of value, sampling locations and attention weights; ``im2col_step`` is accepted and ignored."""
    shapes, starts = _levels.from_tensors(value_spatial_shapes, value_level_start_index)
    tensors = (tensor.resolve_neg() for tensor in (grad_output, value, sampling_locations, attention_weights))
    return _prepared.backward(*tensors, shapes, starts)[:3]

"""What the functions of other projects are replaced with: their arguments in their order, the operator behind them.

Those projects sample with grid_sample or with kernels of one type for all; so locations and weights of a type that the operator does not
take go to float32, which loses nothing, and tensors that are not dense are copied.
"""

from __future__ import annotations

import torch
from torch import Tensor

from . import _levels, ops
from .functional import multi_scale_deformable_attention

_plain = (torch.Tensor, torch.nn.Parameter)


def _fitting(tensor: Tensor, value: Tensor) -> Tensor:
    return tensor if tensor.dtype in (torch.float32, value.dtype) else tensor.float()


def attend(value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights) -> Tensor:
    """The operator with levels in tensors, as the CUDA extensions of mmcv and Deformable-DETR take them."""
    locations, weights = _fitting(sampling_locations, value), _fitting(attention_weights, value)
    if not isinstance(value_spatial_shapes, Tensor):
        return multi_scale_deformable_attention(value, value_spatial_shapes, locations, weights)
    if torch.compiler.is_compiling() or type(value_spatial_shapes) not in _plain:
        return ops.forward_levels(value, value_spatial_shapes, value_level_start_index, locations, weights)
    return ops.eager(value, locations, weights, _levels.from_tensors(value_spatial_shapes, value_level_start_index))


class AttentionFunction:
    """Stands where an autograd function of another project stood: callers use its ``apply`` alone."""

    @staticmethod
    def apply(value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights, im2col_step=64):
        """The output (B, Q, M * D). ``im2col_step`` is accepted and ignored: there is no rule about batch sizes."""
        return attend(value, value_spatial_shapes, value_level_start_index, sampling_locations, attention_weights)


def attend_dense(value, value_spatial_shapes, sampling_locations, attention_weights) -> Tensor:
    """In place of the functions that are written with grid_sample, which take tensors of any strides."""
    value = value if value.stride(-1) == 1 else value.contiguous()
    return multi_scale_deformable_attention(
        value,
        value_spatial_shapes,
        _fitting(sampling_locations, value).contiguous(),
        _fitting(attention_weights, value).contiguous(),
    )


def attend_ragged(value, value_spatial_shapes, sampling_locations, attention_weights, num_points_list, method="default") -> Tensor:
    """In place of the function of RT-DETRv2 and D-FINE: points differ from level to level, locations are (B, Q, M, sum, 2)."""
    value = value if value.stride(-1) == 1 else value.contiguous()
    return multi_scale_deformable_attention(
        value,
        value_spatial_shapes,
        _fitting(sampling_locations, value).contiguous(),
        _fitting(attention_weights, value).contiguous(),
        points=tuple(num_points_list),
        sampling={"default": "bilinear", "discrete": "rtdetrv2"}[method],
    )


def attend_module(
    module, value, value_spatial_shapes, value_spatial_shapes_list, level_start_index, sampling_locations, attention_weights, im2col_step
) -> Tensor:
    """In place of the forward of transformers' module MultiScaleDeformableAttention."""
    return attend_dense(value, value_spatial_shapes_list, sampling_locations, attention_weights)

"""MSDeformAttn: the attention module of Deformable-DETR around the operator, with its parameter names, so that its checkpoints load."""

from __future__ import annotations

import math
import warnings

import torch
from torch import Tensor, nn
from torch.nn.init import constant_, xavier_uniform_

from ._clients import attend


class MSDeformAttn(nn.Module):
    """Multi-scale deformable attention with its four linear projections (Zhu et al., "Deformable DETR", ICLR 2021, section 4.1)."""

    def __init__(self, d_model: int = 256, n_levels: int = 4, n_heads: int = 8, n_points: int = 4):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model: expected a multiple of n_heads = {n_heads}, got {d_model}")
        if d_model // n_heads % 4 != 0:
            warnings.warn(
                f"heads of {d_model // n_heads} channels take the general kernels; multiples of 8 (16-bit) or 4 (32-bit) are faster",
                stacklevel=2,
            )
        self.im2col_step = 64  # of Deformable-DETR; ignored
        self.d_model, self.n_levels, self.n_heads, self.n_points = d_model, n_levels, n_heads, n_points
        self.sampling_offsets = nn.Linear(d_model, n_heads * n_levels * n_points * 2)
        self.attention_weights = nn.Linear(d_model, n_heads * n_levels * n_points)
        self.value_proj = nn.Linear(d_model, d_model)
        self.output_proj = nn.Linear(d_model, d_model)
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Offsets start as one direction a head, one pixel further with each point; weights start alike."""
        constant_(self.sampling_offsets.weight, 0.0)
        angle = torch.arange(self.n_heads, dtype=torch.float32) * (2.0 * math.pi / self.n_heads)
        direction = torch.stack([angle.cos(), angle.sin()], -1)
        direction = direction / direction.abs().max(-1, keepdim=True)[0]
        steps = torch.arange(1, self.n_points + 1, dtype=torch.float32).view(1, 1, -1, 1)
        offsets = direction.view(self.n_heads, 1, 1, 2) * steps
        with torch.no_grad():
            self.sampling_offsets.bias.copy_(offsets.expand(-1, self.n_levels, -1, -1).reshape(-1))
        constant_(self.attention_weights.weight, 0.0)
        constant_(self.attention_weights.bias, 0.0)
        xavier_uniform_(self.value_proj.weight)
        constant_(self.value_proj.bias, 0.0)
        xavier_uniform_(self.output_proj.weight)
        constant_(self.output_proj.bias, 0.0)

    def forward(
        self,
        query: Tensor,
        reference_points: Tensor,
        input_flatten: Tensor,
        input_spatial_shapes: Tensor,
        input_level_start_index: Tensor | None = None,
        input_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """query (N, Q, C) with reference points (N, Q, L, 2), or boxes (N, Q, L, 4), on input_flatten (N, S, C) -> (N, Q, C).

        input_spatial_shapes: integer tensor (L, 2) of heights and widths, or a list of them as host integers, which never waits for
        the GPU. input_padding_mask (N, S): True where there is padding.
        """
        batch, queries, _ = query.shape
        pixels = input_flatten.shape[1]
        value = self.value_proj(input_flatten)
        if input_padding_mask is not None:
            value = value.masked_fill(input_padding_mask[..., None], 0.0)
        value = value.view(batch, pixels, self.n_heads, self.d_model // self.n_heads)
        points = (batch, queries, self.n_heads, self.n_levels, self.n_points)
        offsets = self.sampling_offsets(query).view(*points, 2)
        weights = self.attention_weights(query).view(batch, queries, self.n_heads, -1).softmax(-1).view(points)
        locations = self._locations(reference_points, offsets, input_spatial_shapes)
        return self.output_proj(attend(value, input_spatial_shapes, input_level_start_index, locations, weights))

    def _locations(self, reference_points: Tensor, offsets: Tensor, spatial_shapes) -> Tensor:
        if reference_points.shape[-1] == 2:
            shapes = torch.as_tensor(spatial_shapes, device=offsets.device)
            normalizer = torch.stack([shapes[..., 1], shapes[..., 0]], -1)
            return reference_points[:, :, None, :, None, :] + offsets / normalizer[None, None, None, :, None, :]
        if reference_points.shape[-1] == 4:
            centre, size = reference_points[:, :, None, :, None, :2], reference_points[:, :, None, :, None, 2:]
            return centre + offsets / self.n_points * size * 0.5
        raise ValueError(f"reference_points: expected 2 or 4 in the last dimension, got {reference_points.shape[-1]}")

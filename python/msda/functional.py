"""multi_scale_deformable_attention: the operator as a function of tensors and level sizes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import _levels, ops

_plain = (torch.Tensor, torch.nn.Parameter)


def multi_scale_deformable_attention(
    value: Tensor,
    levels: Sequence[Sequence[int]] | Tensor,
    locations: Tensor,
    weights: Tensor,
    *,
    points: Sequence[int] = (),
    sampling: str = "bilinear",
    softmax: bool = False,
    accumulate: str = "automatic",
    scales: Tensor | None = None,
    output_type: torch.dtype | None = None,
    references: Tensor | None = None,
    pillars: bool = False,
) -> Tensor:
    """Samples the levels of ``value`` at ``locations`` and sums with ``weights`` (Zhu et al., "Deformable DETR", ICLR 2021, eq. 3).

    value: (B, S, M, D), the levels one after the other along S; float32, float16, bfloat16, float64, or float8_e4m3fn with ``scales``.
        Its last dimension must be contiguous; the others may have strides.
    levels: (height, width) or (height, width, start) of each of the L levels, host integers. An integer tensor (L, 2) works too: one on
        the GPU is read once, which waits for the GPU, and remembered until it changes.
    locations: (B, Q, M, L, P, 2), x and y in 0..1 across a level; float32 or the value's type. Outside its level a point adds 0.
    weights: (B, Q, M, L, P); float32 or the value's type.
    points: the points of each level where they differ; locations are then (B, Q, M, sum(points), 2) and weights (B, Q, M, sum(points)).
    sampling: "bilinear", "nearest", "rtdetrv2" (RT-DETRv2's discrete method) or "rtdetrv2_square" (its original's clamp by the height);
        only bilinear has gradients for locations.
    softmax: weights are logits; the softmax over all points of a head is taken inside.
    accumulate: how the gradient of value is summed: "automatic" (as exact as float32), "f32", "native" (in the value's own type) or
        "deterministic" (bit-equal from run to run).
    scales: (M) float32, what a float8_e4m3fn value is multiplied by; ``output_type``: float16 or bfloat16 for it.
    references: of the locations' type; ``locations`` are then offsets from them, and the sum is taken inside. (B, Q, L or 1, 2) points x,
        y: a location is reference + offset / (width, height) of its level. (B, Q, L or 1, 4) boxes x, y, w, h: a location is
        (x, y) + offset / P * (w, h) / 2. With ``pillars``, (B, Q, Z, 2) points: point p of a level belongs to reference p modulo Z.

    Returns (B, Q, M * D) of the value's type. Differentiable once with respect to value, locations, weights and references. Raises
    TypeError or ValueError that names the argument, or msda.Error.
    """
    if value is None or locations is None or weights is None:  # which the dispatcher takes for tensors
        raise TypeError(f"{'value' if value is None else 'locations' if locations is None else 'weights'}: expected a tensor, got None")
    if torch.compiler.is_compiling() or (isinstance(levels, Tensor) and type(levels) not in _plain):
        rest = (points, sampling, softmax, accumulate, scales, output_type, references, pillars)
        return _traced(value, levels, locations, weights, *rest)
    shapes, starts = _levels.from_tensors(levels, names=("levels",)) if isinstance(levels, Tensor) else _levels.from_host(levels)
    settings = (shapes, starts, points, sampling, softmax, accumulate)
    if scales is not None or output_type is not None or references is not None or pillars:
        return ops.forward(value, locations, weights, *settings, scales, output_type, references, pillars)
    return ops.eager(value, locations, weights, settings)


def _traced(value, levels, locations, weights, *settings):
    """The call in a graph that is being traced, where level sizes may be symbols and a tensor cannot be read."""
    if not isinstance(levels, Tensor):
        return ops.forward(value, locations, weights, *_levels.flatten(levels), *settings)
    if settings != ((), "bilinear", False, "automatic", None, None, None, False):
        raise ValueError("levels: expected host integers; a tensor in a traced graph goes with the default options only")
    areas = levels[:, 0] * levels[:, 1]
    return ops.forward_levels(value, levels, areas.cumsum(0) - areas, locations, weights)

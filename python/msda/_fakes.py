"""Fake kernels of torch.ops.msda: shapes and types of what the operators return, and the checks of what they are given, without data."""

from __future__ import annotations

import torch

from . import _problem
from ._problem import Settings


def _output(value, locations, dtype):
    return value.new_empty((value.shape[0], locations.shape[1], value.shape[2] * value.shape[3]), dtype=dtype)


def _forward(
    value,
    locations,
    weights,
    shapes,
    starts=(),
    points=(),
    sampling="bilinear",
    softmax=False,
    accumulate="automatic",
    scales=None,
    output_type=None,
    references=None,
    pillars=False,
):
    settings = Settings(tuple(shapes), tuple(starts), tuple(points), sampling, softmax, accumulate)
    _problem.references_of(locations, references, pillars, _problem.sizes_of(value, locations, weights, settings))
    _problem.check_scales(value, scales)
    _problem.check_devices(value=value, locations=locations, weights=weights, references=references)
    return _output(value, locations, _problem.output_type(value, output_type))


def _forward_levels(value, value_spatial_shapes, value_level_start_index, locations, weights):
    return _output(value, locations, value.dtype)


def _gradients(mask, *tensors):
    wanted = [tensor for tensor, asked in zip(tensors, mask, strict=True) if asked]
    return [torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in wanted]


def _backward(
    grad,
    value,
    locations,
    weights,
    shapes,
    starts=(),
    points=(),
    sampling="bilinear",
    softmax=False,
    accumulate="automatic",
    references=None,
    pillars=False,
    *,
    mask,
):
    return _gradients(mask, value, locations, weights, references)


def _backward_levels(grad, value, shapes, starts, locations, weights, *, mask):
    return _gradients(mask, value, locations, weights)


def register(library) -> None:
    """For the operators that the library has defined."""
    kernels = {"forward": _forward, "forward.levels": _forward_levels, "backward": _backward, "backward.levels": _backward_levels}
    for name, kernel in kernels.items():
        torch.library.register_fake(f"msda::{name}", kernel, lib=library)

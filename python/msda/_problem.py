"""What one call asks for: the checks of its tensors and the sizes that follow.

Every message names the argument, what was expected and what came.
Used where an operator is prepared and by the fake kernels, never on the path of a call whose shape is known.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import _library

TYPE_NAMES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float64: "f64",
    torch.float8_e4m3fn: "e4m3",
}
_WIDE = (torch.float32, torch.float16, torch.bfloat16, torch.float64)


class Settings(NamedTuple):
    """The arguments of a call that are no tensors, as the operator's schema orders them."""

    shapes: tuple  # (H, W) of each level, flat
    starts: tuple = ()  # first pixel of each level; (): one after the other
    points: tuple = ()  # points of each level; (): L and P are axes of the locations
    sampling: str = "bilinear"
    softmax: bool = False
    accumulate: str = "automatic"


class Sizes(NamedTuple):
    """The axes of a call: B, S, M, D of the value, Q of the locations, the points of each level (one entry: all alike)."""

    batch: int
    pixels: int
    heads: int
    head_dim: int
    queries: int
    levels: int
    points: tuple


def _expect(condition, argument: str, expected: str, got) -> None:
    if not condition:
        raise ValueError(f"{argument}: expected {expected}, got {got}")


def _expect_type(argument: str, tensor: torch.Tensor, allowed) -> None:
    if tensor.dtype not in allowed:
        names = " or ".join(str(dtype).removeprefix("torch.") for dtype in dict.fromkeys(allowed))
        raise TypeError(f"{argument}: expected dtype {names}, got {str(tensor.dtype).removeprefix('torch.')}")


def _shape(tensor: torch.Tensor) -> str:
    return str(tuple(tensor.shape))


def sizes_of(value: torch.Tensor, locations: torch.Tensor, weights: torch.Tensor, settings: Settings) -> Sizes:
    """Checks ranks, shapes and types and returns the sizes."""
    _expect_type("value", value, TYPE_NAMES)
    _expect(value.dim() == 4, "value", "shape (B, S, M, D)", _shape(value))
    # The output of 8-bit values is 16 bits wide; their locations and weights are f32.
    companion = torch.float32 if value.dtype == torch.float8_e4m3fn else value.dtype
    _expect_type("locations", locations, (torch.float32, companion))
    _expect_type("weights", weights, (torch.float32, companion))
    _expect(settings.sampling in _library.SAMPLING, "sampling", "one of " + ", ".join(_library.SAMPLING), repr(settings.sampling))
    _expect(settings.accumulate in _library.ACCUMULATE, "accumulate", "one of " + ", ".join(_library.ACCUMULATE), repr(settings.accumulate))

    levels = len(settings.shapes) // 2
    _expect(levels >= 1 and len(settings.shapes) % 2 == 0, "levels", "at least one (height, width)", settings.shapes)
    _expect(not settings.starts or len(settings.starts) == levels, "levels", f"{levels} starts", settings.starts)
    batch, pixels, heads, head_dim = value.shape
    _expect(pixels >= 1, "value", "at least one pixel, shape (B, S, M, D)", _shape(value))
    if settings.points:
        _expect(len(settings.points) == levels, "points", f"{levels} entries, one a level", settings.points)
        _expect(locations.dim() == 5, "locations", "shape (B, Q, M, sum of points, 2), since points were given", _shape(locations))
        points, axes = settings.points, (sum(settings.points),)
    else:
        _expect(locations.dim() == 6, "locations", "shape (B, Q, M, L, P, 2)", _shape(locations))
        points, axes = (locations.shape[4],), (levels, locations.shape[4])
    queries = locations.shape[1]
    rows = (batch, queries, heads, *axes)
    _expect(
        tuple(locations.shape) == (*rows, 2),
        "locations",
        f"shape {(*rows, 2)}, of a value {_shape(value)} with {levels} levels",
        _shape(locations),
    )
    _expect(tuple(weights.shape) == rows, "weights", f"shape {rows}, of locations {_shape(locations)}", _shape(weights))
    return Sizes(batch, pixels, heads, head_dim, queries, levels, points)


def references_of(locations: torch.Tensor, references: torch.Tensor | None, pillars: bool, sizes: Sizes) -> tuple:
    """Checks the references; what they are (a key of _library.REFERENCE) and how many there are for a query."""
    if references is None:
        _expect(not pillars, "pillars", "False, since there are no references", pillars)
        return "none", 0
    _expect_type("references", references, (locations.dtype,))
    rows, shape = (sizes.batch, sizes.queries), tuple(references.shape)
    fits = len(shape) == 4 and shape[:2] == rows and shape[2] >= 1
    if pillars:
        _expect(fits and shape[3] == 2, "references", f"shape ({rows[0]}, {rows[1]}, Z, 2), since they are pillars", shape)
        return "pillars", shape[2]
    _expect(
        fits and shape[2] in (1, sizes.levels) and shape[3] in (2, 4),
        "references",
        f"shape ({rows[0]}, {rows[1]}, {sizes.levels} or 1, 2 for points or 4 for boxes)",
        shape,
    )
    return "boxes" if shape[3] == 4 else "points", shape[2]


def check_devices(**tensors: torch.Tensor | None) -> None:
    """Checks that all tensors lie where value does."""
    home = tensors["value"].device
    for argument, tensor in tensors.items():
        if tensor is not None:
            _expect(tensor.device == home, argument, f"a tensor on {home}, as value", f"one on {tensor.device}")


def check_layout(**tensors: torch.Tensor | None) -> None:
    """Checks that all tensors lie on one device, value with its last dimension contiguous and the others dense."""
    check_devices(**tensors)
    for argument, tensor in tensors.items():
        if tensor is None:
            continue
        if argument != "value":
            _expect(tensor.is_contiguous(), argument, "a contiguous tensor", f"strides {tensor.stride()}; call .contiguous()")
        elif tensor.numel() > 0 and tensor.shape[-1] > 1:
            expected = "the last dimension contiguous (the others may have strides)"
            _expect(tensor.stride(-1) == 1, "value", expected, f"strides {tensor.stride()}; call .contiguous()")


def output_type(value: torch.Tensor, wanted: torch.dtype | None) -> torch.dtype:
    """The type of the output: the value's, or the 16-bit one that was asked for with 8-bit values."""
    if value.dtype != torch.float8_e4m3fn:
        if wanted not in (None, value.dtype):
            raise TypeError(f"output_type: expected {value.dtype}, the value's, got {wanted}")
        return value.dtype
    if wanted not in (None, torch.float16, torch.bfloat16):
        raise TypeError(f"output_type: expected float16 or bfloat16 for 8-bit values, got {wanted}")
    return wanted or torch.bfloat16


def check_scales(value: torch.Tensor, scales: torch.Tensor | None) -> None:
    """Scales come with 8-bit values, one a head, and only with them."""
    if value.dtype != torch.float8_e4m3fn:
        _expect(scales is None, "scales", "none, since value is not float8_e4m3fn", "a tensor")
        return
    _expect(scales is not None, "scales", "a float32 tensor (M), since value is float8_e4m3fn", None)
    _expect_type("scales", scales, (torch.float32,))
    _expect(tuple(scales.shape) == (value.shape[2],), "scales", f"shape ({value.shape[2]},)", _shape(scales))

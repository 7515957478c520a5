"""Level sizes as host integers, from whatever the caller holds them in.

A tensor on a GPU is read once, which waits for its stream, and remembered by weak reference and version: an address that another tensor
takes over, or a change in place, is seen. Tensors on the host are read at every call, which waits for nothing.
"""

from __future__ import annotations

import functools
import weakref

import torch

from .errors import Error

_read: dict = {}  # id of a tensor -> (weak reference, version, numbers)


def _numbers(argument: str, tensor: torch.Tensor) -> tuple:
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise TypeError(f"{argument}: expected an integer tensor, got {tensor.dtype}")
    if tensor.device.type == "cpu":
        return tuple(tensor.flatten().tolist())
    known = _read.get(id(tensor))
    # An inference tensor counts no versions, so what it holds now can only be known by reading it.
    tracked = not tensor.is_inference()
    if known is not None and tracked and known[0]() is tensor and known[1] == tensor._version:
        return known[2]
    if torch.cuda.is_current_stream_capturing():
        raise Error(
            f"{argument}: its content is not known yet and cannot be read while the stream is captured; "
            "pass levels as host integers, or call once with this tensor before the capture",
            "not_prepared",
        )
    numbers = tuple(tensor.flatten().tolist())
    if tracked:
        key = id(tensor)
        _read[key] = (weakref.ref(tensor, lambda gone: _forget(key, gone)), tensor._version, numbers)
    return numbers


def _forget(key: int, gone) -> None:
    known = _read.get(key)
    if known is not None and known[0] is gone:
        del _read[key]


@functools.lru_cache(maxsize=4096)
def _canonical(shapes: tuple, starts: tuple) -> tuple:
    """(shapes, starts), with starts () where each level follows the one before."""
    expected, start = [], 0
    for height, width in zip(shapes[::2], shapes[1::2], strict=True):
        expected.append(start)
        start += height * width
    return shapes, () if starts == tuple(expected) else starts


def from_tensors(spatial_shapes, level_start_index=None, names: tuple = ("value_spatial_shapes", "value_level_start_index")) -> tuple:
    """(shapes, starts), flat, of an integer tensor (L, 2) of heights and widths and one (L) of first pixels.

    ``names``: what the caller calls them, for messages.
    """
    if spatial_shapes.dim() != 2 or spatial_shapes.shape[1] != 2:
        raise ValueError(f"{names[0]}: expected shape (L, 2), got {tuple(spatial_shapes.shape)}")
    shapes = _numbers(names[0], spatial_shapes)
    if level_start_index is None:
        return shapes, ()
    if level_start_index.dim() != 1 or level_start_index.shape[0] != spatial_shapes.shape[0]:
        raise ValueError(f"{names[1]}: expected shape ({spatial_shapes.shape[0]},), got {tuple(level_start_index.shape)}")
    return _canonical(shapes, _numbers(names[1], level_start_index))


def flatten(levels) -> tuple:
    shapes, starts = [], []
    for level in levels:
        if len(level) not in (2, 3):
            raise ValueError(f"levels: expected (height, width) or (height, width, start) for each level, got {level}")
        shapes += level[:2]
        starts += level[2:]
    if len(starts) not in (0, len(shapes) // 2):
        raise ValueError(f"levels: expected a start for every level or for none, got {levels}")
    return tuple(shapes), tuple(starts)


@functools.lru_cache(maxsize=4096)
def _flatten_known(levels: tuple) -> tuple:
    shapes, starts = flatten(levels)
    return _canonical(shapes, starts) if starts else (shapes, ())


def from_host(levels) -> tuple:
    """(shapes, starts), flat, of a sequence of (height, width) or (height, width, start)."""
    try:
        return _flatten_known(tuple(levels))
    except TypeError:  # levels that are lists cannot be looked up
        return flatten(levels)

"""Autocast: the value in the autocast type, the other tensors as they are where that is f32 or the value's type, else f32."""

from __future__ import annotations

import torch


def _companion(tensor, value):
    return tensor if tensor.dtype in (torch.float32, value.dtype) else tensor.float()


def _cast(device_type: str, value, locations, weights):
    wanted = torch.get_autocast_dtype(device_type)
    if value.dtype in (torch.float32, torch.float16, torch.bfloat16):
        value = value.to(wanted)
    return value, _companion(locations, value), _companion(weights, value)


def register(library, forward, forward_levels, device_type: str, key: str) -> None:
    keys = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))
    without_autocast = torch._C._ExcludeDispatchKeyGuard

    def of_forward(value, locations, weights, *rest):
        value, locations, weights = _cast(device_type, value, locations, weights)
        if len(rest) > 8 and rest[8] is not None:  # references have the type of the locations
            rest = (*rest[:8], rest[8].to(locations.dtype), *rest[9:])
        with without_autocast(keys):
            return forward(value, locations, weights, *rest)

    def of_forward_levels(value, shapes, starts, locations, weights):
        value, locations, weights = _cast(device_type, value, locations, weights)
        with without_autocast(keys):
            return forward_levels(value, shapes, starts, locations, weights)

    library.impl("forward", of_forward, key)
    library.impl("forward.levels", of_forward_levels, key)

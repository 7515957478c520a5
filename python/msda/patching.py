"""patch(model): makes a transformers, mmcv or Deformable-DETR model use the operator, in place; unpatch(model) takes it back.

Each module keeps its class, parameters and state dict. Its forward gets an instance attribute: either the operator itself, where the module
is nothing but the sampling, or the class's own forward with the sampling function that it calls replaced. Other models of the same class
are not touched.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable

from torch import nn

from . import _clients

# Functions that models call, by the name they go by where the model is defined.
_REPLACEMENTS: dict[str, object] = {
    # mmcv, and what BEVFormer and its descendants copied from it
    "MultiScaleDeformableAttnFunction": _clients.AttentionFunction,
    "MultiScaleDeformableAttnFunction_fp16": _clients.AttentionFunction,
    "MultiScaleDeformableAttnFunction_fp32": _clients.AttentionFunction,
    "multi_scale_deformable_attn_pytorch": _clients.attend_dense,
    # Deformable-DETR, Mask2Former, DINO
    "MSDeformAttnFunction": _clients.AttentionFunction,
    "ms_deform_attn_core_pytorch": _clients.attend_dense,
    # transformers
    "multi_scale_deformable_attention": _clients.attend_dense,
    "multi_scale_deformable_attention_v2": _clients.attend_ragged,
}
_STATE = "_msda_patched"  # in the dictionary of a patched module: its attributes before, by name


def patch(model: nn.Module) -> list[str]:
    """Patches every module of ``model`` that samples and returns their names. Safe to repeat.

    Raises ValueError where the model has none, so that a model that would go on as before is not taken for a patched one.
    """
    names = [name for name, module in model.named_modules() if _patch_module(module)]
    if not names:
        raise ValueError(f"model: expected a module that does multi-scale deformable attention, found none in {type(model).__name__}")
    return names


def unpatch(model: nn.Module) -> list[str]:
    """Undoes patch() and returns the names of the modules that it was undone in."""
    names = []
    for name, module in model.named_modules():
        before = module.__dict__.pop(_STATE, None)
        if before is None:
            continue
        for attribute, function in before.items():
            if function is None:
                del module.__dict__[attribute]
            else:
                module.__dict__[attribute] = function
        names.append(name)
    return names


def _patch_module(module: nn.Module) -> bool:
    if _STATE in module.__dict__:
        return True
    before = {}
    for attribute, function in list(module.__dict__.items()):
        if isinstance(function, types.FunctionType) and function.__name__ in _REPLACEMENTS:
            before[attribute] = function
            module.__dict__[attribute] = _REPLACEMENTS[function.__name__]
    if "forward" not in module.__dict__ and _forward_of(type(module)) is not None:
        before["forward"] = None
        # A partial of a function that can be imported: models stay picklable and deepcopy gives the copy a forward of its own.
        module.__dict__["forward"] = functools.partial(_patched_forward, module)
    if before:
        module.__dict__[_STATE] = before
    return bool(before)


def _patched_forward(module: nn.Module, *args, **kwargs):
    return _forward_of(type(module))(module, *args, **kwargs)


@functools.cache
def _forward_of(kind: type) -> Callable | None:
    """The forward of a patched module of this class; None where it does not sample."""
    forward = kind.forward
    if not isinstance(forward, types.FunctionType):
        return None
    if kind.__name__ == "MultiScaleDeformableAttention" and _parameters(forward) == _parameters(_clients.attend_module)[1:]:
        return _clients.attend_module
    rebound = _rebind(forward)
    return None if rebound is forward else rebound


def _parameters(function: Callable) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def _content(cell: types.CellType):
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _rebind(function: types.FunctionType) -> types.FunctionType:
    """The function with those globals that are to be replaced, also inside decorators; the same one where there are none."""
    found = {
        name: _REPLACEMENTS[name]
        for name in function.__code__.co_names
        if name in _REPLACEMENTS and callable(getattr(function.__globals__.get(name), "apply", function.__globals__.get(name)))
    }
    cells, changed = [], bool(found)
    for cell in function.__closure__ or ():
        inner = _content(cell)
        if isinstance(inner, types.FunctionType) and (bound := _rebind(inner)) is not inner:
            cell, changed = types.CellType(bound), True
        cells.append(cell)
    if not changed:
        return function
    rebound = types.FunctionType(
        function.__code__, {**function.__globals__, **found}, function.__name__, function.__defaults__, tuple(cells) or None
    )
    rebound.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(rebound, function)

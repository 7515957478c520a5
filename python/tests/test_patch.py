"""patch() and unpatch() on models that sample as mmcv's and Deformable-DETR's do."""

import copy
import functools
import pickle
import sys
import types

import pytest
import torch
from torch import nn

import msda
from reference import attention, draw

SOURCE = """
import functools
import torch
from torch import nn
from reference import attention

calls = []


class MSDeformAttnFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, shapes, starts, locations, weights, step):
        calls.append("extension")
        return attention(value, shapes.tolist(), locations, weights)


def multi_scale_deformable_attn_pytorch(value, shapes, locations, weights):
    calls.append("pytorch")
    return attention(value, shapes.tolist(), locations, weights)


def renamed_arguments(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)
    return wrapper


class Extension(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, value, shapes, starts, locations, weights, *, factor=1.0):
        return factor * MSDeformAttnFunction.apply(value * self.scale, shapes, starts, locations, weights, 64)


class Fallback(nn.Module):
    @renamed_arguments
    def forward(self, value, shapes, starts, locations, weights):
        return multi_scale_deformable_attn_pytorch(value, shapes, locations, weights)


class Attribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = multi_scale_deformable_attn_pytorch

    def forward(self, value, shapes, starts, locations, weights):
        return self.core(value, shapes, locations, weights)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.other = Extension(), Fallback(), Attribute(), nn.Linear(2, 2)

    def forward(self, *inputs):
        return self.a(*inputs) + self.b(*inputs) + self.c(*inputs)
"""


@pytest.fixture
def clients(monkeypatch):
    module = types.ModuleType("a_client")
    monkeypatch.setitem(sys.modules, "a_client", module)
    exec(compile(SOURCE, "a_client.py", "exec"), module.__dict__)
    return module


@pytest.fixture
def inputs():
    value, levels, locations, weights = draw()
    return value, torch.tensor(levels), torch.tensor([0, 24]), locations, weights


def test_only_this_model_is_patched(clients, inputs):
    model, other = clients.Model(), clients.Model()
    expected = model(*inputs)
    assert clients.calls == ["extension", "pytorch", "pytorch"]
    assert msda.patch(model) == ["a", "b", "c"]
    clients.calls.clear()
    torch.testing.assert_close(model(*inputs), expected)
    assert clients.calls == []
    other(*inputs)
    assert clients.calls == ["extension", "pytorch", "pytorch"]


def test_keyword_arguments_stay(clients, inputs):
    module = clients.Extension()
    msda.patch(module)
    torch.testing.assert_close(module(*inputs, factor=2.0), 2 * attention(inputs[0], inputs[1].tolist(), *inputs[3:]))


def test_patching_twice_and_back(clients, inputs):
    model = clients.Model()
    before = {name: dict(module.__dict__) for name, module in model.named_modules()}
    assert msda.patch(model) == msda.patch(model) == ["a", "b", "c"]
    assert msda.unpatch(model) == ["a", "b", "c"]
    assert msda.unpatch(model) == []
    assert {name: dict(module.__dict__) for name, module in model.named_modules()} == before
    model(*inputs)
    assert clients.calls == ["extension", "pytorch", "pytorch"]


def test_state_dict_and_training_are_untouched(clients, inputs):
    model = clients.Model()
    names = list(model.state_dict())
    msda.patch(model)
    assert list(model.state_dict()) == names
    model(*inputs).sum().backward()
    assert model.a.scale.grad is not None


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_patched_and_use_their_own_parameters(clients, inputs, duplicate):
    model = clients.Model()
    msda.patch(model)
    twin = duplicate(model)
    twin.a.scale.data.fill_(0)
    value, shapes, _, locations, weights = inputs
    one = attention(value, shapes.tolist(), locations, weights)
    torch.testing.assert_close(model(*inputs), 3 * one)
    torch.testing.assert_close(twin(*inputs), 2 * one)
    assert clients.calls == []
    msda.unpatch(twin)
    twin(*inputs)
    assert clients.calls == ["extension", "pytorch", "pytorch"]


def test_a_model_without_attention_is_an_error():
    with pytest.raises(ValueError, match="^model: expected .* found none in Linear"):
        msda.patch(nn.Linear(2, 2))


def test_a_forward_that_somebody_else_replaced_is_left_alone(clients):
    module = clients.Extension()
    module.forward = functools.partial(print, "mine")
    with pytest.raises(ValueError, match="found none"):
        msda.patch(module)


def test_hooks_still_run(clients, inputs):
    module = clients.Extension()
    msda.patch(module)
    seen = []
    module.register_forward_hook(lambda *_: seen.append("after"))
    module(*inputs)
    assert seen == ["after"]

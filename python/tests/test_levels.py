"""Level sizes in tensors: read once, remembered by identity and version, never read while a stream is captured."""

import gc

import pytest
import torch

import msda
from msda import _levels


class OnGpu:
    """A tensor that says it lies on a GPU and counts how often it is read."""

    def __init__(self, tensor):
        self.tensor, self.reads = tensor, 0
        self.device = torch.device("cuda", 0)

    def __getattr__(self, name):
        return getattr(self.tensor, name)

    def flatten(self):
        self.reads += 1
        return self.tensor.flatten()


@pytest.fixture(autouse=True)
def capturing(monkeypatch):
    state = {"capturing": False}
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: state["capturing"])
    monkeypatch.setattr(_levels, "_read", {})
    return state


def test_a_tensor_is_read_once():
    shapes = OnGpu(torch.tensor([[6, 4], [3, 5]]))
    assert [_levels.from_tensors(shapes)[0] for _ in range(3)] == [(6, 4, 3, 5)] * 3
    assert shapes.reads == 1


def test_a_change_in_place_is_seen():
    shapes = OnGpu(torch.tensor([[6, 4], [3, 5]]))
    _levels.from_tensors(shapes)
    shapes.tensor[0, 0] = 2
    assert _levels.from_tensors(shapes)[0] == (2, 4, 3, 5)
    view = shapes.tensor[1]
    view += 1  # through a view, too
    assert _levels.from_tensors(shapes)[0] == (2, 4, 4, 6)
    assert shapes.reads == 3


def test_another_tensor_at_the_same_address_is_another():
    for height in range(2, 50):
        shapes = OnGpu(torch.tensor([[height, 4]]))
        assert _levels.from_tensors(shapes)[0] == (height, 4)
        del shapes  # CPython gives the next object this one's id
    gc.collect()
    assert not _levels._read


def test_inference_tensors_are_read_each_time():
    with torch.inference_mode():
        shapes = OnGpu(torch.tensor([[6, 4]]))
        for height in (6, 7):
            shapes.tensor[0, 0] = height
            assert _levels.from_tensors(shapes)[0] == (height, 4)


def test_a_miss_during_capture_is_an_error_and_a_hit_is_served(capturing):
    known, unknown = OnGpu(torch.tensor([[6, 4]])), OnGpu(torch.tensor([[6, 4]]))
    _levels.from_tensors(known)
    capturing["capturing"] = True
    assert _levels.from_tensors(known)[0] == (6, 4)
    with pytest.raises(msda.Error, match="value_spatial_shapes: .*captured") as caught:
        _levels.from_tensors(unknown)
    assert caught.value.code == "not_prepared" and unknown.reads == 0


def test_host_tensors_are_read_each_time_since_reading_costs_nothing():
    shapes = torch.tensor([[6, 4]])
    alias = shapes.numpy()  # whose writes no version counts
    assert _levels.from_tensors(shapes)[0] == (6, 4)
    alias[0, 0] = 9
    assert _levels.from_tensors(shapes)[0] == (9, 4)


def test_starts_that_only_follow_each_other_are_left_out():
    shapes = torch.tensor([[6, 4], [3, 5]])
    assert _levels.from_tensors(shapes, torch.tensor([0, 24])) == ((6, 4, 3, 5), ())
    assert _levels.from_tensors(shapes, torch.tensor([15, 0])) == ((6, 4, 3, 5), (15, 0))
    assert _levels.from_host([(6, 4, 0), (3, 5, 24)]) == ((6, 4, 3, 5), ())


@pytest.mark.parametrize(
    ("shapes", "starts", "argument", "kind"),
    [
        ([[6, 4, 0]], [0], "value_spatial_shapes", ValueError),
        ([[6, 4]], [0, 24], "value_level_start_index", ValueError),
        ([[6, 4]], [0.0], "value_level_start_index", TypeError),
        ([[True, True]], [0], "value_spatial_shapes", TypeError),
    ],
)
def test_wrong_tensors(shapes, starts, argument, kind):
    with pytest.raises(kind, match=argument):
        _levels.from_tensors(torch.tensor(shapes), torch.tensor(starts))

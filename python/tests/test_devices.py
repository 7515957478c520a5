"""Which device and stream a call uses, seen with a fake library: cuda:1 while cuda:0 is current, streams, captures, scratch memory."""

import ctypes
import struct

import pytest
import torch

import msda
from msda import _library, _prepared


class OnGpu:
    """A tensor that says it lies on cuda:ordinal."""

    def __init__(self, tensor, ordinal):
        self.tensor, self.device = tensor, torch.device("cuda", ordinal)

    def __getattr__(self, name):
        return getattr(self.tensor, name)

    def get_device(self):
        return self.device.index


class FakeLibrary:
    """Records what is prepared and launched; `status` is what the next preparation answers."""

    def __init__(self):
        self.prepared, self.launched, self.destroyed, self.scratch, self.status = [], [], [], 0, 0

    def msda_problem_create(self, fields, problem):
        self.fields = _library.ProblemFields.from_buffer_copy(fields._obj)
        problem._obj.value = 1
        return 0

    def msda_problem_destroy(self, problem):
        pass

    def msda_prepare(self, runtime, problem, device, options, handle):
        self.prepared.append((device, options._obj.has_stream, options._obj.stream))
        handle._obj.value = len(self.prepared)
        return self.status

    def msda_operator_destroy(self, handle):
        self.destroyed.append(handle)

    def msda_operator_workspace_bytes(self, handle):
        return self.scratch

    def msda_launch(self, handle, tensors, stream):
        self.launched.append((handle, dict(zip(("size", *_library.TENSORS), struct.unpack("@13N", tensors), strict=True)), stream))
        return 0

    def msda_error_message(self):
        return b"problem was not prepared"

    def msda_status_name(self, status):
        return b"not_prepared"

    def msda_error_log(self):
        return b""


@pytest.fixture
def fake(monkeypatch):
    library = FakeLibrary()
    library.allocated = []

    def template(shape, dtype, device):
        library.allocated.append((tuple(shape), dtype, device))
        return torch.empty(1, dtype=dtype).expand(shape)

    monkeypatch.setattr(_library, "library", lambda: library)
    monkeypatch.setattr(_prepared, "template", template)
    monkeypatch.setattr(_prepared, "_stream", lambda ordinal: 1000 + ordinal)
    monkeypatch.setattr(_prepared, "_forwards", {})
    monkeypatch.setattr(_prepared, "_backwards", {})
    yield library
    _prepared._forwards.clear()
    _prepared._backwards.clear()


def tensors(ordinals=(1, 1, 1), queries=5):
    shapes = ((2, 39, 3, 4), (2, queries, 3, 2, 2, 2), (2, queries, 3, 2, 2))
    return [OnGpu(torch.zeros(shape), ordinal) for shape, ordinal in zip(shapes, ordinals, strict=True)]


LEVELS = (6, 4, 3, 5)


def test_the_device_of_the_tensors_and_its_stream(fake):
    for ordinal in (1, 0, 1):
        _prepared.forward(*tensors((ordinal,) * 3), LEVELS)
    assert fake.prepared == [(1, 1, 1001), (0, 1, 1000)]
    assert [(handle, stream) for handle, _, stream in fake.launched] == [(1, 1001), (2, 1000), (1, 1001)]
    assert [device.index for _, _, device in fake.allocated] == [1, 0]


def test_tensors_on_two_gpus_are_refused(fake):
    for ordinals, argument in [((1, 0, 1), "locations"), ((0, 0, 1), "weights")]:
        with pytest.raises(ValueError, match=rf"^{argument}: expected a tensor on cuda:{ordinals[0]}, as value"):
            _prepared.forward(*tensors(ordinals), LEVELS)
    assert not fake.prepared and not fake.launched


def test_addresses_and_scratch_of_both_passes(fake):
    fake.scratch = 4096
    value, locations, weights = tensors()
    output = _prepared.forward(value, locations, weights, LEVELS)
    _, addresses, _ = fake.launched[-1]
    assert addresses["size"] == ctypes.sizeof(ctypes.c_void_p) * 13
    assert addresses["value"] == value.data_ptr() and addresses["locations"] == locations.data_ptr()
    assert addresses["weights"] == weights.data_ptr() and addresses["output"] == output.data_ptr()
    assert addresses["workspace"] and not addresses["grad_output"]
    grad = OnGpu(torch.zeros(2, 5, 12), 1)
    got = _prepared.backward(grad, value, locations, weights, LEVELS, mask=(True, False, True, False))
    _, addresses, _ = fake.launched[-1]
    assert addresses["grad_output"] == grad.data_ptr() and addresses["grad_value"] == got[0].data_ptr()
    assert got[1] is None and not addresses["grad_locations"] and addresses["grad_weights"] == got[2].data_ptr()
    assert fake.fields.gradients == _library.GRADIENT_VALUE | _library.GRADIENT_WEIGHT
    assert fake.fields.pass_ == _library.BACKWARD


def test_what_is_prepared_once_is_launched_from_then_on(fake):
    for _ in range(5):
        _prepared.forward(*tensors(), LEVELS)
    assert len(fake.prepared) == 1 and len(fake.launched) == 5


@pytest.mark.parametrize("change", ["queries", "levels", "starts", "dtype", "strides", "alignment", "sampling", "softmax"])
def test_whatever_an_operator_depends_on_prepares_another(fake, change):
    value, locations, weights = tensors()
    _prepared.forward(value, locations, weights, LEVELS)
    options = {"levels": LEVELS}
    if change == "queries":
        value, locations, weights = tensors(queries=6)
    elif change == "levels":
        options["levels"] = (3, 8, 3, 5)
    elif change == "starts":
        options["starts"] = (15, 0)
    elif change == "dtype":
        value = OnGpu(value.tensor.half(), 1)
    elif change == "strides":
        value = OnGpu(torch.zeros(2, 39, 2, 3, 4)[:, :, 0], 1)
    elif change == "alignment":
        value = OnGpu(torch.zeros(2 * 39 * 12 + 1)[1:].view(2, 39, 3, 4), 1)
    else:
        options.update({"sampling": {"sampling": "nearest"}, "softmax": {"softmax": True}}[change])
    _prepared.forward(value, locations, weights, options.pop("levels"), **options)
    assert len(fake.prepared) == 2
    if change == "alignment":
        assert fake.fields.alignment == 4


def test_a_miss_during_capture_is_the_librarys_error_and_is_not_remembered(fake):
    fake.status = 8
    with pytest.raises(msda.Error, match="not prepared") as caught:
        _prepared.forward(*tensors(), LEVELS)
    assert caught.value.code == "not_prepared" and not fake.launched
    fake.status = 0
    _prepared.forward(*tensors(), LEVELS)
    assert len(fake.prepared) == 2


def test_operators_are_destroyed_when_they_are_forgotten(fake):
    _prepared.forward(*tensors(), LEVELS)
    _prepared._forwards.clear()
    assert fake.destroyed == [1]

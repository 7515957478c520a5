"""Wrong arguments: each is a TypeError or ValueError whose message begins with the argument's name."""

import numpy
import pytest
import torch

import msda
from reference import draw

attend = msda.multi_scale_deformable_attention

LEVELS = ((6, 4), (3, 5))


def changed(**changes):
    """Valid arguments with some replaced, or changed by a function."""
    value, _, locations, weights = draw(levels=LEVELS)
    arguments = {"value": value, "levels": LEVELS, "locations": locations, "weights": weights}
    for name, change in changes.items():
        arguments[name] = change(arguments[name]) if callable(change) else change
    return arguments


CASES = [
    # dtype
    ("value", TypeError, {"value": lambda t: t.long()}),
    ("value", TypeError, {"value": lambda t: t.to(torch.complex64)}),
    ("locations", TypeError, {"locations": lambda t: t.double()}),
    ("locations", TypeError, {"locations": lambda t: t.half()}),
    ("weights", TypeError, {"weights": lambda t: t.bfloat16()}),
    ("weights", TypeError, {"weights": lambda t: t.int()}),
    ("levels", TypeError, {"levels": torch.tensor([[6.0, 4.0], [3.0, 5.0]])}),
    ("output_type", TypeError, {"output_type": torch.float16}),
    # shape
    ("value", ValueError, {"value": lambda t: t.flatten(2)}),
    ("value", ValueError, {"value": lambda t: t[:, :0]}),
    ("locations", ValueError, {"locations": lambda t: t[0]}),
    ("locations", ValueError, {"locations": lambda t: t[..., :1].contiguous()}),
    ("locations", ValueError, {"locations": lambda t: t[:1]}),
    ("locations", ValueError, {"locations": lambda t: t[:, :, :2].contiguous()}),
    ("locations", ValueError, {"locations": lambda t: t[:, :, :, :1].contiguous()}),
    ("locations", ValueError, {"locations": lambda t: t[..., 0, :].contiguous()}),
    ("locations", ValueError, {"points": (2, 2)}),
    ("weights", ValueError, {"weights": lambda t: t[:, :4].contiguous()}),
    ("weights", ValueError, {"weights": lambda t: t.flatten(3)}),
    ("points", ValueError, {"points": (2, 1, 1), "locations": lambda t: t.flatten(3, 4), "weights": lambda t: t.flatten(3)}),
    ("levels", ValueError, {"levels": ()}),
    ("levels", ValueError, {"levels": [(6,), (3,)]}),
    ("levels", ValueError, {"levels": [(6, 4, 0), (3, 5)]}),
    ("locations", ValueError, {"levels": [(6, 4)]}),
    ("levels", ValueError, {"levels": torch.tensor([6, 4, 3, 5])}),
    # layout
    ("value", ValueError, {"value": lambda t: t.transpose(2, 3).contiguous().transpose(2, 3)}),
    ("locations", ValueError, {"locations": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)}),
    ("weights", ValueError, {"weights": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)}),
    # options
    ("sampling", ValueError, {"sampling": "bicubic"}),
    ("accumulate", ValueError, {"accumulate": "exact"}),
    ("scales", ValueError, {"scales": torch.ones(3)}),
    ("scales", ValueError, {"value": lambda t: t.to(torch.float8_e4m3fn)}),
    ("scales", ValueError, {"value": lambda t: t.to(torch.float8_e4m3fn), "scales": torch.ones(4)}),
    ("scales", TypeError, {"value": lambda t: t.to(torch.float8_e4m3fn), "scales": torch.ones(3, dtype=torch.float64)}),
]


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize(("argument", "kind", "changes"), CASES)
def test_message_names_the_argument(argument, kind, changes, gradient):
    arguments = changed(**changes)
    if gradient:
        arguments["weights"] = arguments["weights"].clone().requires_grad_(arguments["weights"].is_floating_point())
    with pytest.raises(kind, match=rf"^{argument}\b.*expected .*got"):
        attend(**arguments)


@pytest.mark.parametrize("argument", ["value", "locations", "weights"])
@pytest.mark.parametrize("wrong", [None, 1.0, numpy.zeros((2, 5, 3, 2, 2), dtype=numpy.float32)])
def test_what_is_no_tensor(argument, wrong):
    with pytest.raises((TypeError, RuntimeError), match=rf"'?{argument}'?"):
        attend(**changed(**{argument: wrong}))


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ([(6, 4), (4, 5)], "ends at pixel 44.*at most S = 39"),
        ([(6, 4), (3, 5, 25)], "levels: expected a start for every level"),
        ([(6, 4, 0), (3, 5, 25)], "at most S = 39"),
        ([(6, 4), (0, 5)], "level 1"),
        ([(6, 4), (-3, -5)], "level 1"),
    ],
)
def test_levels_that_do_not_fit_the_value(levels, said):
    with pytest.raises(ValueError, match=said):
        attend(**changed(levels=levels))


def test_errors_of_the_library_are_value_errors_with_a_code():
    with pytest.raises(msda.InvalidInput) as caught:
        attend(**changed(levels=[(6, 4), (4, 5)]))
    assert caught.value.code == "invalid_problem" and isinstance(caught.value, msda.Error)


def test_8_bit_values_take_no_gradient():
    arguments = changed(value=lambda t: t.to(torch.float8_e4m3fn).requires_grad_(), scales=torch.ones(3))
    with pytest.raises(TypeError, match=r"^value: expected one that requires no gradient"):
        attend(**arguments)
    arguments = changed(value=lambda t: t.to(torch.float8_e4m3fn), scales=torch.ones(3, requires_grad=True))
    with pytest.raises(ValueError, match=r"^scales: expected a tensor that requires no gradient"):
        attend(**arguments)


def test_a_gradient_of_the_wrong_shape_or_type():
    value, _, locations, weights = draw(levels=LEVELS)
    mask = (True, True, True)
    with pytest.raises(ValueError, match=r"^grad: expected shape \(2, 5, 12\)"):
        torch.ops.msda.backward(torch.ones(2, 5, 3, 4), value, locations, weights, [6, 4, 3, 5], mask=mask)
    with pytest.raises(TypeError, match=r"^grad: expected dtype"):
        torch.ops.msda.backward(torch.ones(2, 5, 12).double(), value, locations, weights, [6, 4, 3, 5], mask=mask)


def test_the_same_mistake_is_found_again():
    for _ in range(2):
        with pytest.raises(ValueError, match="^weights"):
            attend(**changed(weights=lambda t: t.flatten(3)))


def test_the_fake_kernel_finds_mistakes_too():
    arguments = {name: a.to("meta") if isinstance(a, torch.Tensor) else a for name, a in changed(weights=lambda t: t.flatten(3)).items()}
    with pytest.raises(ValueError, match="^weights"):
        attend(**arguments)


def test_tensors_on_several_devices():
    arguments = changed(locations=lambda t: t.to("meta"))
    with pytest.raises(ValueError, match="^locations: expected"):
        attend(**arguments)


@pytest.mark.gpu
@pytest.mark.parametrize("argument", ["value", "locations", "weights"])
def test_host_and_gpu_mixed(argument):
    arguments = {name: a.cuda() if isinstance(a, torch.Tensor) else a for name, a in changed().items()}
    arguments[argument] = arguments[argument].cpu()
    with pytest.raises(ValueError, match=r"^(locations|weights): expected a tensor on c.*, as value, got one on c"):
        attend(**arguments)

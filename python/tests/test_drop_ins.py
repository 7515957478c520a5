"""The functions with the signatures of mmcv and Deformable-DETR, called as those projects call them."""

import math

import pytest
import torch

import msda
from msda import deformable_detr, mmcv
from reference import attention, draw


def inputs(**options):
    value, levels, locations, weights = draw(**options)
    starts = [0]
    for height, width in levels[:-1]:
        starts.append(starts[-1] + height * width)
    return value, torch.tensor(levels), torch.tensor(starts), locations, weights


@pytest.mark.parametrize("function", [mmcv.MultiScaleDeformableAttnFunction, deformable_detr.MSDeformAttnFunction])
def test_apply(function):
    value, shapes, starts, locations, weights = inputs()
    got = [t.clone().requires_grad_() for t in (value, locations, weights)]
    expected = [t.clone().requires_grad_() for t in (value, locations, weights)]
    output = function.apply(got[0], shapes, starts, got[1], got[2], 64)
    wanted = attention(expected[0], shapes.tolist(), *expected[1:])
    torch.testing.assert_close(output, wanted)
    output.square().sum().backward()
    wanted.square().sum().backward()
    for a, b in zip(got, expected, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("batch", [1, 3, 65])
@pytest.mark.parametrize("step", [1, 2, 64])
def test_im2col_step_rules_nothing(batch, step):
    value, shapes, starts, locations, weights = inputs(batch=batch, queries=2)
    output = mmcv.ms_deform_attn_forward(value, shapes, starts, locations, weights, im2col_step=step)
    torch.testing.assert_close(output, attention(value, shapes.tolist(), locations, weights))


def gradients(value, shapes, locations, weights, grad):
    leaves = [t.clone().requires_grad_() for t in (value, locations, weights)]
    return torch.autograd.grad(attention(leaves[0], shapes.tolist(), *leaves[1:]), leaves, grad)


def test_mmcvs_two_functions():
    value, shapes, starts, locations, weights = inputs(dtype=torch.float64)
    output = mmcv.ms_deform_attn_forward(value, shapes, starts, locations, weights, im2col_step=64)
    grad = torch.randn_like(output)
    into = [torch.zeros_like(t) for t in (value, locations, weights)]
    assert mmcv.ms_deform_attn_backward(value, shapes, starts, locations, weights, grad, *into, im2col_step=64) is None
    for got, expected in zip(into, gradients(value, shapes, locations, weights, grad), strict=True):
        torch.testing.assert_close(got, expected)


def test_deformable_detrs_two_functions():
    value, shapes, starts, locations, weights = inputs(dtype=torch.float64)
    output = deformable_detr.ms_deform_attn_forward(value, shapes, starts, locations, weights, 64)
    grad = torch.randn_like(output)
    got = deformable_detr.ms_deform_attn_backward(value, shapes, starts, locations, weights, grad, 64)
    for a, b in zip(got, gradients(value, shapes, locations, weights, grad), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize(
    ("position", "argument", "change"),
    [
        (0, "grad_value", lambda t: t.double()),
        (1, "grad_sampling_loc", lambda t: t[..., :1].contiguous()),
        (2, "grad_attn_weight", lambda t: t.transpose(1, 2).contiguous().transpose(1, 2)),
    ],
)
def test_mmcvs_backward_checks_where_it_writes(position, argument, change):
    value, shapes, starts, locations, weights = inputs()
    into = [torch.zeros_like(t) for t in (value, locations, weights)]
    into[position] = change(into[position])
    with pytest.raises(ValueError, match=f"^{argument}: expected"):
        mmcv.ms_deform_attn_backward(value, shapes, starts, locations, weights, torch.ones(2, 5, 12), *into)


@pytest.mark.parametrize("function", [mmcv.multi_scale_deformable_attn_pytorch, deformable_detr.ms_deform_attn_core_pytorch])
def test_pytorch_functions_take_any_strides(function):
    value, shapes, _, locations, weights = inputs()
    expected = attention(value, shapes.tolist(), locations, weights)
    strided = [t.transpose(0, -1).contiguous().transpose(0, -1) for t in (value, locations, weights)]
    assert not any(t.is_contiguous() for t in strided)
    torch.testing.assert_close(function(strided[0], shapes, *strided[1:]), expected)


def test_levels_of_locations_that_are_not_those_given():
    value, shapes, starts, locations, weights = inputs()
    with pytest.raises(ValueError, match=r"^locations: .*with 1 levels"):
        mmcv.MultiScaleDeformableAttnFunction.apply(value, shapes[:1], starts[:1], locations, weights, 64)


def test_half_precision_locations_of_float32_values():
    value, shapes, starts, locations, weights = inputs()
    got = mmcv.MultiScaleDeformableAttnFunction.apply(value, shapes, starts, locations.half(), weights.bfloat16(), 64)
    expected = attention(value, shapes.tolist(), locations.half().float(), weights.bfloat16().float())
    torch.testing.assert_close(got, expected)


class TestModule:
    """MSDeformAttn against Deformable-DETR's formulas."""

    LEVELS = ((6, 4), (3, 5))

    def module(self):
        return msda.MSDeformAttn(d_model=24, n_levels=2, n_heads=3, n_points=2)

    def run(self, module, columns, shapes=None, mask=None):
        generator = torch.Generator().manual_seed(5)
        query = torch.randn(2, 7, 24, generator=generator)
        reference = torch.rand(2, 7, 2, columns, generator=generator)
        flat = torch.randn(2, 39, 24, generator=generator)
        shapes = torch.tensor(self.LEVELS) if shapes is None else shapes
        return query, reference, flat, module(query, reference, flat, shapes, torch.tensor([0, 24]), mask)

    @pytest.mark.parametrize("columns", [2, 4])
    def test_output(self, columns):
        module = self.module()
        torch.nn.init.normal_(module.sampling_offsets.weight, std=0.1)
        torch.nn.init.normal_(module.attention_weights.weight)
        mask = torch.zeros(2, 39, dtype=torch.bool)
        mask[:, 30:] = True
        query, reference, flat, output = self.run(module, columns, mask=mask)
        value = module.value_proj(flat).masked_fill(mask[..., None], 0).view(2, 39, 3, 8)
        offsets = module.sampling_offsets(query).view(2, 7, 3, 2, 2, 2)
        weights = module.attention_weights(query).view(2, 7, 3, 4).softmax(-1).view(2, 7, 3, 2, 2)
        if columns == 2:
            size = torch.tensor([(w, h) for h, w in self.LEVELS])
            locations = reference[:, :, None, :, None] + offsets / size[:, None]
        else:
            locations = reference[:, :, None, :, None, :2] + offsets / 2 * reference[:, :, None, :, None, 2:] * 0.5
        torch.testing.assert_close(output, module.output_proj(attention(value, self.LEVELS, locations, weights)))

    def test_levels_on_the_host(self):
        module = self.module()
        assert torch.equal(self.run(module, 2)[3], self.run(module, 2, shapes=list(self.LEVELS))[3])

    def test_parameters_are_deformable_detrs(self):
        module = self.module()
        assert {name: tuple(p.shape) for name, p in module.state_dict().items()} == {
            "sampling_offsets.weight": (24, 24), "sampling_offsets.bias": (24,),
            "attention_weights.weight": (12, 24), "attention_weights.bias": (12,),
            "value_proj.weight": (24, 24), "value_proj.bias": (24,),
            "output_proj.weight": (24, 24), "output_proj.bias": (24,),
        }  # fmt: skip

    def test_initial_offsets_point_outwards(self):
        bias = msda.MSDeformAttn(32, 2, 8, 3).sampling_offsets.bias.view(8, 2, 3, 2)
        for head in range(8):
            x, y = math.cos(head * math.pi / 4), math.sin(head * math.pi / 4)
            largest = max(abs(x), abs(y))
            for point in range(3):
                expected = torch.tensor([x, y]) / largest * (point + 1)
                torch.testing.assert_close(bias[head, :, point], expected.expand(2, 2))

    @pytest.mark.parametrize("columns", [1, 3])
    def test_wrong_references(self, columns):
        with pytest.raises(ValueError, match="^reference_points: expected 2 or 4"):
            self.run(self.module(), columns)

    def test_wrong_sizes(self):
        with pytest.raises(ValueError, match="^d_model: expected a multiple of n_heads = 7"):
            msda.MSDeformAttn(d_model=24, n_heads=7)
        with pytest.warns(UserWarning, match="general kernels"):
            msda.MSDeformAttn(d_model=6, n_heads=3)

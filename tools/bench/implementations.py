"""The implementations of the operator that peers.py compares: how each is imported, what it takes and how it is called. Nothing here computes
anything itself but grid_sample(), the usual composition of PyTorch operators.
"""
import importlib
import importlib.metadata

import torch
from torch.nn import functional

IM2COL_STEP = 64


class Shape:
    """Level sizes on the host and, as most implementations want them, in tensors on the device."""

    def __init__(self, levels, device):
        self.levels = [tuple(level) for level in levels]
        areas = [height * width for height, width in self.levels]
        self.sizes = torch.tensor(self.levels, dtype=torch.int64, device=device)
        self.starts = torch.tensor([sum(areas[:i]) for i in range(len(areas))], dtype=torch.int64, device=device)


class Implementation:
    """One way to compute the operator: value (B, S, M, D), locations (B, Q, M, L, P, 2), weights (B, Q, M, L, P) -> (B, Q, M*D).

    __init__ imports what it needs, and raises where that is missing. pack() makes the tensors it takes, untimed; call() is what is timed,
    differentiable in all of them; gradients() names those of its tensors that are gradients of the operator's own.
    """

    package = "torch"
    on_cpu = False

    def __init__(self, shape):
        self.shape = shape

    def pack(self, value, locations, weights):
        return value, locations.to(value.dtype), weights.to(value.dtype)

    def call(self, value, locations, weights):
        raise NotImplementedError

    def gradients(self, packed):
        return dict(zip(("grad_value", "grad_locations", "grad_weights"), packed))


class Ours(Implementation):
    name, package, on_cpu = "msda-jit", "msda-jit", True
    accumulate = "automatic"

    def __init__(self, shape):
        super().__init__(shape)
        self.attend = importlib.import_module("msda").multi_scale_deformable_attention

    def pack(self, value, locations, weights):
        return value, locations, weights

    def call(self, value, locations, weights):
        return self.attend(value, self.shape.levels, locations, weights, accumulate=self.accumulate)


class OursNative(Ours):
    name, accumulate = "msda-jit, native sums", "native"


def grid_sample(value, locations, weights, levels):
    """What a model does without a kernel of its own: grid_sample level by level, then the weighted sum."""
    batch, _, heads, channels = value.shape
    queries, points = locations.shape[1], locations.shape[4]
    samples, start = [], 0
    for index, (height, width) in enumerate(levels):
        image = value[:, start : start + height * width].permute(0, 2, 3, 1).reshape(batch * heads, channels, height, width)
        grid = (2 * locations[:, :, :, index] - 1).transpose(1, 2).reshape(batch * heads, queries, points, 2)
        samples.append(functional.grid_sample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=False))
        start += height * width
    shares = weights.transpose(1, 2).reshape(batch * heads, 1, queries, -1)
    sums = (torch.cat(samples, dim=-1) * shares).sum(-1)  # over all points of all levels
    return sums.view(batch, heads * channels, queries).transpose(1, 2).contiguous()


class GridSample(Implementation):
    name, on_cpu = "torch grid_sample", True

    def call(self, value, locations, weights):
        return grid_sample(value, locations, weights, self.shape.levels)


class GridSampleCompiled(GridSample):
    name = "torch grid_sample, compiled"

    def __init__(self, shape):
        super().__init__(shape)
        # Timing a backward by itself runs it more than once on the same saved tensors.
        importlib.import_module("torch._functorch.config").donated_buffer = False
        self.compiled = torch.compile(grid_sample, dynamic=False)

    def call(self, value, locations, weights):
        return self.compiled(value, locations, weights, self.shape.levels)


class Transformers(Implementation):
    """The module that Hugging Face's models call; a hub kernel stands in its place only where the models' own loading has put one."""

    name, package, on_cpu = "transformers", "transformers", True

    def __init__(self, shape):
        super().__init__(shape)
        models = importlib.import_module("transformers.models.deformable_detr.modeling_deformable_detr")
        self.module = models.MultiScaleDeformableAttention()

    def call(self, value, locations, weights):
        return self.module(value, self.shape.sizes, self.shape.levels, self.shape.starts, locations, weights, IM2COL_STEP)


class MsdaTriton(Implementation):
    name, package = "msda-triton", "msda-triton"

    def __init__(self, shape):
        super().__init__(shape)
        self.attend = importlib.import_module("msda_triton").multiscale_deformable_attention

    def call(self, value, locations, weights):
        return self.attend(value, self.shape.sizes, locations, weights, "zeros", False).flatten(-2)


class Mmcv(Implementation):
    name, package = "mmcv", "mmcv"

    def __init__(self, shape):
        super().__init__(shape)
        self.attend = importlib.import_module("mmcv.ops.multi_scale_deform_attn").MultiScaleDeformableAttnFunction.apply

    def call(self, value, locations, weights):
        return self.attend(value, self.shape.sizes, self.shape.starts, locations, weights, IM2COL_STEP)


class DcnV4(Implementation):
    """Locations and logits in one 16-bit tensor; the softmax is inside, so the weights go in as logarithms."""

    name, package = "DCNv4 flash", "DCNv4"

    def __init__(self, shape):
        super().__init__(shape)
        self.attend = importlib.import_module("DCNv4.functions").FlashDeformAttnFunction.apply

    def pack(self, value, locations, weights):
        self.points = weights.shape[-1]
        logits = weights.float().clamp_min(1e-8).log().flatten(-2)
        return value, torch.cat([locations.float().flatten(-3), logits], dim=-1).half()

    def call(self, value, both):
        return self.attend(value, self.shape.sizes, self.shape.starts, both, IM2COL_STEP, self.points)

    def gradients(self, packed):
        return {"grad_value": packed[0]}  # that of the weights has gone through the softmax


class DeformOps(Implementation):
    name, package = "deformops", "deformops"

    def __init__(self, shape):
        super().__init__(shape)
        self.attend = importlib.import_module("deformops.library.deform2d_multiscale").forward

    def call(self, value, locations, weights):
        return self.attend(value, self.shape.sizes, self.shape.starts, locations, weights, IM2COL_STEP)


IMPLEMENTATIONS = (Ours, OursNative, GridSample, GridSampleCompiled, Transformers, MsdaTriton, Mmcv, DcnV4, DeformOps)


def version_of(package):
    """The installed version of a package, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def available(shape, device, only=()):
    """([an Implementation each that can be imported here], {name: why not} of the rest); `only`: names, where not all are wanted."""
    found, absent = [], {}
    for kind in IMPLEMENTATIONS:
        if only and kind.name not in only:
            continue
        if device == "cpu" and not kind.on_cpu:
            absent[kind.name] = "not tried: no CPU path"
            continue
        try:
            found.append(kind(shape))
        except Exception as error:  # whatever a package throws where it is missing or broken
            absent[kind.name] = f"{type(error).__name__}: {error}".splitlines()[0]
    return found, absent

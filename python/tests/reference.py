"""The operator written with grid_sample, in the type of its inputs: what every result is compared with."""

import torch


def draw(batch=2, queries=5, heads=3, head_dim=4, levels=((6, 4), (3, 5)), points=2, dtype=torch.float32, device="cpu", seed=0, spread=1.4):
    """(value, levels, locations, weights); some locations lie outside their level."""
    generator = torch.Generator().manual_seed(seed)
    pixels = sum(h * w for h, w in levels)
    axes = (sum(points),) if isinstance(points, (tuple, list)) else (len(levels), points)
    value = torch.randn(batch, pixels, heads, head_dim, generator=generator, dtype=torch.float64)
    locations = torch.rand(batch, queries, heads, *axes, 2, generator=generator, dtype=torch.float64) * spread - (spread - 1) / 2
    weights = torch.rand(batch, queries, heads, *axes, generator=generator, dtype=torch.float64)
    narrow = {torch.float16: torch.float32, torch.bfloat16: torch.float32}.get(dtype, dtype)
    return value.to(device, dtype), levels, locations.to(device, narrow), weights.to(device, narrow)


def attention(value, levels, locations, weights, points=None):
    """(B, Q, M * D), differentiable."""
    batch, _, heads, head_dim = value.shape
    queries = locations.shape[1]
    if points is None:
        points = [locations.shape[4]] * len(levels)
        locations, weights = locations.flatten(3, 4), weights.flatten(3, 4)
    maps = value.split([h * w for h, w in levels], dim=1)
    places = locations.split(list(points), dim=3)
    output = value.new_zeros(batch * heads, head_dim, queries)
    for (height, width), level, place, weight in zip(levels, maps, places, weights.split(list(points), dim=3), strict=True):
        image = level.permute(0, 2, 3, 1).reshape(batch * heads, head_dim, height, width)
        grid = (2 * place - 1).transpose(1, 2).flatten(0, 1)
        sampled = torch.nn.functional.grid_sample(image, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
        output = output + (sampled * weight.transpose(1, 2).flatten(0, 1)[:, None]).sum(-1)
    return output.view(batch, heads * head_dim, queries).transpose(1, 2).contiguous()


def located(offsets, references, levels, points=None, pillars=False):
    """The locations of offsets from references, by the formulas of Deformable DETR (points, boxes) and BEVFormer (pillars)."""
    if points is None:
        ragged = [offsets.shape[4]] * len(levels)
        return located(offsets.flatten(3, 4), references, levels, ragged, pillars).view(offsets.shape)
    parts = []
    for level, (offset, (height, width)) in enumerate(zip(offsets.split(list(points), dim=3), levels, strict=True)):
        if pillars:
            index = torch.arange(offset.shape[3], device=offset.device) % references.shape[2]
            parts.append(references[:, :, None, index] + offset / offset.new_tensor([width, height]))
            continue
        reference = references[:, :, None, level if references.shape[2] > 1 else 0, None]
        if references.shape[3] == 2:
            parts.append(reference + offset / offset.new_tensor([width, height]))
        else:
            parts.append(reference[..., :2] + offset / points[level] * reference[..., 2:] * 0.5)
    return torch.cat(parts, 3)

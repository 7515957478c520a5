"""A training step: a block of deformable self-attention over two feature maps, with automatic mixed precision and an optimizer.

Run it with the package installed (pip install .); it uses the GPU if there is one. Usage: train_step.py [STEPS]
"""

import sys

import torch
from torch import nn

import msda

LEVELS = ((16, 24), (8, 12))  # height and width of each feature map, host integers: no call waits for the GPU


class Block(nn.Module):
    """Every pixel of every level attends to eight points around it on each level."""

    def __init__(self, channels: int):
        super().__init__()
        self.attention = msda.MSDeformAttn(channels, n_levels=len(LEVELS), n_heads=8, n_points=4)
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, 1)

    def forward(self, features, references):
        return self.head(self.norm(features + self.attention(features, references, features, LEVELS)))


def reference_points(device):
    """(1, S, L, 2): the centre of each pixel, on every level."""
    centres = [
        torch.stack(torch.meshgrid((torch.arange(h) + 0.5) / h, (torch.arange(w) + 0.5) / w, indexing="ij")[::-1], -1).view(-1, 2)
        for h, w in LEVELS
    ]
    return torch.cat(centres)[None, :, None].expand(-1, -1, len(LEVELS), -1).to(device)


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = Block(channels=64).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    references = reference_points(device)
    pixels = references.shape[1]
    features = torch.randn(2, pixels, 64, device=device)
    target = features.mean(-1, keepdim=True).roll(3, dims=1)  # what stands three pixels to the left

    losses = []
    for _ in range(steps):
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = nn.functional.mse_loss(model(features, references).float(), target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    first, last = float(losses[0]), float(losses[-1])
    print(f"{device}: loss {first:.4f} -> {last:.4f} in {steps} steps")
    if steps > 10 and not last < 0.8 * first:
        sys.exit("the loss did not fall")


if __name__ == "__main__":
    main()

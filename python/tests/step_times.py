"""Time of a training step and of an inference of three transformers models, before and after msda.patch(), in ms.

Usage: step_times.py [OUT.json] [--small]   (--small: tiny models on the CPU, to see that it works)
"""

import json
import statistics
import sys
import time

import torch

import clients
import msda

STEPS, WARM = 20, 5
# (batch, height, width) of the images: what each model is trained with.
IMAGES = {"DeformableDetr": (2, 800, 1066), "RTDetr": (8, 640, 640), "Mask2Former": (2, 512, 1024)}


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def milliseconds(call, steps):
    """Median of single calls, each waited for."""
    for _ in range(min(WARM, steps)):
        call()
    times = []
    for _ in range(steps):
        synchronize()
        start = time.perf_counter()
        call()
        synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return round(statistics.median(times), 2)


def measure(model, pixels, dtype, steps):
    device = pixels.device.type

    def forward():
        with torch.autocast(device, dtype=dtype, enabled=dtype is not torch.float32):
            return model(pixel_values=pixels)

    def train():
        model.zero_grad(set_to_none=True)
        clients.loss_of(forward()).backward()

    return {"train_ms": milliseconds(train, steps), "inference_ms": milliseconds(torch.no_grad()(forward), steps)}


def main():
    small = "--small" in sys.argv
    out = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    device = "cpu" if small else "cuda"
    rows = []
    for name, (batch, height, width) in IMAGES.items():
        model = clients.make(name, small, device).eval()  # dropout off: what is timed is the same work each time
        pixels = clients.images(1, 64, 96) if small else clients.images(batch, height, width, device)
        for dtype in (torch.float32, torch.bfloat16):
            row = {"model": name, "batch": pixels.shape[0], "height": pixels.shape[2], "width": pixels.shape[3],
                   "autocast": str(dtype).removeprefix("torch.") if dtype is not torch.float32 else None}  # fmt: skip
            row["before"] = measure(model, pixels, dtype, 2 if small else STEPS)
            row["attentions"] = len(msda.patch(model))
            row["after"] = measure(model, pixels, dtype, 2 if small else STEPS)
            msda.unpatch(model)
            rows.append(row)
            ratios = {kind: row["after"][kind] / row["before"][kind] for kind in row["before"]}
            print(
                f"{name:15s} {row['autocast'] or 'float32':9s}"
                + "".join(
                    f"  {kind} {row['before'][kind]:8.2f} -> {row['after'][kind]:8.2f} ({ratio:.2f})" for kind, ratio in ratios.items()
                ),
                flush=True,
            )
    if out:
        gpu = None if small else torch.cuda.get_device_name()
        with open(out[0], "w") as file:
            json.dump({"gpu": gpu, "torch": torch.__version__, "steps": STEPS, "rows": rows}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()

"""Inputs of a model's shape as `msda run --save` makes them, and the float64 results that errors are measured against."""
import json
import subprocess
import tempfile

import numpy
import torch

from implementations import grid_sample

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
PIXEL_LINE = 1e-4  # a location this near to one may be rounded to its other side, where its gradient differs


def shapes_of(text):
    """[(id, batch or None)] of "ddetr-enc,rtdetr:16"."""
    for word in text.split(","):
        name, _, batch = word.partition(":")
        yield name, int(batch) if batch else None


def load(path, dtype, device):
    array = numpy.load(path)
    if array.dtype.kind == "V":  # NumPy knows no bf16
        return torch.from_numpy(array.view(numpy.int16)).view(dtype).to(device)
    return torch.from_numpy(array).to(device)


def relative_error(got, expected):
    """None where a number should be finite and is not."""
    got = got.double()
    if not torch.isfinite(got).all():
        return None
    return ((got - expected).norm() / expected.norm().clamp_min(1e-300)).item()


class Arrays:
    """The tensors of one problem on a device. The results in float64 are computed once, when they are first asked for."""

    def __init__(self, msda, shape, batch, dtype, locations, device):
        known = {entry["id"]: entry for entry in json.loads(subprocess.check_output([msda, "shapes", "--json"]))}
        if shape not in known:
            raise SystemExit(f"{shape}: no shape of `msda shapes`")
        if len(set(known[shape]["points"])) != 1 or known[shape]["sampling"] != "bilinear":
            raise SystemExit(f"{shape}: uneven points and other samplings are not what the others compute")
        self.levels, self.batch = known[shape]["levels"], batch or known[shape]["batch"]
        with tempfile.TemporaryDirectory() as folder:
            command = [msda, "run", "--shape", shape, "--batch", str(self.batch), "--dtype", dtype, "--pass", "backward"]
            subprocess.run([*command, "--locations", locations, "--save", folder], check=True, stdout=subprocess.DEVNULL)
            types = {"value": dtype, "locations": "f32", "weights": dtype, "grad_output": dtype}
            self.tensors = {name: load(f"{folder}/{name}.npy", DTYPES[of], device) for name, of in types.items()}
        self.expected = None

    def inputs(self, device):
        return tuple(self.tensors[name].to(device) for name in ("value", "locations", "weights"))

    def grad_output(self, device):
        return self.tensors["grad_output"].to(device).flatten(-2)

    def reference(self):
        """Output and gradients in float64. Values are taken as they are, in whatever type they have; so are locations, whose rounding to 16 bits
        is an implementation's own error."""
        if self.expected is None:
            leaves = [self.tensors[name].double().requires_grad_() for name in ("value", "locations", "weights")]
            output = grid_sample(*leaves, self.levels)
            gradients = torch.autograd.grad(output, leaves, self.tensors["grad_output"].double().flatten(-2))
            self.expected = dict(zip(("output", "grad_value", "grad_locations", "grad_weights"), (output.detach(), *gradients)))
        return self.expected

    def smooth(self):
        """True for the points that are not near a pixel line."""
        sizes = torch.tensor([(width, height) for height, width in self.levels], device=self.tensors["locations"].device)
        places = self.tensors["locations"].double() * sizes[:, None, :] - 0.5
        return ((places - places.round()).abs() > PIXEL_LINE).all(-1, keepdim=True)

    def error(self, name, got):
        """The norm of the difference from float64, as share of the norm."""
        expected = self.reference()[name]
        got = got.reshape(expected.shape)
        if name == "grad_locations":
            keep = self.smooth()
            got, expected = got * keep, expected * keep
        return relative_error(got, expected)

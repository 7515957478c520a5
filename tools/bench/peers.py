#!/usr/bin/env python3
"""Times this operator beside every other implementation that can be imported, in one process and on the same inputs.

Usage: tools/bench/peers.py [--shapes ddetr-enc,rtdetr:16] [--dtypes f16,f32] [--passes forward,backward] [--locations model,uniform]
                            [--device cuda|cpu] [--msda build/release/bin/msda] OUT.json [OUT.svg]

A shape is an id of `msda shapes`, with another batch after a colon. Inputs are those of `msda run --save`, so the numbers are the ones that
`msda bench` works on. GPU times are CUDA-graph replays over copies of the inputs that together exceed three times the L2 (cold); the host's
share, µs of an eager call, has its own column. Errors are relative norms against float64 on the same inputs; those of gradients by location leave
out points within 1e-4 of a pixel line, where the slope jumps. The JSON goes to OUT.json, a Markdown table to stdout. Exit status 1 when this
operator itself could not run.
"""
import argparse
import datetime
import json
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import implementations
import stopwatch
import plots
from arrays import Arrays, shapes_of

COLD = 3  # times the L2
MOST_COPIES = 64


def copies_of(packed, device):
    """Copies of a call's inputs, so many that all have left the L2 when the first comes again."""
    if device.type == "cpu":
        return [packed]
    one = sum(tensor.nbytes for tensor in packed)
    count = COLD * torch.cuda.get_device_properties(device).L2_cache_size // one + 1
    return [packed] + [tuple(tensor.clone() for tensor in packed) for _ in range(max(1, min(count, MOST_COPIES)) - 1)]


def forward_calls(implementation, copies):
    def call(packed):
        with torch.no_grad():
            return implementation.call(*packed)

    return [lambda packed=packed: call(packed) for packed in copies]


def backward_calls(implementation, copies, grad_output):
    """The backward alone: each call's forward has run, on the same stream, and its saved tensors are kept."""
    calls = []
    for packed in copies:
        leaves = tuple(tensor.detach().requires_grad_() for tensor in packed)
        output = implementation.call(*leaves)
        gradient = grad_output.to(output.dtype)
        calls.append(lambda operands=(output, leaves, gradient): torch.autograd.grad(*operands, retain_graph=True))
    return calls


def measure(implementation, arrays, which, device):
    """One row: the times and errors of an implementation."""
    packed = implementation.pack(*arrays.inputs(device))
    stream = torch.cuda.Stream() if device.type == "cuda" else None
    with torch.cuda.stream(stream):  # does nothing on a CPU
        if which == "forward":
            calls = forward_calls(implementation, copies_of(packed, device))
            errors = {"output": arrays.error("output", calls[0]())}
        else:
            calls = backward_calls(implementation, copies_of(packed, device), arrays.grad_output(device))
            found = dict(zip(implementation.gradients(packed), calls[0]()))
            errors = {name: arrays.error(name, gradient) for name, gradient in found.items()}
        if device.type == "cpu":
            timing, host = stopwatch.time_on_cpu(calls), None
        else:
            host = stopwatch.host_us(calls[0], torch.cuda.synchronize)
            timing = stopwatch.time_on_gpu(stream, calls)
    times = {"median_us": timing.median_us, "mad_us": timing.mad_us, "batches": timing.batches, "how": timing.how, "host_us": host}
    worst = None if None in errors.values() else max(errors.values())
    return {**times, "copies": len(calls), "norm_error": worst, "errors": errors}


def compare(options, shape, batch, dtype, locations, device):
    """Rows of all implementations for one problem, both passes."""
    arrays = Arrays(options.msda, shape, batch, dtype, locations, device)
    found, absent = implementations.available(implementations.Shape(arrays.levels, device), device.type, options.only)
    rows = []
    for which in options.passes.split(","):
        for implementation in found:
            row = {"shape": shape, "batch": arrays.batch, "pass": which, "dtype": dtype, "locations": locations, "l2": "cold",
                   "whose": implementation.name, "version": implementations.version_of(implementation.package)}
            if which == "forward" and isinstance(implementation, implementations.OursNative):
                continue  # a forward has no sums of gradients
            try:
                row.update(measure(implementation, arrays, which, device))
            except Exception as error:  # an implementation that refuses a type or runs out of memory leaves the others be
                row["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
            progress = row.get("median_us", row.get("error"))
            print(f"{shape} B={arrays.batch} {dtype} {which}: {implementation.name} {progress}", file=sys.stderr)
            rows.append(row)
            if device.type == "cuda":
                torch.cuda.empty_cache()
    return rows, absent


def table(rows):
    print("| shape | B | pass | type | locations | whose | µs | ± | error | host µs | timed by |")
    print("|---" * 11 + "|")
    for row in rows:
        start = f"| {row['shape']} | {row['batch']} | {row['pass']} | {row['dtype']} | {row['locations']} | {row['whose']} "
        if "error" in row:
            print(start + f"| {row['error']} | | | | |")
        else:
            host = "" if row["host_us"] is None else f"{row['host_us']:.3g}"
            error = "not finite" if row["norm_error"] is None else f"{row['norm_error']:.1e}"
            print(start + f"| {plots.micro(row['median_us'])} | {row['mad_us']:.1g} | {error} | {host} | {row['how']} |")


def plot(rows, heading, path):
    """Bars of time over ours, capped where others are far behind."""
    cap, groups = 6.0, {}
    for row in rows:
        if "median_us" in row:
            groups.setdefault((row["pass"], row["shape"], row["batch"], row["dtype"], row["locations"]), []).append(row)
    bars = []
    for (which, shape, batch, dtype, locations), entries in groups.items():
        own = next((row["median_us"] for row in entries if row["whose"] == implementations.Ours.name), None)
        if own:
            label = f"{which} {shape}, B={batch}, {dtype}" + ("" if locations == "model" else f", {locations}")
            ratios = [(row["whose"], row["median_us"] / own, row["median_us"]) for row in entries]
            bars.append((label, [(whose, min(ratio, cap), f"{plots.micro(us)} µs, {ratio:.2f}") for whose, ratio, us in ratios]))
    if bars:
        subtitle = f"{heading['device']}; PyTorch {heading['torch']}; bars end at {cap:g}"
        plots.bars(path, "Time as ratio to msda-jit's (automatic sums)", subtitle, bars, "ratio, more is slower", 1.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shapes", default="ddetr-enc,ddetr-dec-b4,rtdetr,rtdetr:16,bev-tsa,m2f-1024:4")
    parser.add_argument("--dtypes", default="f16,f32")
    parser.add_argument("--passes", default="forward,backward")
    parser.add_argument("--locations", default="model")
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME", help="names of implementations, as the table prints them")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--msda", default="build/release/bin/msda")
    parser.add_argument("json")
    parser.add_argument("svg", nargs="?")
    options = parser.parse_args()
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    heading = {"device": name, "torch": torch.__version__, "cuda": torch.version.cuda, "date": date}
    rows, absent = [], {}
    for shape, batch in shapes_of(options.shapes):
        for dtype in options.dtypes.split(","):
            for locations in options.locations.split(","):
                more, absent = compare(options, shape, batch, dtype, locations, device)
                rows += more
    with open(options.json, "w") as file:
        json.dump({**heading, "absent": absent, "rows": rows}, file, indent=1)
        file.write("\n")
    table(rows)
    for missing, why in absent.items():
        print(f"not here: {missing} ({why})", file=sys.stderr)
    if options.svg:
        plot(rows, heading, options.svg)
    return 0 if any(row["whose"] == implementations.Ours.name and "median_us" in row for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())

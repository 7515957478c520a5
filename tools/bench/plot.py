#!/usr/bin/env python3
"""Draws our times beside those of others, one SVG for the forward and one for the backward, and prints the same as a Markdown table.

Usage: tools/bench/plot.py OURS.json OTHERS.json OUT_DIRECTORY

OURS.json is what `msda bench --json` writes. OTHERS.json has rows with shape, batch, pass, dtype, locations, l2, whose and us, and accumulate for a
backward. A row of others without ours in the same conditions is listed as missing; exit status 1 when nothing could be compared.
"""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plots


def batch_of(row):
    """The batch of a row of `msda bench`, which stands in its problem's text."""
    return int(row["problem"].split("batch=")[1].split()[0])


def conditions(row, batch):
    return tuple(row[key] for key in ("shape", "pass", "dtype", "locations", "l2")) + (batch,)


def compare(ours, others):
    """[(conditions, [(whose, us)] of others from fast to slow, {sums: our row})], in the order of the others' file."""
    own = {}
    for row in ours["rows"]:
        if "median_us" in row:
            own.setdefault(conditions(row, batch_of(row)), {})[row.get("accumulate") or ""] = row
    theirs = {}
    for row in others["rows"]:
        theirs.setdefault(conditions(row, row["batch"]), []).append((row["whose"], row["us"]))
    found, missing = [], []
    for key, times in theirs.items():
        (found if key in own else missing).append((key, sorted(times, key=lambda time: time[1]), own.get(key)))
    return found, missing


def title_of(key):
    shape, _, dtype, locations, l2, batch = key
    return f"{shape}, B={batch}, {dtype}" + (", uniform" if locations == "uniform" else "") + (", warm" if l2 == "warm" else "")


def draw(compared, which, run, path):
    groups = []
    for key, times, own in compared:
        if key[1] != which:
            continue
        whose, best = times[0]
        entries = [("best other", 1.0, f"{plots.micro(best)} µs, {whose.split(',')[0]}")]
        # f32 sums are native ones already; the price of deterministic ones, several times the others', stands in the table.
        for sums in ("", "native", "automatic"):
            if sums in own and not (sums == "native" and key[2] == "f32"):
                row = own[sums]
                name = "msda-jit" + (f", {sums} sums" if sums else "")
                note = f"{plots.micro(row['median_us'])} ± {row['mad_us']:.1g} µs, {row['median_us'] / best:.2f}"
                entries.append((name, row["median_us"] / best, note))
        groups.append((title_of(key), entries))
    if groups:
        title = f"{which.capitalize()}: time as ratio to the fastest other implementation"
        subtitle = f"{run['gpu']}, NVRTC {run['nvrtc']}, graph replays; times of others from an earlier run on the same GPU model"
        plots.bars(path, title, subtitle, groups, "ratio, less is better", 1.0, ("best other",))


def table(compared, missing):
    print("| shape | B | pass | type | locations | L2 | sums | ours, µs | ± | error | best other, µs | ratio | whose | others, µs |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for (shape, which, dtype, locations, l2, batch), times, own in compared:
        rest = ", ".join(f"{whose.split(',')[0]} {plots.micro(us)}" for whose, us in times[1:])
        for sums, row in own.items():
            error = f"{row['norm_error']:.1e}" if row.get("norm_error") is not None else ""
            ours = f"{plots.micro(row['median_us'])} | {row['mad_us']:.1g} | {error}"
            best = f"{plots.micro(times[0][1])} | {row['median_us'] / times[0][1]:.2f} | {times[0][0]}"
            print(f"| {shape} | {batch} | {which} | {dtype} | {locations} | {l2} | {sums} | {ours} | {best} | {rest} |")
    for key, times, _ in missing:
        print(f"not measured: {title_of(key)} {key[1]} (best other {plots.micro(times[0][1])} µs)", file=sys.stderr)


def main(arguments):
    if len(arguments) != 3:
        sys.exit(__doc__)
    ours, others = (json.load(open(path)) for path in arguments[:2])
    compared, missing = compare(ours, others)
    for which in ("forward", "backward"):
        draw(compared, which, ours, os.path.join(arguments[2], f"{which}.svg"))
    table(compared, missing)
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

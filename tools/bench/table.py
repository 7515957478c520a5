#!/usr/bin/env python3
"""Prints the rows of a benchmark file (`msda bench --json FILE`, or several merged) as a Markdown table.

Usage: tools/bench/table.py docs/benchmarks/h200.json
       tools/bench/table.py --merge OUT.json IN.json...   # rows of all, header of the first
"""
import json
import sys


def merge(out, inputs):
    runs = [json.load(open(path)) for path in inputs]
    merged = {key: runs[0][key] for key in runs[0] if key != "rows"}
    rows = {}
    for run in runs:  # what stands in a later file replaces the row of an earlier one
        for row in run["rows"]:
            key = tuple(str(row.get(name)) for name in ("problem", "locations", "l2"))
            rows[key] = dict(row, commit=run["commit"])
    merged["rows"] = list(rows.values())
    json.dump(merged, open(out, "w"), indent=1)


def table(path):
    run = json.load(open(path))
    print(f"{run['gpu']}, driver {run['driver']}, NVRTC {run['nvrtc']}, {run['date'][:10]}; graph replays.\n")
    print("| shape | B | pass | type | sums | locations | L2 | µs | ± | error |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in run["rows"]:
        batch = row["problem"].split("batch=")[1].split()[0]
        sums = row.get("accumulate") or ""
        print(f"| {row['shape']} | {batch} | {row['pass']} | {row['dtype']} | {sums} | {row['locations']} | {row['l2']} "
              f"| {row['median_us']:.3g} | {row['mad_us']:.1g} | {row['norm_error']:.1e} |")


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[1] == "--merge":
        merge(sys.argv[2], sys.argv[3:])
    elif len(sys.argv) == 2:
        table(sys.argv[1])
    else:
        sys.exit(__doc__)

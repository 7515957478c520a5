#!/usr/bin/env python3
"""Profiles the four main kernels with Nsight Compute and says what each is bound by.

usage: tools/bench/ncu.py OUT.json   (needs a GPU and `ncu`; MSDA names the command, default build/release/bin/msda)
       tools/bench/ncu.py --table OUT.json   prints the table of such a file
"""
import csv
import json
import os
import pathlib
import subprocess
import sys

KERNELS = {  # name: what `msda run` is asked for
    "encoder forward f16": "--shape ddetr-enc --dtype f16 --pass forward",
    "encoder forward f32": "--shape ddetr-enc --dtype f32 --pass forward",
    "encoder backward f16, native sums": "--shape ddetr-enc --dtype f16 --pass backward --accumulate native",
    "decoder backward f16, native sums": "--shape ddetr-dec-b4 --dtype f16 --pass backward --accumulate native",
}
METRICS = {  # column: metric
    "us": "gpu__time_duration.sum",
    "instructions": "smsp__inst_executed.sum",
    "issue_percent": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "l1_data_pipe_percent": "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed",
    "l2_percent": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "dram_percent": "dram__throughput.avg.pct_of_peak_sustained_elapsed",
    "warps_per_sm": "sm__warps_active.avg.per_cycle_active",
    "registers": "launch__registers_per_thread",
    "l1_hit_percent": "l1tex__t_sector_hit_rate.pct",
    "l2_hit_percent": "lts__t_sector_hit_rate.pct",
}
STALL, STALL_END = "smsp__average_warps_issue_stalled_", "_per_issue_active.ratio"
STALLS = ["long_scoreboard", "short_scoreboard", "barrier", "wait", "lg_throttle", "mio_throttle", "math_pipe_throttle"]
MICROSECONDS = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1.0, "us": 1.0, "msecond": 1e3, "ms": 1e3}


def profile(arguments):
    """One launch's metrics, cold caches (ncu flushes them), clocks left as they are."""
    msda = os.environ.get("MSDA", str(pathlib.Path(__file__).parents[2] / "build/release/bin/msda"))
    wanted = list(METRICS.values()) + [STALL + s + STALL_END for s in STALLS]
    command = ["ncu", "--clock-control", "none", "--kernel-name", "regex:^msda_(forward|backward)$", "--launch-count", "1",
               "--metrics", ",".join(wanted), "--page", "raw", "--csv", msda, "run", "--device", "gpu", *arguments.split()]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [row for row in csv.reader(done.stdout.splitlines()) if len(row) > len(wanted)]
    if len(lines) < 3:
        sys.exit(f"{' '.join(command)}: no profile in its output:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    units, values = dict(zip(lines[0], lines[1])), dict(zip(lines[0], lines[2]))
    number = lambda metric: float(values[metric].replace(",", ""))
    row = {name: number(metric) for name, metric in METRICS.items()}
    row["us"] *= MICROSECONDS[units[METRICS["us"]]]
    row["stalls"] = {s: number(STALL + s + STALL_END) for s in STALLS}
    return row


def bound_by(row):
    """The unit that is busiest if one is above 70 %, else what warps mostly wait for."""
    units = {"L1 data pipe": row["l1_data_pipe_percent"], "issue": row["issue_percent"], "L2": row["l2_percent"], "DRAM": row["dram_percent"]}
    busiest = max(units, key=units.get)
    if units[busiest] >= 70:
        return f"{busiest} ({units[busiest]:.0f} %)"
    stall = max(row["stalls"], key=row["stalls"].get)
    return f"latency ({stall.replace('_', ' ')}); {busiest} {units[busiest]:.0f} %"


def table(rows):
    columns = ["us", "instructions", "issue_percent", "l1_data_pipe_percent", "l2_percent", "dram_percent", "warps_per_sm", "registers"]
    print("| kernel | µs | M instructions | issue, % | L1 data pipe, % | L2, % | DRAM, % | warps an SM | registers | bound by |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in rows:
        cells = [row[c] / 1e6 if c == "instructions" else row[c] for c in columns]
        print("| " + " | ".join([row["kernel"], *(f"{v:.4g}" for v in cells), bound_by(row)]) + " |")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--table":
        table(json.load(open(sys.argv[2]))["rows"])
        return
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    version = subprocess.run(["ncu", "--version"], capture_output=True, text=True).stdout.strip().splitlines()[-1]
    rows = [{"kernel": name, "arguments": arguments, **profile(arguments)} for name, arguments in KERNELS.items()]
    json.dump({"ncu": version, "rows": rows}, open(sys.argv[1], "w"), indent=1)
    table(rows)


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# On a GPU: a launch costs the host at most 1.25 times a bare cuLaunchKernel of the same kernel (medians of 9 interleaved repetitions).
# Needs Google Benchmark (Debian: libbenchmark-dev). Usage: tests/gpu/host_cost.sh BUILD_FOLDER
set -euo pipefail
cmake --build "$1" --target msda_host_cost >&2
"$1/bin/msda_host_cost" --benchmark_repetitions=9 --benchmark_enable_random_interleaving=true \
    --benchmark_report_aggregates_only=true --benchmark_format=json | python3 -c '
import json, sys
rows = {row["run_name"]: row for row in json.load(sys.stdin)["benchmarks"] if row["aggregate_name"] == "median"}
bare = rows["bare"]["launch"]
failed = False
for name, row in rows.items():
    if "launch" in row:
        ratio = row["launch"] / bare
        failed |= ratio > 1.25
        print("{:20} {:8.0f} ns a launch, {:.2f} of bare".format(name, row["launch"] * 1e9, ratio))
    else:
        print("{:20} {:8.0f} {}".format(name, row["real_time"], row["time_unit"]))
print("host_cost:", "FAILED (a launch costs more than 1.25 of bare)" if failed else "passed")
sys.exit(failed)
'

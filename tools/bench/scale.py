#!/usr/bin/env python3
"""Times the operator over four decades of points with `msda bench`, and shows that time is at most linear in their number.

Usage: tools/bench/scale.py [--msda build/release/bin/msda] [--device auto] [--most POINTS] OUT.json [OUT.svg]

Two ways to grow: an encoder whose image grows up to Co-DINO ViT-L's (5 levels, S = 218,240), and a decoder whose queries grow on the pyramid of an
800x1333 image. Each point of the plot is verified against the double-precision reference. For each series the exponent e of time ~ points^e is
fitted over the upper tenth of its range, where neither the launch nor an unfilled GPU counts. Below 1 is no fault: a decoder reads the same value,
and zeroes the same gradient, for any number of queries. Exit status 1 when one is above 1.1 or a result is wrong.

       tools/bench/scale.py --of OUT.json [OUT.svg]   says and draws it again from a file
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import plots

HIGHEST = 1.1


def encoders():
    """Levels of the ViT-L pyramid (1280x2048 over 4 to 64) at k eighths of its size, queries = pixels."""
    for k in (1, 2, 3, 4, 6, 8):
        levels = [(40 * k >> level, 64 * k >> level) for level in range(5)]
        yield levels, sum(height * width for height, width in levels)


def decoders():
    levels = [(100, 167), (50, 84), (25, 42), (13, 21)]
    for doubling in range(10):
        yield levels, 300 << doubling


def points_of(levels, queries):
    return queries * 8 * 4 * len(levels)


def bench(options, levels, queries, which):
    """Rows of both types for one size."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "rows.json")
        command = [options.msda, "bench", "--levels", ",".join(f"{h}x{w}" for h, w in levels), "--queries", str(queries), "--pass", which,
                   "--dtype", "f16,f32", "--locations", "model", "--l2", "cold", "--device", options.device, "--no-ceilings", "--json", report]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        if not os.path.exists(report):
            sys.exit(f"scale.py: {' '.join(command)} ended with {done.returncode} and wrote no report")
        with open(report) as file:
            return json.load(file)


def measure(options):
    series, heading = {}, {}
    for name, sizes in (("encoder", encoders), ("decoder", decoders)):
        for levels, queries in sizes():
            if points_of(levels, queries) > options.most:
                continue
            for which in ("forward", "backward"):
                run = bench(options, levels, queries, which)
                heading = {key: run[key] for key in ("gpu", "driver", "nvrtc", "device", "version", "date")}
                for row in run["rows"]:
                    if "median_us" not in row:
                        sys.exit(f"scale.py: {row['problem']}: {row['error']}")
                    kept = {key: row[key] for key in ("median_us", "mad_us", "norm_error", "verified", "problem")}
                    series.setdefault((name, which, row["dtype"]), []).append({"points": points_of(levels, queries), **kept})
                print(f"{name} {which}: {queries} queries done", file=sys.stderr)
    return heading, series


def kept(path):
    """What measure() returned, from the file that was made of it."""
    with open(path) as file:
        heading = json.load(file)
    return heading, {(entry["series"], entry["pass"], entry["dtype"]): entry["rows"] for entry in heading.pop("series")}


def exponent(rows):
    """The slope of log(time) over log(points) among the rows within a tenth of the most points; None with fewer than two."""
    most = max(row["points"] for row in rows)
    logs = [(math.log(row["points"]), math.log(row["median_us"])) for row in rows if row["points"] >= most / 10]
    if len(logs) < 2:
        return None
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def report(heading, series):
    """The JSON and whether all is linear and right."""
    fine, entries = True, []
    for (name, which, dtype), rows in series.items():
        slope = exponent(rows)
        linear = slope is not None and slope <= HIGHEST
        right = all(row["verified"] for row in rows)
        fine &= linear and right
        largest = max(rows, key=lambda row: row["points"])
        entries.append({"series": name, "pass": which, "dtype": dtype, "exponent": slope, "rows": rows})
        print(f"{name} {which} {dtype}: exponent {slope if slope is None else round(slope, 3)} ({'at most linear' if linear else 'MORE THAN LINEAR'}), "
              f"{1e3 * largest['median_us'] / largest['points']:.4f} ns a point at {largest['points']} points, {'right' if right else 'WRONG'}")
    return {**heading, "series": entries}, fine


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--msda", default="build/release/bin/msda")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--most", type=float, default=1e9, help="leave out sizes with more points")
    parser.add_argument("--of", action="store_true", help="measure nothing: take the times from the file")
    parser.add_argument("json")
    parser.add_argument("svg", nargs="?")
    options = parser.parse_args()
    result, fine = report(*(kept(options.json) if options.of else measure(options)))
    if not options.of:
        with open(options.json, "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
    if options.svg:
        lines = [(f"{entry['series']} {entry['pass']} {entry['dtype']}", [(row["points"], row["median_us"]) for row in entry["rows"]])
                 for entry in result["series"]]
        subtitle = f"{result['gpu'] or result['device']}, model-like locations, cold L2; 45 degrees is linear"
        plots.lines(options.svg, "Time over the number of points", subtitle, lines, "points (B x Q x M x sum of P)", "µs")
    print("at most linear and right" if fine else "NOT as it should be")
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())

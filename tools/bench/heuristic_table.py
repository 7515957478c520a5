#!/usr/bin/env python3
"""Says how close the heuristic comes to tuned configs, from a tuning database of the shipped shapes.

Usage: tools/bench/heuristic_table.py DATABASE.json [--msda build/release/bin/msda] [--json docs/benchmarks/heuristic.json]
           [--limit 1.15] [--candidates 100]

A record holds the time of the best config and of the default, measured in turn in one final: their ratio is what an
untuned user loses. Where the default has become the config found best since, they are one kernel and the ratio is 1. Prints a Markdown table, shape by shape, and the share of the shapes within the limit for each pass
and type; --json keeps both. Exit code 1 when less than 90 % of all rows are within the limit, or when a shape of the
table has no record, or one of fewer candidates than asked that is not its whole space.
"""
import argparse
import json
import subprocess
import sys


def fields_of(problem):
    return dict(word.split("=", 1) for word in problem.split())


def key_of_problem(fields):
    levels = [level.split("@")[0] for level in fields["levels"].split(",")]
    return (fields["batch"], fields["queries"], fields["heads"], fields["head_dim"], ",".join(levels),
            fields["points"], fields["sampling"])


def key_of_shape(shape):
    levels = ",".join(f"{height}x{width}" for height, width in shape["levels"])
    return (str(shape["batch"]), str(shape["queries"]), str(shape["heads"]), str(shape["head_dim"]), levels,
            ",".join(str(points) for points in shape["points"]), shape["sampling"])


def kernel(msda, problem, config):
    """All that the GPU sees of a config: the source it is compiled from and the launches; without one, of the default."""
    words = ["--config", config] if config else []
    show = lambda what: subprocess.run([msda, "inspect", "--problem", problem, "--arch", "sm_90", "--what", what, *words],
                                       check=True, capture_output=True).stdout
    return show("source"), show("plan")


def is_default(msda, record, levels):
    config = {**record["config"], "levels_per_pass": min(record["config"]["levels_per_pass"], levels)}
    return kernel(msda, record["problem"], " ".join(f"{key}={value}" for key, value in config.items())) == kernel(msda, record["problem"], "")


def read(database, msda):
    run = lambda *words: json.loads(subprocess.run([msda, *words], check=True, capture_output=True).stdout)
    shapes = run("shapes", "--json")
    ids = {}
    for shape in shapes:
        ids.setdefault(key_of_shape(shape), []).append(shape["id"])
    rows = []
    records = run("db", "show", database, "--json")["records"]
    for record in records:
        fields = fields_of(record["problem"])
        if fields["pass"] == "backward" and fields["value"] == "f32" and fields["accumulate"] == "native":
            continue  # the same kernels as automatic
        same = is_default(msda, record, len(fields["levels"].split(",")))
        for shape in ids.get(key_of_problem(fields), []):
            rows.append({"shape": shape, "pass": fields["pass"], "dtype": fields["value"], "sums": fields["accumulate"],
                         "default_us": record["time_us"] if same else record["default_us"], "tuned_us": record["time_us"],
                         "ratio": 1.0 if same else round(record["default_us"] / record["time_us"], 4),
                         "candidates": record["candidates"], "complete": record["policy"] >= 2})
    order = {shape["id"]: place for place, shape in enumerate(shapes)}
    rows.sort(key=lambda row: (order[row["shape"]], *kind_order(row)))
    return [shape["id"] for shape in shapes], rows, records


def kind_of(row):
    return row["pass"], row["dtype"], row["sums"]


def kind_order(row):
    return row["pass"] != "forward", row["sums"] != "automatic", row["dtype"]


def shares(rows, limit):
    kinds = list(dict.fromkeys(kind_of(row) for row in sorted(rows, key=kind_order)))
    result = []
    for kind in [*kinds, None]:
        some = [row for row in rows if kind in (None, kind_of(row))]
        within = sum(row["ratio"] <= limit for row in some)
        result.append({**dict(zip(("pass", "dtype", "sums"), kind or ("all",) * 3)), "shapes": len(some),
                       "within": within, "share": round(within / max(len(some), 1), 4)})
    return result


def title(kind):
    return f"{kind[0]} {kind[1]}" + (", native sums" if kind[2] == "native" else "")


def table(shapes, rows, kinds):
    cell = {(row["shape"], *kind_of(row)): row for row in rows}
    print("| shape | " + " | ".join(title(kind) for kind in kinds) + " |")
    print("|---|" + "---|" * len(kinds))
    for shape in shapes:
        texts = []
        for kind in kinds:
            row = cell.get((shape, *kind))
            texts.append(f"{row['ratio']:.2f} ({row['default_us']:.3g}, {row['candidates']})" if row else "-")
        print(f"| {shape} | " + " | ".join(texts) + " |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("database")
    options.add_argument("--msda", default="build/release/bin/msda")
    options.add_argument("--json")
    options.add_argument("--limit", type=float, default=1.15)
    options.add_argument("--candidates", type=int, default=100)
    options = options.parse_args()

    shapes, rows, records = read(options.database, options.msda)
    if not rows:
        sys.exit(f"{options.database}: no record of a shipped shape")
    summary = shares(rows, options.limit)
    kinds = [(share["pass"], share["dtype"], share["sums"]) for share in summary[:-1]]
    there = {(row["shape"], *kind_of(row)) for row in rows}
    missing = [f"{shape} {title(kind)}" for shape in shapes for kind in kinds if (shape, *kind) not in there]
    few = [f"{row['shape']} {title(kind_of(row))} ({row['candidates']})" for row in rows
           if row["candidates"] < options.candidates or not row["complete"]]

    gpu = records[0]["gpu"]
    print(f"{gpu}: default / tuned (default in µs, configs verified and timed), cold L2, geometric mean of model-like and "
          "uniform locations.\n")
    table(shapes, rows, kinds)
    print(f"\n| what | shapes | within {options.limit}x | share |\n|---|---|---|---|")
    for share in summary:
        kind = (share["pass"], share["dtype"], share["sums"])
        print(f"| {title(kind) if kind[0] != 'all' else 'all'} | {share['shapes']} | {share['within']} | {share['share']:.0%} |")
    if options.json:
        first = records[0]
        header = {"gpu": gpu, "driver": first["driver"], "nvrtc": first["nvrtc"], "version": first["generator"],
                  "date": max(record["date"] for record in records), "limit": options.limit, "shares": summary}
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({**header, "rows": rows}, out, indent=1)
            out.write("\n")
    if missing:
        print(f"\nno record: {', '.join(missing)}", file=sys.stderr)
    if few:
        print(f"\nfewer than {options.candidates} configs, or not complete: {', '.join(few)}", file=sys.stderr)
    good = summary[-1]["share"] >= 0.9 and not missing and not few
    print(f"\n{'PASSED' if good else 'FAILED'}: {summary[-1]['share']:.1%} within {options.limit}x; "
          f"{len(missing)} missing, {len(few)} with too few configs", file=sys.stderr)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Figures quoted in a page, against the measurements they come from.

A number that was measured is followed by a comment that names its source: 107 µs<!-- h200: ddetr-enc f16 forward model cold -->. The words pick
exactly one row of docs/benchmarks/h200.json by its shape, pass, type and so on (batch=2 and the like count too), and its time; a first word
that is a column (`norm_error`, `host_us`, `gather_share`, ...) picks that instead, and `ceiling NAME` a ceiling. `earlier: NAME` picks a value of
docs/benchmarks/earlier.json. The text may round, and may be 3 % off, so that a new run of the same kernels changes no page.

Usage: tests/docs/figures_of.py --update    writes what h200.json says now into every page; then read the sentences around what changed.
"""
import json
import re
import sys
from pathlib import Path

QUOTED = re.compile(r"([\d.]+(?:e-?\d+)?)(\s*)(µs|ms|TB/s|%)?<!-- (h200|earlier): ([^>]*?) -->")
FIELDS = ("shape", "pass", "dtype", "locations", "l2", "accumulate")
SCALE = {"µs": 1, "ms": 1e-3, "TB/s": 1e-12, "%": 100, None: 1}


def measured(root, source, words):
    """The values that the words pick: in µs, bytes/s or none at all."""
    if source == "earlier":
        value = json.loads((root / "docs/benchmarks/earlier.json").read_text())["values"].get(words)
        return [] if value is None else [value.get("us", value.get("tb_per_s", 0) * 1e12)]
    table, parts = json.loads((root / "docs/benchmarks/h200.json").read_text()), words.split()
    if parts[0] == "ceiling":
        return [table["ceilings"][k] for k in (f"{parts[1]}_bytes_per_s", parts[1]) if k in table["ceilings"]]
    column = parts.pop(0) if parts[0] in table["rows"][0] and parts[0] not in FIELDS else "median_us"
    return [row[column] for row in table["rows"] if set(parts) <= {str(row.get(field)) for field in FIELDS} | {row["problem"].split()[1]}]


def rewritten(number, value):
    """The value with as many digits as the number has."""
    if "e" in number:
        return f"{value:.{len(number.split('e')[0].partition('.')[2])}e}".replace("e-0", "e-")
    return f"{value:.{len(number.partition('.')[2])}f}"


def close(number, value):
    step = 0.5 * 10 ** -len(number.partition(".")[2]) if "e" not in number else 0.05 * abs(value)
    return abs(value - float(number)) <= max(step, 0.03 * abs(value)) * 1.0001


def check_figures(text, root):
    complaints = []
    for number, _, unit, source, words in QUOTED.findall(text):
        values = set(measured(root, source, words))
        if len(values) != 1:
            complaints.append(f"'{source}: {words}' picks {len(values)} measurements, expected one")
            continue
        value = values.pop() * SCALE[unit or None]
        if not close(number, value):
            complaints.append(f"{number} {unit} ({source}: {words}): the measurement says {value:.4g} (tests/docs/figures_of.py --update)")
    return complaints


def update(root):
    def renew(match):
        number, space, unit, source, words = match.groups()
        values = set(measured(root, source, words))
        value = values.pop() * SCALE[unit] if len(values) == 1 else float(number)
        if close(number, value):
            return match[0]
        print(f"{path.relative_to(root)}: {number} -> {rewritten(number, value)} {unit or ''} ({words})")
        return f"{rewritten(number, value)}{space}{unit or ''}<!-- {source}: {words} -->"

    for path in sorted((root / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        new = QUOTED.sub(renew, text)
        if new != text:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(__doc__)
    update(Path(__file__).resolve().parents[2])

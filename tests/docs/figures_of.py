"""Figures quoted in a page, against the measurements they come from.

A number that was measured is followed by a comment that names its source: 107 µs<!-- h200: ddetr-enc f16 forward model cold -->. The words pick
exactly one row of docs/benchmarks/h200.json (batch=2 and the like count too; or `ceiling NAME`, or `host …` for the host's time,
`error …` for the norm error, `gather_share …` for a share); `earlier: NAME` picks a
value of docs/benchmarks/earlier.json. The text may round, and may be 3 % off, so that a new run of the same kernels changes no page.
"""
import json
import re

QUOTED = re.compile(r"([\d.]+(?:e-?\d+)?)\s*(µs|ms|TB/s|%)?<!-- (h200|earlier): ([^>]*?) -->")
FIELDS = ("shape", "pass", "dtype", "locations", "l2", "accumulate")
SCALE = {"µs": 1, "ms": 1e-3, "TB/s": 1e-12, "%": 100, "": 1}


def measured(root, source, words):
    """The values that the words pick: in µs, bytes/s or none at all."""
    if source == "earlier":
        value = json.loads((root / "docs/benchmarks/earlier.json").read_text())["values"].get(words)
        return [] if value is None else [value.get("us", value.get("tb_per_s", 0) * 1e12)]
    table, parts = json.loads((root / "docs/benchmarks/h200.json").read_text()), words.split()
    if parts[0] == "ceiling":
        return [table["ceilings"][k] for k in (f"{parts[1]}_bytes_per_s", parts[1]) if k in table["ceilings"]]
    key = {"host": "host_us", "error": "norm_error"}.get(parts[0], parts[0] if parts[0].endswith("_share") else "median_us")
    wanted = set(parts) - {"host", "error", key}
    return [row[key] for row in table["rows"] if wanted <= {str(row.get(field)) for field in FIELDS} | {row["problem"].split()[1]}]


def check_figures(text, root):
    complaints = []
    for written, unit, source, words in QUOTED.findall(text):
        values = measured(root, source, words)
        if len(set(values)) != 1:
            complaints.append(f"'{source}: {words}' picks {len(values)} measurements, expected one")
            continue
        value, number = values[0] * SCALE[unit], float(written)
        digits = len(written.split(".")[1]) if "." in written and "e" not in written else 0
        if abs(value - number) > max(0.5 * 10**-digits if "e" not in written else 0.05 * number, 0.03 * abs(value)) * 1.0001:
            complaints.append(f"{written} {unit} ({source}: {words}): the measurement says {value:.4g}")
    return complaints

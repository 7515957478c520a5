"""Figures of chapter 9: the winner's curse, and where a config comes from."""
import random

from svg import AMBER, AMBER_PALE, GREY, INK, LINE, PALE, TEAL, TEAL_PALE, Figure


def curse():
    f = Figure(720, 270, "Measured medians of equal configs scatter around the same truth")
    rng = random.Random(3)
    left, zero, scale = 60, 165, 1000
    f.line(left, zero, 700, zero, LINE)
    f.text(left - 8, zero + 4, "truth", 11, GREY, "end")
    f.text(left, 24, "190 configs, all equally fast, measured once each with 3 % of noise", 13, bold=True)
    values = [rng.gauss(0, 0.03) for _ in range(190)]
    best = min(range(190), key=lambda i: values[i])
    for i, v in enumerate(values):
        f.circle(left + 8 + i * 3.3, zero + v * scale, 5 if i == best else 2.4, TEAL if i == best else LINE)
    x, y = left + 8 + best * 3.3, zero + values[best] * scale
    anchor = "end" if x > 520 else "start"
    f.text(x - 12 if anchor == "end" else x + 12, y + 4, f"the “winner”: {-100 * values[best]:.0f} % faster", 12, TEAL, anchor)
    f.text(left, 258, "up is faster", 11, GREY)
    return f


def layers():
    f = Figure(720, 300, "Layers of databases and the order of lookup")
    names = ("memory of this process", "packs (MSDA_PACK)", "the user's file", "the site's directories", "built-in records")
    for i, name in enumerate(names):
        f.box(20, 30 + 42 * i, 250, 34, name, TEAL_PALE if i == 0 else PALE)
    f.text(145, 262, "a record hides the same", 12, GREY, "middle")
    f.text(145, 278, "problem and silicon below it", 12, GREY, "middle")
    f.line(280, 130, 336, 130, INK, arrow=True)
    f.box(342, 104, 100, 52, "effective\nview", AMBER_PALE, AMBER)
    steps = (("exact", "this problem, this silicon"), ("nearest", "another size, this silicon"), ("family", "another chip, same capability"),
             ("heuristic", "default_config, always there"))
    for i, (name, words) in enumerate(steps):
        y = 30 + 56 * i
        f.line(446, 130, 476, y + 20, LINE)
        f.box(480, y, 222, 42, f"{name}\n{words}", PALE, size=12)
    f.text(591, 270, "first match wins, and says its name", 12, GREY, "middle")
    return f


FIGURES = {"curse": curse, "layers": layers}

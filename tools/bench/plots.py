"""Plots of the benchmark pages: horizontal bars side by side, and lines over two logarithmic axes."""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "figures"))
from svg import GREY, INK, LINE, PALE, Figure

OTHERS = "#b4bcc6"  # what others are drawn in, beside ours
COLOURS = ["#1d4ed8", "#b45309", "#0f766e", "#7e57c2", "#b91c1c", "#8a7a00", "#c2407a", "#52606d"]


def save(figure, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(figure.render())


def micro(us):
    """A time for people: three digits, or whole µs."""
    return f"{us:.3g}" if us < 1000 else f"{us:.0f}"


def bar(figure, x, y, width, height, colour):
    figure.rect(x, y, max(width, 0), height, colour, "none", 0)


def headline(figure, title, subtitle):
    figure.text(16, 26, title, 17, bold=True)
    figure.text(16, 46, subtitle, 12, GREY)


def round_step(span, wanted):
    """A step of 1, 2 or 5 times a power of ten that cuts `span` into about `wanted` parts."""
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= raw)


def bars(path, title, subtitle, groups, unit, line_at=None, pale=()):
    """`groups`: [(label, [(name, value, note)])], a bar each; a series has one colour all over, a pale one if it is in `pale`. `note` is
    written behind its bar. `line_at`: a value to draw a line at, as 1 where values are ratios."""
    names = list(dict.fromkeys(name for _, entries in groups for name, _, _ in entries))
    strong = [name for name in names if name not in pale]
    colour = {name: OTHERS if name in pale else COLOURS[strong.index(name) % len(COLOURS)] for name in names}
    left, right, top, thick, gap = 250, 190, 84, 13, 12
    width = 960
    height = top + sum(len(entries) * thick + gap for _, entries in groups) + 44
    highest = max(value for _, entries in groups for _, value, _ in entries)
    highest = max(highest, line_at or 0) * 1.02
    page = Figure(width, height, title)
    headline(page, title, subtitle)
    x = 16
    for name in names if len(names) > 1 else []:
        bar(page, x, 58, 11, 11, colour[name])
        page.text(x + 16, 68, name, 12)
        x += 34 + 7 * len(name)
    scale = (width - left - right) / highest
    step = round_step(highest, 6)
    for i in range(int(highest / step) + 1):
        at = left + i * step * scale
        page.line(at, top - 6, at, height - 38, PALE)
        page.text(at, height - 22, f"{i * step:g}", 11, GREY, "middle")
    page.text(left + (width - left - right) / 2, height - 6, unit, 11, GREY, "middle")
    if line_at is not None:
        page.line(left + line_at * scale, top - 6, left + line_at * scale, height - 38, LINE, 1.2, "4 3")
    y = top
    for label, entries in groups:
        page.text(left - 8, y + len(entries) * thick / 2 + 4, label, 12, anchor="end")
        for name, value, note in entries:
            bar(page, left, y, value * scale, thick - 2, colour[name])
            page.text(left + value * scale + 5, y + thick - 3.5, note, 11)
            y += thick
        y += gap
    save(page, path)


def decades(low, high):
    return [10.0**e for e in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def lines(path, title, subtitle, series, x_label, y_label):
    """`series`: [(name, [(x, y)])], all positive; both axes are logarithmic with equal decades, so what is proportional rises by 45 degrees."""
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points]
    low_x, high_x, low_y, high_y = min(xs) / 1.5, max(xs) * 1.5, min(ys) / 1.5, max(ys) * 1.5
    left, top, decade = 74, 84, 130.0
    plot_width, plot_height = decade * math.log10(high_x / low_x), decade * math.log10(high_y / low_y)
    page = Figure(round(left + plot_width + 230), round(top + plot_height + 60), title)
    headline(page, title, subtitle)

    def place(x, y):
        return left + decade * math.log10(x / low_x), top + plot_height - decade * math.log10(y / low_y)

    for x in decades(low_x, high_x):
        at = place(x, low_y)[0]
        page.line(at, top, at, top + plot_height, PALE)
        page.text(at, top + plot_height + 18, f"{x:.0e}".replace("e+0", "e"), 11, GREY, "middle")
    for y in decades(low_y, high_y):
        at = place(low_x, y)[1]
        page.line(left, at, left + plot_width, at, PALE)
        page.text(left - 8, at + 4, f"{y:g}", 11, GREY, "end")
    page.text(left + plot_width / 2, top + plot_height + 42, x_label, 12, GREY, "middle")
    page.text(left - 8, top - 12, y_label, 12, GREY, "end")
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        placed = [place(x, y) for x, y in sorted(points)]
        page.path(placed, colour)
        for x, y in placed:
            page.circle(x, y, 3.2, colour)
        page.line(left + plot_width + 18, top + 12 + 20 * i, left + plot_width + 36, top + 12 + 20 * i, colour, 2)
        page.text(left + plot_width + 42, top + 16 + 20 * i, name, 12)
    save(page, path)

"""SVG plots of the benchmark pages, with no library: horizontal bars side by side, and lines over two logarithmic axes."""
import html
import math

INK, SOFT, GRID = "#1b1f24", "#5b6470", "#d8dde3"
PALE = "#a9b2bd"  # what others are drawn in, beside ours
COLOURS = ["#0b6bcb", "#d1622b", "#2e8b57", "#8a5cc2", "#b08900", "#c2407a", "#3a9aa8", "#777f88"]
FONT = 'font-family="system-ui, -apple-system, Segoe UI, Roboto, Helvetica, Arial, sans-serif"'


class Drawing:
    """Marks on a page of a given size; text is escaped."""

    def __init__(self, width, height):
        self.size = (width, height)
        self.marks = [f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def text(self, x, y, content, size=12, anchor="start", colour=INK, weight="normal"):
        # The white rim keeps it readable over lines.
        self.marks.append(
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" font-weight="{weight}" '
            f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{html.escape(str(content))}</text>'
        )

    def line(self, x1, y1, x2, y2, colour=GRID, width=1.0, dash=""):
        dashes = f' stroke-dasharray="{dash}"' if dash else ""
        self.marks.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"{dashes}/>'
        )

    def bar(self, x, y, width, height, colour):
        self.marks.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" fill="{colour}"/>')

    def dot(self, x, y, colour):
        self.marks.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.2" fill="{colour}"/>')

    def path(self, points, colour):
        steps = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.marks.append(f'<polyline points="{steps}" fill="none" stroke="{colour}" stroke-width="1.6"/>')

    def save(self, path):
        width, height = self.size
        with open(path, "w") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" {FONT}>\n')
            file.write("\n".join(self.marks) + "\n</svg>\n")


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
    colour = {name: PALE if name in pale else COLOURS[strong.index(name) % len(COLOURS)] for name in names}
    left, right, top, thick, gap = 250, 190, 84, 13, 12
    width = 960
    height = top + sum(len(entries) * thick + gap for _, entries in groups) + 44
    highest = max(value for _, entries in groups for _, value, _ in entries)
    highest = max(highest, line_at or 0) * 1.02
    page = Drawing(width, height)
    page.text(16, 26, title, 17, weight="600")
    page.text(16, 46, subtitle, 12, colour=SOFT)
    x = 16
    for name in names if len(names) > 1 else []:
        page.bar(x, 58, 11, 11, colour[name])
        page.text(x + 16, 68, name, 12)
        x += 34 + 7 * len(name)
    scale = (width - left - right) / highest
    step = round_step(highest, 6)
    for i in range(int(highest / step) + 1):
        at = left + i * step * scale
        page.line(at, top - 6, at, height - 38)
        page.text(at, height - 22, f"{i * step:g}", 11, "middle", SOFT)
    page.text(left + (width - left - right) / 2, height - 6, unit, 11, "middle", SOFT)
    if line_at is not None:
        page.line(left + line_at * scale, top - 6, left + line_at * scale, height - 38, INK, 1.2, "4 3")
    y = top
    for label, entries in groups:
        page.text(left - 8, y + len(entries) * thick / 2 + 4, label, 12, "end")
        for name, value, note in entries:
            page.bar(left, y, value * scale, thick - 2, colour[name])
            page.text(left + value * scale + 5, y + thick - 3.5, note, 11, colour=SOFT)
            y += thick
        y += gap
    page.save(path)


def decades(low, high):
    return [10.0**e for e in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]


def lines(path, title, subtitle, series, x_label, y_label):
    """`series`: [(name, [(x, y)])], all positive; both axes are logarithmic with equal decades, so what is proportional rises by 45 degrees."""
    xs = [x for _, points in series for x, _ in points]
    ys = [y for _, points in series for _, y in points]
    low_x, high_x, low_y, high_y = min(xs) / 1.5, max(xs) * 1.5, min(ys) / 1.5, max(ys) * 1.5
    left, top, decade = 74, 64, 130.0
    plot_width, plot_height = decade * math.log10(high_x / low_x), decade * math.log10(high_y / low_y)
    page = Drawing(round(left + plot_width + 230), round(top + plot_height + 60))

    def place(x, y):
        return left + decade * math.log10(x / low_x), top + plot_height - decade * math.log10(y / low_y)

    page.text(16, 26, title, 17, weight="600")
    page.text(16, 46, subtitle, 12, colour=SOFT)
    for x in decades(low_x, high_x):
        at = place(x, low_y)[0]
        page.line(at, top, at, top + plot_height)
        page.text(at, top + plot_height + 18, f"{x:.0e}".replace("e+0", "e"), 11, "middle", SOFT)
    for y in decades(low_y, high_y):
        at = place(low_x, y)[1]
        page.line(left, at, left + plot_width, at)
        page.text(left - 8, at + 4, f"{y:g}", 11, "end", SOFT)
    page.text(left + plot_width / 2, top + plot_height + 42, x_label, 12, "middle", SOFT)
    page.text(left - 52, top - 8, y_label, 12, colour=SOFT)
    for i, (name, points) in enumerate(series):
        colour = COLOURS[i % len(COLOURS)]
        placed = [place(x, y) for x, y in sorted(points)]
        page.path(placed, colour)
        for x, y in placed:
            page.dot(x, y, colour)
        page.line(left + plot_width + 18, top + 12 + 20 * i, left + plot_width + 36, top + 12 + 20 * i, colour, 2)
        page.text(left + plot_width + 42, top + 16 + 20 * i, name, 12)
    page.save(path)

"""Figures of chapter 5: sums that stall, and points sorted by pixel."""
from svg import AMBER, AMBER_PALE, BLUE, GREY, INK, LINE, PALE, RED, TEAL, TEAL_PALE, Figure


def stall():
    f = Figure(720, 300, "Sums of ones in f32, f16 and bf16")
    left, bottom, width, height = 80, 250, 460, 210
    for n in (0, 1024, 2048, 3072, 4096):
        x, y = left + width * n / 4096, bottom - height * n / 4096
        f.line(left, y, left + width, y, "#e4e7eb", 1)
        f.text(x, bottom + 20, f"{n}", 12, GREY, "middle")
        f.text(left - 8, y + 4, f"{n}", 12, GREY, "end")
    f.line(left, bottom, left + width, bottom, LINE)
    f.line(left, bottom, left, bottom - height, LINE)
    for limit, colour, name in ((4096, TEAL, "f32: 4096"), (2048, AMBER, "f16: sticks at 2048"), (256, RED, "bf16: sticks at 256")):
        def at(n):
            return left + width * n / 4096, bottom - height * min(n, limit) / 4096
        f.path([at(0), at(limit), at(4096)], colour, 2.2)
        f.text(left + width + 8, at(4096)[1] + 4, name, 12, colour, bold=True)
    f.text(left + width / 2, 292, "ones added", 12, GREY, "middle")
    f.text(left - 60, 26, "sum", 12, GREY)
    return f


def sorted_form():
    f = Figure(720, 330, "Direct: four reds a point. Sorted: points binned by pixel, one red a pixel")
    points = ((1.3, 1.4), (1.7, 1.2), (1.2, 1.8), (2.4, 1.6), (2.2, 1.3), (1.6, 2.3))

    def grid(x, y, touched):
        for row in range(4):
            for column in range(5):
                f.rect(x + 46 * column, y + 46 * row, 46, 46, AMBER_PALE if (column, row) in touched else PALE, LINE, 0)

    touched = {(int(px - 0.5) + dx, int(py - 0.5) + dy) for px, py in points for dx in (0, 1) for dy in (0, 1)}
    f.text(20, 28, f"direct: {len(points)} points, {4 * len(points)} reds", 14, bold=True)
    grid(20, 50, set())
    for px, py in points:
        for dx in (0, 1):
            for dy in (0, 1):
                cx, cy = int(px - 0.5) + dx + 0.5, int(py - 0.5) + dy + 0.5
                f.line(20 + 46 * px, 50 + 46 * py, 20 + 46 * cx, 50 + 46 * cy, RED, 1)
    f.text(400, 28, f"sorted: {len(touched)} pixels, {len(touched)} reds", 14, bold=True)
    grid(400, 50, touched)
    for column, row in sorted(touched):
        visits = sum((int(px - 0.5) + dx, int(py - 0.5) + dy) == (column, row) for px, py in points for dx in (0, 1) for dy in (0, 1))
        f.text(400 + 46 * column + 23, 50 + 46 * row + 29, f"{visits}", 15, AMBER, "middle", bold=True)
    for px, py in points:
        f.circle(20 + 46 * px, 50 + 46 * py, 4, TEAL)
    f.text(20, 260, "a line is one addition to a pixel in L2", 12, GREY)
    f.text(400, 260, "a number is how many points meet on the pixel;", 12, GREY)
    f.text(400, 278, "they are added in registers, then sent once", 12, GREY)
    f.text(20, 312, "The more points of a tile share their pixels, the more is saved.", 12, GREY)
    return f


FIGURES = {"stall": stall, "sorted": sorted_form}

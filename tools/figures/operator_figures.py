"""Figures of chapter 1: what is attended to, and how a location becomes four pixels."""
from svg import AMBER, AMBER_PALE, BLUE, GREY, INK, LINE, PALE, TEAL, TEAL_PALE, Figure

LEVELS = [(8, 12), (4, 6), (2, 3)]  # a small pyramid to draw


def pyramid(f, x, y, shade):
    """Draws the levels beside each other; shade(level, column, row) gives a pixel's colour. Returns each level's place and cell size."""
    places = []
    for l, (height, width) in enumerate(LEVELS):
        cell = 12 * (1 + 0.3 * l)
        for row in range(height):
            for column in range(width):
                f.rect(x + column * cell, y + row * cell, cell, cell, shade(l, column, row), LINE, 0, width=0.6)
        places.append((x, y, cell))
        x += width * cell + 10
    return places


def attention():
    f = Figure(720, 230, "Dense attention reads every pixel of every level; deformable attention reads a few places")
    f.text(20, 28, "dense: the query weighs every pixel", 14, bold=True)
    pyramid(f, 20, 50, lambda l, c, r: AMBER_PALE)
    f.text(385, 28, "deformable: P places on each level", 14, bold=True)
    places = pyramid(f, 385, 50, lambda l, c, r: PALE)
    for l, points in enumerate([[(4.3, 2.2), (5.9, 3.7), (6.8, 2.0), (5.2, 5.1)], [(2.2, 1.1), (3.1, 1.9), (3.6, 1.2), (2.6, 2.7)],
                                [(1.0, 0.6), (1.6, 1.0), (1.9, 0.6), (1.3, 1.4)]]):
        x, y, cell = places[l]
        for px, py in points:
            f.circle(x + px * cell, y + py * cell, 3.6, TEAL)
    x, y, cell = places[0]
    f.circle(x + 5.5 * cell, y + 3.5 * cell, 4.5, "none", AMBER)
    f.text(20, 192, "S weights for each query and head", 13, GREY)
    f.text(385, 192, "L · P weights for each query and head (here 3 · 4);", 11.5, GREY)
    f.text(385, 212, "the ring is the query's own place", 12, GREY)
    return f


def half_pixel():
    f = Figure(720, 190, "The half-pixel rule: pixel i is at (i + one half) / W")
    left, cell = 100, 130
    for i in range(4):
        f.rect(left + i * cell, 70, cell, 44, TEAL_PALE if i % 2 == 0 else PALE)
        f.circle(left + (i + 0.5) * cell, 92, 4, TEAL)
        f.text(left + (i + 0.5) * cell, 138, f"{i}", 14, TEAL, "middle", bold=True)
        f.text(left + (i + 0.5) * cell, 56, f"{(i + 0.5) / 4}", 13, GREY, "middle")
    for i in range(5):
        f.line(left + i * cell, 62, left + i * cell, 114)
        f.text(left + i * cell, 36, f"{i / 4:g}", 13, INK, "middle", bold=i in (0, 4))
        f.text(left + i * cell, 138, f"{i - 0.5}", 13, GREY, "middle")
    f.text(12, 36, "x", 13, bold=True)
    f.text(12, 138, "x_im", 13, TEAL, bold=True)
    f.text(left, 170, "x_im = x · 4 − ½. Edges lie at multiples of ¼, values at the dots.", 13, GREY)
    return f


def bilinear():
    f = Figure(720, 320, "A point between four pixel centres and the area that each corner weighs")
    x0, y0, size, lx, ly = 90, 50, 210, 0.3, 0.6
    px, py = x0 + lx * size, y0 + ly * size
    f.rect(x0, y0, px - x0, py - y0, "#dbeafe", "none", 0)
    f.rect(px, y0, x0 + size - px, py - y0, AMBER_PALE, "none", 0)
    f.rect(x0, py, px - x0, y0 + size - py, "#f3e8ff", "none", 0)
    f.rect(px, py, x0 + size - px, y0 + size - py, TEAL_PALE, "none", 0)
    f.rect(x0, y0, size, size, "none", LINE, 0)
    f.line(px, y0, px, y0 + size, GREY, 1, "4 3")
    f.line(x0, py, x0 + size, py, GREY, 1, "4 3")
    for dx, dy, colour in ((0, 0, TEAL), (1, 0, "#7e22ce"), (0, 1, AMBER), (1, 1, BLUE)):
        f.circle(x0 + dx * size, y0 + dy * size, 8, colour)
    for dx, dy, name, anchor in ((0, 0, "00", "end"), (1, 0, "01", "start"), (0, 1, "10", "end"), (1, 1, "11", "start")):
        f.text(x0 + dx * size + (14 if dx else -14), y0 + dy * size + 5, name, 14, INK, anchor, bold=True)
    f.circle(px, py, 5.5, INK)
    f.text((x0 + px) / 2, y0 - 14, "lx", 14, GREY, "middle")
    f.text((px + x0 + size) / 2, y0 - 14, "1 − lx", 14, GREY, "middle")
    f.text(x0 - 14, (y0 + py) / 2 + 5, "ly", 14, GREY, "end")
    f.text(x0 - 14, (py + y0 + size) / 2 + 5, "1 − ly", 14, GREY, "end")
    f.text(390, 70, "a corner weighs its colour's area", 14, bold=True)
    rows = (("w00", "(1 − lx)(1 − ly) = 0.28", TEAL), ("w01", "lx (1 − ly) = 0.12", "#7e22ce"), ("w10", "(1 − lx) ly = 0.42", AMBER),
            ("w11", "lx · ly = 0.18", BLUE))
    for i, (name, formula, colour) in enumerate(rows):
        f.circle(410, 105 + 32 * i, 7, colour)
        f.text(430, 110 + 32 * i, f"{name} = {formula}", 14)
    f.text(400, 246, "drawn: lx = 0.3, ly = 0.6; together 1", 13, GREY)
    f.text(400, 270, "a corner's weight is the opposite area:", 13, GREY)
    f.text(400, 288, "the nearer the point, the larger that area", 13, GREY)
    return f


def row():
    f = Figure(720, 260, "The layout of value: levels along S, heads in a pixel, channels in a row")
    f.text(20, 30, "one image of value: S pixels, level after level", 13, bold=True)
    x = 20
    for name, width, fill in (("level 0: 100 × 167", 330, TEAL_PALE), ("1: 50 × 84", 170, PALE), ("2: 25 × 42", 105, TEAL_PALE), ("3", 50, PALE)):
        f.box(x, 42, width, 34, name, fill, size=12)
        x += width
    f.line(300, 76, 60, 118, GREY)
    f.line(306, 76, 660, 118, GREY)
    f.text(330, 112, "one pixel: M = 8 heads", 13, anchor="middle", bold=True)
    for m in range(8):
        f.box(60 + 75 * m, 118, 75, 34, f"head {m}", AMBER_PALE if m == 2 else PALE, size=12)
    f.line(210, 152, 60, 196, GREY)
    f.line(285, 152, 660, 196, GREY)
    f.text(330, 190, "one row: D = 32 channels", 13, anchor="middle", bold=True)
    for d in range(32):
        f.rect(60 + 18.75 * d, 196, 18.75, 30, AMBER_PALE, LINE, 0)
    f.text(360, 246, "in f16: 32 · 2 = 64 bytes next to each other, what one lane group reads for one corner", 12, GREY, "middle")
    return f


FIGURES = {"attention": attention, "half-pixel": half_pixel, "bilinear": bilinear, "row": row}

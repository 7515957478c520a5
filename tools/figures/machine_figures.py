"""Figures of chapter 2: the memory hierarchy with its measured rates, sectors and banks."""
import json
from pathlib import Path

from svg import AMBER, AMBER_PALE, GREY, LINE, PALE, TEAL, TEAL_PALE, Figure

H200 = Path(__file__).resolve().parents[2] / "docs/benchmarks/h200.json"

# Measured, TB/s, rounded: a new run of the same benchmark does not redraw the figure.
RATES = {("l1", "64"): 22, ("l1", "128"): 31, ("l2", "64"): 9, ("l2", "128"): 9, ("dram", "64"): 3, ("dram", "128"): 5}


def hierarchy():
    ceilings = json.loads(H200.read_text())["ceilings"]
    f = Figure(720, 330, "The memory hierarchy of an SM with the rates measured for random rows")
    f.rect(20, 20, 330, 170, "#ffffff", TEAL, 6)
    f.text(34, 42, "one of 132 SMs", 13, TEAL, bold=True)
    for i in range(4):
        f.box(34 + 76 * i, 54, 70, 46, "scheduler\nregisters", PALE, size=11)
    f.box(34, 116, 298, 58, "L1 cache and shared memory\none array, 32 banks of 4 bytes", TEAL_PALE, size=12)
    f.box(20, 222, 330, 36, "L2 cache, for all SMs: 60 MB", AMBER_PALE, size=13)
    f.box(20, 282, 330, 36, "device memory (DRAM)", PALE, size=13)
    f.line(185, 192, 185, 220, GREY, arrow=True)
    f.line(185, 260, 185, 280, GREY, arrow=True)
    f.text(198, 210, "32-byte sectors", 12, GREY)
    f.text(380, 42, "random rows, all SMs together, TB/s", 13, bold=True)
    for y, name, words in ((116, "l1", "from L1"), (216, "l2", "from L2"), (276, "dram", "from DRAM")):
        for i, (size, colour) in enumerate((("64", TEAL), ("128", AMBER))):
            rate = RATES[name, size]
            assert abs(rate - ceilings[f"gather_{name}_{size}_bytes_per_s"] / 1e12) < 1, "RATES are not what was measured"
            f.rect(380, y + 24 * i, rate * 6.5, 18, colour, "none", 2)
            f.text(388 + rate * 6.5, y + 14 + 24 * i, f"{rate}  ({size}-byte rows)", 12)
    return f


def sectors():
    f = Figure(720, 300, "Three access patterns of a warp and the sectors that each touches")
    rows = (("32 neighbouring floats: 4 sectors, 128 of 128 bytes used", range(4), 4), ("every second float: 8 sectors, 128 of 256 bytes used", range(8), 8),
            ("floats far apart: 32 sectors, 128 of 1024 bytes used", range(0, 32, 2), 32))
    for r, (words, touched, _) in enumerate(rows):
        y = 30 + 92 * r
        f.text(20, y, words, 13, bold=True)
        for s in range(32):
            hit = s in touched
            f.rect(20 + 21 * s, y + 12, 21, 28, TEAL_PALE if hit else PALE, TEAL if hit else LINE, 0)
            for lane in range(8):
                used = hit and (r == 0 or (r == 1 and lane % 2 == 0) or (r == 2 and lane == s % 7))
                if used:
                    f.rect(20 + 21 * s + lane * 2.6, y + 15, 2, 22, TEAL, "none", 0)
    f.text(20, 272, "A box is a sector of 32 bytes, a dark bar a float that a lane asked for. Four boxes are a line.", 12, GREY)
    f.text(20, 290, "In the last row every second sector of a longer stretch is drawn: the other 16 lie further on.", 12, GREY)
    return f


def banks():
    f = Figure(720, 270, "Eight lanes read two 64-byte rows: same half of the banks, or both halves")
    f.text(20, 28, "one head a warp: both rows lie in the lower half of their lines", 13, bold=True)
    f.text(20, 148, "an even and an odd head: the rows fill all banks", 13, bold=True)
    for y, second in ((40, 0), (160, 16)):
        for bank in range(32):
            first_here, second_here = bank < 16, second <= bank < second + 16
            f.rect(120 + 18 * bank, y, 18, 22, TEAL_PALE if first_here else PALE, LINE, 0)
            f.rect(120 + 18 * bank, y + 28, 18, 22, AMBER_PALE if second_here else PALE, LINE, 0)
        f.text(20, y + 16, "lanes 0–3", 12, TEAL)
        f.text(20, y + 44, "lanes 4–7", 12, AMBER)
        f.text(120, y + 68, "bank 0", 11, GREY)
        f.text(696, y + 68, "bank 31", 11, GREY, "end")
        f.text(408, y + 70, "2 wavefronts: 16 banks are asked for two words each" if second == 0 else "1 wavefront: each bank gives one word", 13,
               anchor="middle")
    return f


FIGURES = {"hierarchy": hierarchy, "sectors": sectors, "banks": banks}

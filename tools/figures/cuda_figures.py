"""Figure of chapter 3: how a thread finds its place."""
from svg import AMBER, AMBER_PALE, GREY, LINE, PALE, TEAL, TEAL_PALE, Figure


def grid():
    f = Figure(720, 260, "A grid of blocks, a block of warps, a warp of 32 lanes")
    f.text(20, 28, "grid: 4 blocks (n = 1000)", 13, bold=True)
    for b in range(4):
        f.box(20 + 170 * b, 38, 170, 34, f"block {b}", AMBER_PALE if b == 2 else PALE)
    f.line(360, 72, 20, 112, GREY)
    f.line(530, 72, 700, 112, GREY)
    f.text(445, 100, "block 2: 256 threads, 8 warps", 13, anchor="middle", bold=True)
    for w in range(8):
        f.box(20 + 85 * w, 112, 85, 34, f"warp {w}", TEAL_PALE if w == 3 else PALE)
    f.line(275, 146, 20, 186, GREY)
    f.line(360, 146, 700, 186, GREY)
    f.text(318, 174, "warp 3: 32 lanes, one instruction", 13, anchor="middle", bold=True)
    for lane in range(32):
        f.rect(20 + 21.25 * lane, 186, 21.25, 28, AMBER_PALE if lane == 5 else TEAL_PALE, LINE, 0)
        f.text(20 + 21.25 * (lane + 0.5), 204, f"{lane}", 10, AMBER if lane == 5 else TEAL, "middle")
    f.text(20, 244, "lane 5 of warp 3: threadIdx.x = 3 · 32 + 5 = 101, and i = 2 · blockDim.x + 101 = 613", 12, GREY)
    return f


FIGURES = {"grid": grid}

"""Figures of chapters 6 and 7: what a timing covers, and what checks what."""
from svg import AMBER, AMBER_PALE, BLUE_PALE, GREY, INK, LINE, PALE, RED, TEAL, TEAL_PALE, Figure


def timeline():
    f = Figure(720, 430, "Host and GPU over time under four ways of timing")

    def lanes(y, title):
        f.text(20, y, title, 13, bold=True)
        for k, name in enumerate(("host", "GPU")):
            f.text(20, y + 24 + 26 * k, name, 11, GREY)
            f.line(60, y + 31 + 26 * k, 700, y + 31 + 26 * k, LINE, 1)

    def bars(y, row, spans, fill, stroke):
        for start, width in spans:
            f.rect(60 + start, y + 12 + 26 * row, width, 18, fill, stroke, 2)

    def measured(y, start, end):
        f.line(60 + start, y + 70, 60 + end, y + 70, RED, 2)
        for x in (start, end):
            f.line(60 + x, y + 65, 60 + x, y + 75, RED, 2)

    y = 24
    lanes(y, "a clock around each launch: the host's work")
    bars(y, 0, [(0, 34), (34, 34), (68, 34)], AMBER_PALE, AMBER)
    bars(y, 1, [(34, 90), (124, 90), (214, 90)], TEAL_PALE, TEAL)
    measured(y, 0, 102)
    y = 128
    lanes(y, "a wait after each launch: launch, kernel and the way back")
    bars(y, 0, [(0, 34), (160, 34), (320, 34)], AMBER_PALE, AMBER)
    bars(y, 0, [(34, 126), (194, 126), (354, 126)], "#ffffff", LINE)
    bars(y, 1, [(34, 90), (194, 90), (354, 90)], TEAL_PALE, TEAL)
    measured(y, 0, 480)
    y = 232
    lanes(y, "one wait at the end, short kernels: the host is the slower side")
    bars(y, 0, [(34 * i, 34) for i in range(6)], AMBER_PALE, AMBER)
    bars(y, 1, [(34 * (i + 1), 20) for i in range(6)], TEAL_PALE, TEAL)
    measured(y, 0, 224)
    y = 336
    lanes(y, "the queue held back until it is full, GPU events around it: the kernels")
    bars(y, 0, [(34 * i, 34) for i in range(6)], AMBER_PALE, AMBER)
    bars(y, 1, [(0, 208)], PALE, LINE)
    bars(y, 1, [(208 + 20 * i, 20) for i in range(6)], TEAL_PALE, TEAL)
    f.text(116, y + 51, "held", 11, GREY)
    measured(y, 208, 328)
    f.text(480, 424, "red: what the timing covers", 12, RED)
    return f


def chain():
    f = Figure(720, 190, "The chain of references")
    names = (("formulas", BLUE_PALE), ("naive loops\nCPU, double", PALE), ("reference\nCPU, all threads", PALE), ("oracle\nGPU, double", PALE),
             ("kernels", TEAL_PALE))
    for i, (words, fill) in enumerate(names):
        f.box(16 + 142 * i, 50, 120, 54, words, fill, size=12)
        if i:
            f.line(16 + 142 * i - 22, 77, 16 + 142 * i - 2, 77, INK, arrow=True)
    for i, words in enumerate(("by reading", "small problems", "large problems", "every run")):
        f.text(147 + 142 * i, 40, words, 11, GREY, "middle")
    f.box(216, 134, 288, 34, "central differences of its own forward", AMBER_PALE, AMBER, 12)
    f.line(360, 132, 360, 107, AMBER, arrow=True)
    f.text(372, 124, "gradients", 11, GREY)
    return f


FIGURES = {"timeline": timeline, "chain": chain}

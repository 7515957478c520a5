"""Figures of chapter 4: how a warp is divided, and what a tile of queries looks at."""
from svg import AMBER, AMBER_PALE, GREY, INK, LINE, PALE, TEAL, TEAL_PALE, Figure


def lanes():
    f = Figure(720, 230, "A warp of the encoder's forward: four queries, two heads, four lanes a row")
    f.text(20, 28, "one warp: 4 queries × 2 heads × 4 lanes", 13, bold=True)
    for query in range(4):
        f.box(20 + 170 * query, 40, 170, 30, f"query {query}", PALE)
        for head in range(2):
            x = 20 + 170 * query + 85 * head
            f.box(x, 70, 85, 30, "even head" if head == 0 else "odd head", TEAL_PALE if head == 0 else AMBER_PALE, size=12)
            for lane in range(4):
                f.rect(x + 21.25 * lane, 100, 21.25, 28, TEAL_PALE if head == 0 else AMBER_PALE, LINE, 0)
                f.text(x + 21.25 * (lane + 0.5), 118, f"{8 * query + 4 * head + lane}", 10, INK, "middle")
    for part in range(4):
        f.line(22 + 170 * part, 140, 188 + 170 * part, 140, GREY, 1.2)
        f.text(105 + 170 * part, 156, "served together", 11, GREY, "middle")
    f.text(20, 186, "A group of four lanes reads the 64 bytes of one corner, eight channels a lane; each lane prepares", 12, GREY)
    f.text(20, 204, "a quarter of the row's points. Eight lanes served together hold an even and an odd head: all 32 banks.", 12, GREY)
    return f


def tiles():
    f = Figure(720, 250, "32 queries as a strip and as a rectangle, and the pixels around them")

    def draw(x, y, columns, rows, words):
        cell, reach = 9, 3
        for row in range(rows + 2 * reach):
            for column in range(columns + 2 * reach):
                own = reach <= row < reach + rows and reach <= column < reach + columns
                f.rect(x + cell * column, y + cell * row, cell, cell, TEAL if own else AMBER_PALE, "#ffffff", 0, width=0.6)
        f.text(x, y - 12, words, 13, bold=True)
        f.text(x, y + cell * (rows + 2 * reach) + 20, f"{(columns + 2 * reach) * (rows + 2 * reach)} pixels within reach", 12, GREY)

    draw(20, 50, 32, 1, "a strip of 32 × 1")
    draw(440, 50, 8, 4, "a rectangle of 8 × 4")
    f.text(20, 210, "Dark: the queries of a block. Light: what they look at, if each reaches three pixels far.", 12, GREY)
    f.text(20, 230, "The nearer to a square, the less edge: less to load, more to share.", 12, GREY)
    return f


FIGURES = {"lanes": lanes, "tiles": tiles}

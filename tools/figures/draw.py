#!/usr/bin/env python3
"""Draws every figure of docs/ into FOLDER (docs/course/img in this repository). Usage: tools/figures/draw.py FOLDER"""
import sys
from pathlib import Path

import backward_figures
import cuda_figures
import database_figures
import forward_figures
import machine_figures
import method_figures
import operator_figures

MODULES = (operator_figures, machine_figures, cuda_figures, forward_figures, backward_figures, method_figures, database_figures)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for module in MODULES:
        for name, draw in module.FIGURES.items():
            (folder / f"{name}.svg").write_text(draw().render(), encoding="utf-8")


if __name__ == "__main__":
    main()

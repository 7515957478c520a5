#!/usr/bin/env python3
"""Every code block of docs/ and README.md is run, compiled or compared with the source it quotes; every path and name in
the text exists, every measured figure is the one measured.

The line before a fence says how: <!-- block: MODE [ARGUMENTS] -->. docs/writing.md lists the modes. A fence without it fails, and so
does an indented code block. Blocks of one page share a folder and run in order.
Usage: tests/docs/blocks.py BUILD_FOLDER [PAGE.md...]    The last line is "N passed, N failed, N skipped".
"""
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from figures_of import check_figures  # noqa: E402
from modes import Machine, Page, Skip  # noqa: E402
from pages import blocks_of, check_text  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


def check_page(path, machine, count):
    name = path.relative_to(ROOT)
    text = path.read_text(encoding="utf-8")
    blocks, complaints = blocks_of(text)
    complaints += check_text(text, ROOT) + check_figures(text, ROOT)
    for complaint in complaints:
        print(f"FAILED {name}: {complaint}")
        count["failed"] += 1
    count["passed"] += not complaints
    with tempfile.TemporaryDirectory() as folder:
        page = Page(machine, Path(folder))
        for block in blocks:
            what = f"{name}:{block.line} {block.language} {block.mode}"
            try:
                page.check(block)
                count["passed"] += 1
            except Skip as reason:
                print(f"skipped {what}: {reason}")
                count["skipped"] += 1
            except (AssertionError, ValueError, OSError, subprocess.SubprocessError) as error:
                print(f"FAILED {what}\n{error}")
                count["failed"] += 1


def main():
    machine = Machine(ROOT, Path(sys.argv[1]).resolve())
    pages = [Path(p).resolve() for p in sys.argv[2:]] or [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    count = {"passed": 0, "failed": 0, "skipped": 0}
    for path in pages:
        check_page(path, machine, count)
        sys.stdout.flush()
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**count))
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The checks of blocks.py find what is wrong: each page below has one defect and must fail, the sound one must pass.
Usage: tests/docs/seeded.py BUILD_FOLDER"""
import contextlib
import io
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from blocks import ROOT, check_page  # noqa: E402
from modes import Machine  # noqa: E402


def block(mode, language, text):
    return f"<!-- block: {mode} -->\n```{language}\n{text}\n```\n\n"


HELLO = block("run", "sh", "echo one; echo two")
SOUND = (HELLO + block("output", "text", "one\n…") + block("quote tests/docs/run", "sh", "run_script strict_site\n…\nclosing_line") +
         block("nvrtc", "cuda", "__global__ void f(int* p) { *p = 1; }") + block("compile", "cpp", "#include <msda/msda.hpp>") +
         "`tests/docs/run`, 68 µs<!-- earlier: forward shuffle staging -->\n")
DEFECTS = {
    "untagged": "```sh\ntrue\n```\n",
    "unknown mode": block("hope", "sh", "true"),
    "indented": "Text.\n\n    indented code\n",
    "never closed": "<!-- block: run -->\n```sh\ntrue\n",
    "failing command": block("run", "sh", "false"),
    "failing in a pipe": block("run", "sh", "false | true"),
    "wrong output": HELLO + block("output", "text", "one\nthree"),
    "output too short": HELLO + block("output", "text", "one"),
    "changed quote": block("quote tests/docs/run", "sh", "run_script strict_sight"),
    "quote out of order": block("quote tests/docs/run", "sh", "closing_line\n…\nrun_script strict_site"),
    "missing line": block("lines tests/docs/run", "sh", "set -euo pipefool"),
    "wrong C++": block("compile", "cpp", "#include <msda/msda.hpp>\nmsda::Problem p = 3;"),
    "warning in C++": block("compile", "cpp", "int f() { int unused; return 1; }"),
    "wrong CUDA": block("nvrtc", "cuda", "__global__ void f(int* p) { *q = 1; }"),
    "wrong Python": block("run", "python", "assert 1 == 2"),
    "wrong JSON": block("parse", "json", "{1}"),
    "no such option": block("syntax", "sh", "msda run --shap ddetr-enc"),
    "no need for a driver": block("gpu", "sh", "msda shapes"),
    "no such path": "`tests/docs/rum`\n",
    "no such member": "`Operator::lanch`\n",
    "wrong figure": "93 µs<!-- earlier: forward shuffle staging -->\n",
    "ambiguous figure": "107 µs<!-- h200: ddetr-enc f16 -->\n",
}


def failures(text, machine):
    page = ROOT / "build" / "seeded.md"
    page.parent.mkdir(exist_ok=True)
    page.write_text(text, encoding="utf-8")
    count = {"passed": 0, "failed": 0, "skipped": 0}
    with contextlib.redirect_stdout(io.StringIO()) as said:
        check_page(page, machine, count)
    page.unlink()
    return count["failed"], said.getvalue()


def main():
    machine = Machine(ROOT, Path(sys.argv[1]).resolve())
    wrong, said = failures(SOUND, machine)
    missed = [f"the sound page fails:\n{said}"] if wrong else []
    for name, text in DEFECTS.items():
        if "nvrtc" in text and not machine.nvrtc:
            continue
        if not failures(text, machine)[0]:
            missed.append(f"not found: {name}")
    print("\n".join(missed) or f"{len(DEFECTS)} defects found")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Reads a Markdown page: its fenced blocks with their modes, and what its text says of files and names in this repository."""
import re
from dataclasses import dataclass, field

TAG = re.compile(r"^\s*<!-- block: (\S+)(?: (.*?))? -->\s*$")
FENCE = re.compile(r"^(\s*)(`{3,}|~{3,})\s*(\S*)\s*$")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+\.)\s|^(!!!|\?\?\?)|^\[\^")
FOLDERS = ("templates", "generator", "tuning_db", "runtime", "tools", "tests", "labs", "docs", "python", "examples", "cmake", ".ci")
SOURCES = ("templates", "generator", "tuning_db", "runtime", "tools", "tests")


@dataclass
class Block:
    line: int  # of the fence, from 1
    language: str
    mode: str
    arguments: list = field(default_factory=list)
    text: str = ""


def blocks_of(text):
    """All fenced blocks, and a complaint for each one without a mode and for each indented code block."""
    blocks, complaints = [], []
    lines = text.split("\n")
    inside, indent, last_text, tag = None, "", "", None
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if inside is not None:
            if fence and not fence[3] and fence[2].startswith(closing):
                inside.text = "\n".join(collected) + "\n"
                blocks.append(inside)
                inside, tag = None, None
            else:
                collected.append(line[len(indent):] if line.startswith(indent) else line)
            continue
        if fence:
            indent, closing, collected = fence[1], fence[2], []
            if not tag:
                complaints.append(f"line {number}: expected <!-- block: MODE --> on the line before the fence")
            inside = Block(number, fence[3], tag[1] if tag else "plain", (tag[2] or "").split() if tag else [])
            continue
        tag = TAG.match(line)
        if line.startswith("    ") and number > 1 and not lines[number - 2].strip() and not LIST_ITEM.match(last_text):
            complaints.append(f"line {number}: an indented code block; fence it and say how it is checked")
        if line.strip() and not line.startswith(" "):
            last_text = line
    if inside is not None:
        complaints.append(f"line {inside.line}: this fence is never closed")
    return blocks, complaints


def check_text(text, root):
    """Complaints about `folder/file` that does not exist and `Type::member` that no source knows."""
    complaints = []
    prose = re.sub(r"(?ms)^\s*(`{3,}).*?^\s*\1\s*$", "", text)
    for quoted in sorted(set(re.findall(r"`([^`\n]+)`", prose))):
        path = re.fullmatch(r"([\w.]+)/[\w./-]*", quoted)
        if path and path[1] in FOLDERS and (root / path[1]).exists() and not (root / quoted).exists():
            complaints.append(f"`{quoted}` does not exist in this repository")
        name = re.fullmatch(r"([A-Z]\w+)::(\w+)(?:\(\))?", quoted)
        if name and not known(name[1], name[2], root):
            complaints.append(f"`{quoted}`: no source file has both names")
    return complaints


_sources = {}


def known(kind, member, root):
    if not _sources:
        for folder in SOURCES:
            for path in (root / folder).rglob("*"):
                if path.suffix in (".cuh", ".cpp", ".hpp", ".inl"):
                    _sources[path] = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return any(kind in words and member in words for words in _sources.values())

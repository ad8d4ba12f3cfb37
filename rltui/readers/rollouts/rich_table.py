"""TRL's table of completions on standard output (`log_completions`): a panel titled with the step, in it a table of
prompt, completion, rewards and advantage, drawn by rich as wide as the terminal was."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rltui.readers.rollouts.base import Raw

MARK = "─ Step ".encode()
PANEL = re.compile("(?m)^╭(?:─)+ Step (?P<step>\\d{1,12}) (?:─)+╮[ \\t\\r]*$".encode())
_CUT = "…"  # rich cuts what is wider than its column


def body(data: bytes, start: int) -> bytes:
    """The lines of a panel from its title's end on."""
    end = data.find("\n╰".encode(), start)
    return data[start : end if end >= 0 else len(data)]


def raws(text: str, step: int) -> list[Raw]:
    """The samples of a panel's table; none where it holds another one."""
    names: list[str] = []
    found: list[Raw] = []
    for cells in _rows(text):
        if not names:
            names = cells
            if names[:2] != ["Prompt", "Completion"]:
                return []
        elif len(cells) == len(names):
            found.append(_sample(dict(zip(names, cells, strict=True)), step))
    return found


def _rows(text: str) -> Iterator[list[str]]:
    """The rows of the table, its heading first; a cell may take several lines."""
    lines: list[list[str]] = []
    for line in text.split("\n"):
        inner = line.strip().removeprefix("│").removesuffix("│").strip()
        if inner[:1] in ("┃", "│"):
            lines.append([cell[1:-1] for cell in inner[1:-1].split(inner[0])])
        elif inner[:1] in ("┡", "├", "└", "┗") and lines:
            width = len(lines[0])
            yield [_joined([cells[i] for cells in lines if len(cells) == width]) for i in range(width)]
            lines = []


def _joined(parts: list[str]) -> str:
    """The lines of a cell as one text: a line that had no room for the next word was wrapped, others end there."""
    while parts and not parts[-1].strip():
        parts.pop()
    out = ""
    for number, part in enumerate(parts):
        out += part.strip()
        if number + 1 < len(parts):
            words = parts[number + 1].split(None, 1)
            wrapped = bool(words) and len(part.rstrip()) + 1 + len(words[0]) > len(part)
            out += " " if wrapped else "\n"
    return out


def _sample(cells: dict[str, str], step: int) -> Raw:
    numbers = {name: float(cell) for name, cell in cells.items() if re.fullmatch(r"[-+]?\d+\.\d+", cell)}
    advantage = next((numbers.pop(name) for name in list(numbers) if name.rstrip(_CUT) in "Advantage"), None)
    return Raw(step, cells["Prompt"], cells["Completion"], None, numbers, advantage, None, None, None)

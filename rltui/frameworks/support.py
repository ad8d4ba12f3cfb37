"""A table of what rltui reads from each framework's runs, made from the frameworks' data files."""

from __future__ import annotations

from rltui.frameworks.load import dialect, dialect_names
from rltui.frameworks.schema import GENERIC, Ran, Support
from rltui.prose import sentence

PARTS = ("console", "files", "phases", "config", "samples", "checkpoints")
SHOWN = {
    "real": "on a real log",
    "writer": "on output of the framework's own writer",
    "built": "on lines built to its format",
}
RAN = {"trainer": "own trainer", "logger": "own logger", "source": "public source only"}
_MARKS = {"real": "R", "writer": "W", "built": "B"}


def markdown_table() -> str:
    """A table with a row for each framework and a column for each part: yes, partly or no, with R, W or B for what
    shows it, and what was run. Notes are below the table."""
    lines = ["| framework | " + " | ".join(PARTS) + " | what was run |", "|---|" + "---|" * (len(PARTS) + 1)]
    notes: list[str] = []
    for name in sorted(dialect_names(), key=_order):
        own = dialect(name)
        cells = [_cell(own.support[part], notes) for part in PARTS]
        lines.append(f"| {own.label} | " + " | ".join(cells) + f" | {_ran(own.ran)} |")
    legend = ", ".join(f"{mark} {SHOWN[kind]}" for kind, mark in _MARKS.items())
    said = " ".join(f"{i} {sentence(note)}" for i, note in enumerate(notes, 1))
    return "\n".join(
        [
            *lines,
            "",
            f"Shown: {legend}. What was run: its own trainer, its own logging code with known numbers, or nothing. "
            f"Notes: {said}.",
        ]
    )


def _order(name: str) -> tuple[bool, str]:
    """Sort key: by name, home-made loops last."""
    return name == GENERIC, dialect(name).label.lower()


def _ran(ran: Ran | None) -> str:
    return f"{RAN[ran.what]} {ran.version}".strip() if ran is not None else ""


def _cell(support: Support, notes: list[str]) -> str:
    text = " ".join(filter(None, (support.state, _MARKS.get(support.shown, ""))))
    if not support.note:
        return text
    if support.note not in notes:
        notes.append(support.note)
    return f"{text} [{notes.index(support.note) + 1}]"

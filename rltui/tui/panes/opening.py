"""The main screen until the first frame: the names of the panes, and what is being opened."""

from __future__ import annotations

from rltui.tui.rows import Row, title, wrap
from rltui.tui.view import View

TITLES = {
    "findings": ("1", "Findings"),
    "metrics": ("2", "Metrics"),
    "phases": ("3", "Step time"),
    "gpu": ("4", "GPU"),
    "log": ("6", "Log and events"),
}
NEEDED = {"findings": 2, "phases": 3, "gpu": 2}


def draw(view: View, pane: str, width: int, focus: bool) -> list[Row]:
    if pane == "header":
        return [[(" ", "fg"), ("rltui", "strong")]]
    if pane == "verdict":
        waits = "Waiting for a first line on standard input" if view.target == "-" else f"Opening {view.target}"
        lines = wrap(f"{waits} …", width - 2)
        return [[(" ", "fg"), (line, "fg")] for line in lines[:2]]
    return [title(width, *TITLES[pane], None, focus)] if pane in TITLES else []

"""The main screen before the first report: the names of the panes and what is being opened, then its newest values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import integer
from rltui.tui.rows import Row, spread, title, wrap
from rltui.tui.view import View

TITLES = {
    "findings": ("1", "Findings"),
    "metrics": ("2", "Metrics"),
    "phases": ("3", "Step time"),
    "gpu": ("4", "GPU"),
    "log": ("6", "Log and events"),
}
NEEDED = {"verdict": 3, "findings": 2, "phases": 3, "gpu": 2}
"""Rows of the panes before a run is read."""


if TYPE_CHECKING:
    from rltui.report.names import FirstValues


def draw(view: View, pane: str, width: int, height: int, focus: bool) -> list[Row]:
    if view.first is not None:
        return _first(view, view.first, pane, width, height, focus)
    if pane == "header":
        return [[(" ", "fg"), ("rltui", "strong")]]
    if pane == "verdict":
        waits = "Waiting for a first line on standard input" if view.target == "-" else f"Opening {view.target}"
        told = f"Waiting for a run, q quits. {view.awaited}" if view.awaited else f"{waits} …"
        lines = wrap(told, width - 2)
        return [[(" ", "fg"), (line, "fg")] for line in lines[: NEEDED[pane]]]
    return [title(width, *TITLES[pane], None, focus)] if pane in TITLES else []


def _first(view: View, values: FirstValues, pane: str, width: int, height: int, focus: bool) -> list[Row]:
    """The same with the newest values, in their final places. The rest is still being read."""
    if pane == "metrics":
        from rltui.tui.panes import metrics

        shown = metrics.draw(view, width, height, focus=focus, selected=None, everything=False, pattern=None)
        return shown[0]
    if pane == "header":
        wide = width >= 120
        who: Row = [(" ", "fg"), (values.id, "strong")]
        who.append((f"   {values.framework}" if values.framework and width >= 110 else "", "dim"))
        step: Row = [("step " if wide else "", "dim"), (integer(values.last_step), "strong")]
        size = f" of {values.bytes / 1e6:.0f} MB" if wide else ""  # as the header shows it later
        read: Row = [(f"{'   ' if wide else '  '}reading ", "dim"), ("0 %", "fg"), (size, "dim")]
        return [spread(width - 1, who, [*step, *read])]
    if pane == "verdict":
        lines = wrap(f"Reading {view.target} …", width - 2)
        return [[(" ", "fg"), (line, "fg")] for line in lines[:2]]
    if pane in TITLES:
        return [title(width, *TITLES[pane], None, focus), [("   reading …", "dim")]]
    return []

"""Several runs were found: which one?"""

from __future__ import annotations

from datetime import datetime
from typing import ClassVar

from textual.geometry import Region, Size

from rltui.plots.numbers import size as size_text
from rltui.tui.rows import SELECTED, Row, put, scrolled, spread, title
from rltui.tui.screens.base import PaneScreen, Places
from rltui.tui.worker import Choice


def when(modified: float | None) -> str:
    if modified is None:
        return ""
    try:
        return datetime.fromtimestamp(modified).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


class PickerScreen(PaneScreen):
    """A table of runs; Enter opens."""

    NAME = "picker"
    PANES: ClassVar[tuple[str, ...]] = ("header", "runs")

    def __init__(self, choices: tuple[Choice, ...]) -> None:
        super().__init__()
        self.choices = choices
        self.selected = 0
        self.top = 0

    def places(self, size: Size) -> Places:
        return {
            "header": Region(0, 0, size.width, 1),
            "runs": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return [
                spread(
                    width - 1, [(" ", "fg"), ("rltui", "strong"), ("   which run?", "dim")], [(self.view.target, "dim")]
                )
            ]
        name_w = min(44, max(20, max((len(c.name) for c in self.choices), default=0) + 2))
        format_w = 20 if width >= 90 else 0
        rows: list[Row] = []
        for i, choice in enumerate(self.choices):
            start = ("▌", SELECTED) if i == self.selected else (" ", "fg")
            row: Row = [
                start,
                (" ", "fg"),
                put(choice.name, name_w, "strong" if i == self.selected else "fg"),
                put(when(choice.modified), 18, "dim"),
            ]
            row += [put(choice.format, format_w, "dim"), put(size_text(choice.bytes / 1e9), 9, "fg", ">"), ("  ", "fg")]
            used = 2 + name_w + 18 + format_w + 11
            rows.append([*row, put(choice.path, max(0, width - used), "dim")])
        shown, self.top = scrolled(rows, height - 1, self.selected, self.top)
        return [title(width, "", "Runs", [(f"{len(self.choices)} found, newest first", "dim")], True), *shown]

    def _select(self, index: int) -> None:
        self.selected = max(0, min(index, len(self.choices) - 1))
        self.redraw()

    def action_move(self, by: int) -> None:
        self._select(self.selected + by)

    def action_page(self, by: int) -> None:
        self._select(self.selected + by * max(1, self.size.height // 2))

    def action_edge(self, end: int) -> None:
        self._select(end * 1_000_000)

    def action_open(self) -> None:
        self.rltui.open_run(self.selected, self.choices[self.selected].name)

    def action_escape(self) -> None:
        if self.view.newest is not None:
            self.rltui.close_screen()
        else:
            self.rltui.say("q quits; Enter opens a run")

    def action_back(self) -> None:
        if self.view.newest is not None:
            self.rltui.close_screen()
        else:
            self.app.exit()

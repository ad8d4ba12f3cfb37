"""Help: the keys of the screen that it was opened from, straight from the key table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import ClassVar

from textual.geometry import Region, Size

from rltui.tui import keys
from rltui.tui.panes import header
from rltui.tui.rows import Row, length, put, title
from rltui.tui.screens.base import PaneScreen, Places

LEGEND = (
    ("✗ critical", "crit"), ("! warning", "warn"), ("✓ pass", "fg"), ("? cannot say", "dim"), ("● live", "ok"),
    ("◆ best checkpoint", "accent"), ("▼ onset", "crit"), ("└ symptom of the finding above", "fg"),
)  # fmt: skip


def rows_of(screen: str, width: int, enter: str) -> list[Row]:
    """Groups of keys, one key a row."""
    rows: list[Row] = []
    for group, members in keys.help_table(screen):
        rows += [[]] if rows else []
        rows.append([(f" {group.upper()}", "dim")])
        for key in members:
            rows.append(
                [(" ", "fg"), put(key.shown.replace("↵", enter), 10, "key"), put(key.tooltip, max(0, width - 12))]
            )
    return rows


class HelpScreen(PaneScreen):
    """Keys in one or two columns, the signs of the screen below."""

    NAME = "help"
    PANES: ClassVar[tuple[str, ...]] = ("header", "keys")

    def __init__(self, about: str) -> None:
        super().__init__()
        self.about = about
        self.top = 0

    def places(self, size: Size) -> Places:
        return {
            "header": Region(0, 0, size.width, 1),
            "keys": Region(1, 2, size.width - 2, size.height - 4),
            "footer": Region(0, size.height - 1, size.width, 1),
        }

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, ("Help", self.about))
        columns = 2 if width >= 110 else 1
        each = width // columns - 2
        rows = rows_of(self.about, each, self.view.glyphs.enter)
        body = height - 3
        if columns == 2:
            half = next((i for i, row in enumerate(rows) if not row and i >= len(rows) // 2 - 3), len(rows))
            left, right = rows[:half], rows[half + 1 :]
            pairs: Iterator[tuple[Row, Row]] = zip_longest(left, right, fillvalue=[])
            rows = [_beside(a, b, each + 2) for a, b in pairs]
        self.top = max(0, min(self.top, len(rows) - body))
        legend: Row = [(" ", "fg")]
        for text, role in LEGEND:
            legend += [(text, role), ("   ", "fg")]
        return [title(width, "", "Keys", None, True), *rows[self.top : self.top + body], [], legend]

    def action_move(self, by: int) -> None:
        self.top = max(0, self.top + by)
        self.redraw()

    def action_page(self, by: int) -> None:
        self.action_move(by * max(1, self.size.height // 2))

    def action_edge(self, end: int) -> None:
        self.action_move(end * 1000)


def _beside(left: Row, right: Row, width: int) -> Row:
    return [*left, (" " * max(0, width - length(left)), "fg"), *right]

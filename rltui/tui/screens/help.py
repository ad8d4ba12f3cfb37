"""Help: the keys of the screen that it was opened from, straight from the key table."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest

from rltui.tui import keys
from rltui.tui.rows import Row, length, put, wrap
from rltui.tui.screens.text import Block, TextScreen

UNEVEN = 2
LEGEND = (
    ("✗ critical", "crit"), ("! warning", "warn"), ("✓ pass", "fg"), ("? cannot say", "dim"), ("● live", "ok"),
    ("◆ best step or checkpoint", "accent"), ("▼ onset", "crit"), ("└ symptom of the finding above", "fg"),
)  # fmt: skip


def rows_of(screen: str, width: int, enter: str) -> list[Row]:
    """Groups of keys, one key a row."""
    rows: list[Row] = []
    for group, members in keys.help_table(screen):
        rows += [[]] if rows else []
        rows.append([(f" {group.upper()}", "dim")])
        for key in members:
            for i, line in enumerate(wrap(key.tooltip, max(10, width - 12))):
                shown = key.shown.replace("↵", enter) if i == 0 else ""
                rows.append([(" ", "fg"), put(shown, 10, "key"), (line, "fg")])
    return rows


class HelpScreen(TextScreen):
    """Keys in one or two columns, the signs of the screen below."""

    NAME = "help"
    HEAD = "Keys"

    def __init__(self, about: str) -> None:
        super().__init__()
        self.about = about

    def crumbs(self) -> tuple[str, ...]:
        return ("Help", self.about)

    def content(self, width: int) -> list[Block]:
        columns = 2 if width >= 110 else 1
        each = width // columns - 2
        rows = rows_of(self.about, each, self.view.glyphs.enter)
        if columns == 2:
            left, right = _halves(rows)
            pairs: Iterator[tuple[Row, Row]] = zip_longest(left, right, fillvalue=[])
            rows = [_beside(a, b, each + 2) for a, b in pairs]
        return [("", rows)]

    def below(self) -> list[Row]:
        legend: Row = [(" ", "fg")]
        for text, role in LEGEND:
            if length(legend) + len(text) < self.size.width - 2:
                legend += [(text, role), ("   ", "fg")]
        return [[], legend]


def _halves(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Between two groups, where that leaves the columns about equally long; else in the middle of one."""
    gaps = [i for i, row in enumerate(rows) if not row]
    at = min(gaps, key=lambda i: max(i, len(rows) - i), default=len(rows))
    if max(at, len(rows) - at) > len(rows) // 2 + UNEVEN:
        at = (len(rows) + 1) // 2
    return rows[:at], rows[at + 1 :] if at < len(rows) and not rows[at] else rows[at:]


def _beside(left: Row, right: Row, width: int) -> Row:
    return [*left, (" " * max(0, width - length(left)), "fg"), *right]

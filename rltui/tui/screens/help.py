"""Help: the keys of the screen that help was opened from, and pages of text that the worker reads.

A page says what a rule looks at, why, with which thresholds and sources, and what it leads to. The user's settings and
what works on this machine are pages too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import zip_longest

from rltui.tui import keys
from rltui.tui.rows import Row, length, put, wrap
from rltui.tui.screens.text import Block, TextScreen

UNEVEN = 2
AROUND = 8
"""Rows of the screen that show no keys."""
LEGEND = (
    ("✗ critical", "crit"), ("! warning", "warn"), ("✓ pass", "fg"), ("? not known", "dim"), ("● live", "ok"),
    ("◆ best step or checkpoint", "accent"), ("▼ onset", "crit"), ("└ symptom of the finding above", "fg"),
)  # fmt: skip


def rows_of(screen: str, width: int, enter: str) -> list[Row]:
    """The keys of a screen in groups, one key a row."""
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
    """The keys in one or two columns, and below them the signs that screens use."""

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
            if len(rows) > 2 * (self.size.height - AROUND):  # all keys at once are worth more than blank rows
                rows = [row for row in rows if row]
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
    """Two columns, cut between two groups if both are then about equally long, else in the middle of a group."""
    gaps = [i for i, row in enumerate(rows) if not row]
    at = min(gaps, key=lambda i: max(i, len(rows) - i), default=len(rows))
    if max(at, len(rows) - at) > len(rows) // 2 + UNEVEN:
        at = (len(rows) + 1) // 2
    return rows[:at], rows[at + 1 :] if at < len(rows) and not rows[at] else rows[at:]


def _beside(left: Row, right: Row, width: int) -> Row:
    return [*left, (" " * max(0, width - length(left)), "fg"), *right]


def explanation(word: str) -> str:
    """The text on a rule, a metric or a page of knowledge; for "rules", the list of all."""
    from rltui.report.explain import as_text

    unknown = f"{word}: no such rule, page or metric"
    return as_text(None if word == "rules" else word) or unknown


def settings_page(word: str) -> str:
    """The user's settings, and whether they are valid."""
    from rltui.report.settings_text import checked, shown

    return f"{shown()}\n\n{checked()}"


def doctor_page(word: str) -> str:
    """What works in this terminal and on this machine, and why something does not."""
    from rltui.doctor import checks, render

    return render(checks())


class KnowledgeScreen(TextScreen):
    """The text of `rltui explain ID`, or another page that `read` gives."""

    NAME = "knowledge"
    HEAD = "Knowledge"

    def __init__(self, word: str, read: Callable[[str], str] = explanation) -> None:
        super().__init__()
        self.word = word
        self._read = read

    def on_mount(self) -> None:
        self.rltui.worker.page(self.word, self._read)
        super().on_mount()

    def crumbs(self) -> tuple[str, ...]:
        return (self.HEAD, self.word)

    def content(self, width: int) -> list[Block]:
        text = self.view.pages.get(self.word)
        if text is None:
            return []
        blocks: list[Block] = []
        for line in text.splitlines():
            if line.startswith("#"):
                rows: list[Row] = [[(" " + line.lstrip("# "), "strong")]]
            else:
                indent = len(line) - len(line.lstrip(" "))
                pieces = wrap(line, width - 2 - indent) or [""]
                rows = [
                    [(" " * (1 + indent + (2 if i and line.lstrip().startswith("- ") else 0)), "fg"), (piece, "fg")]
                    for i, piece in enumerate(pieces)
                ]
            blocks.append((line, rows))
        return blocks

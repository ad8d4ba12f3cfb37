"""A screen of one pane that scrolls and has a filter: config, pipeline, coverage, decision, knowledge, GPU, help."""

from __future__ import annotations

from typing import ClassVar

from rltui.tui.lists import matches
from rltui.tui.panes import header
from rltui.tui.rows import Row, title
from rltui.tui.screens.base import PaneScreen

Block = tuple[str, list[Row]]
"""The text that the filter searches, and the rows."""


class TextScreen(PaneScreen):
    """A screen of blocks, which `content` gives. `n N` go from block to block."""

    PANES: ClassVar[tuple[str, ...]] = ("header", "text")
    HEAD: ClassVar[str] = ""

    def __init__(self) -> None:
        super().__init__()
        self.top = 0
        self._starts: list[int] = []  # first row of each block that has a text for the filter

    def content(self, width: int) -> list[Block]:
        raise NotImplementedError

    def crumbs(self) -> tuple[str, ...]:
        """The path to this screen, for the top line."""
        return (self.HEAD,)

    def below(self) -> list[Row]:
        """Rows that do not scroll, at the bottom."""
        return []

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, self.crumbs())
        blocks = self.content(width)
        if self.pattern:
            blocks = [block for block in blocks if block[0] and matches(self.pattern, block[0])]
        rows: list[Row] = []
        self._starts = []
        for text, block in blocks:
            if text:
                self._starts.append(len(rows))
            rows += block
        note = f"/{self.pattern}{'▏' if self.typing else ''}  {len(blocks)}" if self.pattern is not None else ""
        if not rows:
            rows = [[(" nothing matches" if self.pattern else " nothing here yet", "dim")]]
        fixed = self.below()
        room = max(1, height - 1 - len(fixed))
        self.top = max(0, min(self.top, len(rows) - room))
        more = len(rows) - self.top - room
        right: Row = [(f"{more} more below", "dim")] if more > 0 else []
        shown = rows[self.top : self.top + room]
        gap: list[Row] = [[]] * (room - len(shown) if fixed else 0)
        return [title(width, "", self.HEAD, right or None, True, note), *shown, *gap, *fixed]

    def action_move(self, by: int) -> None:
        self.top = max(0, self.top + by)
        self.redraw()

    def action_edge(self, end: int) -> None:
        self.action_move(end * 1_000_000)

    def action_match(self, by: int) -> None:
        """Goes to the next or previous block."""
        ahead = [start for start in self._starts if (start > self.top if by > 0 else start < self.top)]
        if ahead:
            self.top = ahead[0 if by > 0 else -1]
            self.redraw()

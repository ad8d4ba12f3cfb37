"""While you were away: what happened since the last look, the most telling first."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rltui.plots.numbers import duration
from rltui.tui.rows import Row, put, wrap
from rltui.tui.screens.text import Block, TextScreen

if TYPE_CHECKING:
    from rltui.events.digest import Item

GLYPHS = {"critical": ("✗", "crit"), "warning": ("!", "warn"), "info": ("·", "dim"), "resolved": ("✓", "ok")}
WORDS = {"best": "best value", "more": "finding", "end": "end of run"}


class DigestScreen(TextScreen):
    """The digest of the last return, or of the opening."""

    NAME = "digest"
    HEAD = "While you were away"

    def content(self, width: int) -> list[Block]:
        digest = self.rltui.digest
        if digest is None:
            text = "nothing that was not on the screen: this is the first look at this run, or nothing happened since"
            return [("", [[(f" {line}", "dim")] for line in wrap(text, width - 2)])]
        since, now = datetime.fromtimestamp(digest.since), datetime.fromtimestamp(digest.now)
        span = f" {since:%b %d %H:%M} to {now:%b %d %H:%M}, {duration(digest.now - digest.since)}"
        return [("", [[(span, "strong")], []]), *(self._block(item, width) for item in digest.items)]

    def _block(self, item: Item, width: int) -> Block:
        glyph, role = GLYPHS[item.role]
        word = WORDS.get(item.what, item.what)
        lines = wrap(item.text, max(20, width - 18)) or [""]
        text_role = role if item.role in ("critical", "warning") else "fg"
        rows: list[Row] = [
            [(f" {self.view.glyphs.translate(glyph)} ", role), put(word, 12, "dim"), (lines[0], text_role)]
        ]
        rows += [[(" " * 15, "fg"), (line, text_role)] for line in lines[1:]]
        return f"{word} {item.text}", rows

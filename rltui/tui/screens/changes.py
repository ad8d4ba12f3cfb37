"""What changed: since the user's last look, and what moved first around a step."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from rltui.plots.numbers import duration
from rltui.tui.panes.finding_words import draw_first_movers
from rltui.tui.rows import Row, put, wrap
from rltui.tui.screens.text import Block, TextScreen

if TYPE_CHECKING:
    from rltui.diagnosis.insight import FirstMover
    from rltui.events.digest import Item


GLYPHS = {"critical": ("✗", "crit"), "warning": ("!", "warn"), "info": ("·", "dim"), "resolved": ("✓", "ok")}
WORDS = {"best": "best value", "more": "finding", "end": "end of run"}


class DigestScreen(TextScreen):
    """The digest from the user's last return, or from the start."""

    NAME = "digest"
    HEAD = "While you were away"

    def content(self, width: int) -> list[Block]:
        digest = self.rltui.digest
        if digest is None:
            text = "nothing new: this is the first look at this run, or nothing has happened since the last one"
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


class FirstMoversScreen(TextScreen):
    """What moved first around a step. `j k` select a metric, Enter opens it. The step cursor chooses another step."""

    NAME = "first_movers"
    HEAD = "What moved first"

    def __init__(self) -> None:
        super().__init__()
        self.row = 0

    @property
    def around(self) -> int:
        worst = self.view.worst
        onset = worst.onset_step if worst is not None else None
        return self.view.at if self.view.cursor is not None or onset is None else onset

    @property
    def found(self) -> tuple[FirstMover, ...] | None:
        insight = self.view.insights.get((self.around, self.view.cursor))
        return None if insight is None else insight.moves

    def redraw(self) -> None:
        if self.view.report is not None:
            self.rltui.ask_insight(self.around)
        super().redraw()

    def crumbs(self) -> tuple[str, ...]:
        return (self.HEAD, f"around step {self.around}")

    def content(self, width: int) -> list[Block]:
        found = self.found
        if found is None:
            return [("", [[(" working it out …", "dim")]])]
        if not found:
            return [("", [[(f" no metric left its usual range before step {self.around}", "dim")]])]
        self.row = min(self.row, len(found) - 1)
        names = frozenset(self.view.flagged)
        rows = draw_first_movers(self.view, found, width - 1, names, self.row)
        blocks: list[Block] = [(self.view.label(move.metric), [row]) for move, row in zip(found, rows, strict=True)]
        told = "In the order in which they left their usual range. What came first may be the cause, or its first sign."
        return [*blocks, ("", [[], *[[(" ", "fg"), (line, "dim")] for line in wrap(told, width - 2)]])]

    def action_move(self, by: int) -> None:
        self.row = max(0, min(self.row + by, len(self.found or ()) - 1))
        self.top = max(0, self.row - max(1, self.size.height - 8))
        self.redraw()

    def action_open(self) -> None:
        if (name := self._selected()) is not None:
            self.rltui.open_metric(name)

    def action_knowledge(self) -> None:
        if (name := self._selected()) is not None:
            self.rltui.open_meaning(name)

    def _selected(self) -> str | None:
        found = self.found or ()
        return self.view.name_of(found[self.row].metric) if self.row < len(found) else None

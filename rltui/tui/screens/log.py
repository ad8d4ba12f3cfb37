"""The raw log: follows its newest lines, searches them, and shows the lines of a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rltui.tui.lists import matches
from rltui.tui.panes import header
from rltui.tui.panes.log import ROLES, clock, log_line_of
from rltui.tui.rows import SELECTED, Row, cut, put, title
from rltui.tui.screens.base import PaneScreen

if TYPE_CHECKING:
    from rltui.report.recording import LogLine


class LogScreen(PaneScreen):
    """Follows the end until the user scrolls up. `/` searches: matches are marked, `n` and `N` go to the next.

    `step` opens it at the lines of that step.
    """

    NAME = "log"
    PANES: ClassVar[tuple[str, ...]] = ("header", "text")

    def __init__(self, step: int | None = None) -> None:
        super().__init__()
        self.step = step
        self.line: int | None = None  # index of the selected line; None: at the end, following

    def on_mount(self) -> None:
        if self.step is not None:
            found = log_line_of(self.view, self.step)
            if found is not None:
                self.line = found[0]
                if not found[1]:
                    self.rltui.say(f"no line names step {self.step}. By the order of the rows it is about here")
        super().on_mount()

    @property
    def lines(self) -> tuple[LogLine, ...]:
        return self.view.recording.log if self.view.recording else ()

    def draw(self, pane: str, width: int, height: int) -> list[Row]:
        if pane == "header":
            return header.crumbs(self.view, width, ("Log",))
        lines = self.lines
        pattern = self.pattern
        found = sum(matches(pattern, line.text) for line in lines) if pattern else 0
        note = f"/{pattern}{'▏' if self.typing else ''}  {found} of {len(lines)} lines" if pattern is not None else ""
        where = "following" if self.line is None else f"line {self.line + 1} of"
        rows = [title(width, "6", "Log", [(f"{where} the newest {len(lines)} lines", "dim")], True, note)]
        if not lines:
            return [*rows, [(" this source has no text log", "dim")]]
        room = height - 1
        at = len(lines) - 1 if self.line is None else min(self.line, len(lines) - 1)
        start = max(0, min(at - room // 2, len(lines) - room)) if self.line is not None else max(0, len(lines) - room)
        number_w = len(str(lines[-1].line)) + 1
        noted = {
            note.line: ROLES.get(note.kind, "fg") for note in (self.view.recording.notes if self.view.recording else ())
        }
        for i, line in enumerate(lines[start : start + room], start):
            hit = bool(pattern) and matches(pattern or "", line.text)
            mark: Row = [("▌", SELECTED)] if self.line is not None and i == at else [("•" if hit else " ", "accent")]
            role = "strong" if hit else noted.get(line.line, "fg") if line.line else "fg"
            when = clock(line.time)
            head: Row = [*mark, put(str(line.line) if line.line else "", number_w, "dim", ">"), (" ", "fg")]
            head += [(f"{when} ", "dim")] if when else []
            used = 2 + number_w + (len(when) + 1 if when else 0)
            rows.append([*head, (cut(line.text, max(0, width - used)), role)])
        return rows

    def action_move(self, by: int) -> None:
        last = len(self.lines) - 1
        at = (last if self.line is None else self.line) + by
        self.line = None if at >= last else max(0, at)
        self.redraw()

    def action_edge(self, end: int) -> None:
        self.line = None if end > 0 or not self.lines else 0
        self.redraw()

    def action_match(self, by: int) -> None:
        if not self.pattern:
            self.action_move(by)
            return
        found = [i for i, line in enumerate(self.lines) if matches(self.pattern, line.text)]
        at = len(self.lines) if self.line is None else self.line
        if not found:
            self.rltui.say("nothing matches")
        elif by > 0:
            self.line = next((i for i in found if i > at), found[0])
        else:
            self.line = next((i for i in reversed(found) if i < at), found[-1])
        self.redraw()

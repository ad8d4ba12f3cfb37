"""Earlier attempts at a run: what was done, then done again by a later one, and what ended it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rltui.readers.base import Note
from rltui.run.history import History
from rltui.run.notes import quoted

ENDINGS = ("oom", "killed", "fault", "traceback")
"""Kinds of notes that tell why an attempt ended, the most telling first."""
_TEXT = 160


@dataclass(frozen=True, slots=True)
class Attempt:
    """`rows` rows, of the steps `first` to `last`, that a later attempt took the place of. `ended`: what ended it, in
    the log's words; empty where the log does not say."""

    first: int
    last: int
    rows: int
    ended: str

    @property
    def text(self) -> str:
        steps = f"steps {self.first} to {self.last}" if self.first < self.last else f"step {self.last}"
        ended = f", ended by: {self.ended}" if self.ended else ""
        return f"{steps}, {self.rows} {'row' if self.rows == 1 else 'rows'}{ended}"


def attempts(history: History, notes: Iterable[Note]) -> tuple[Attempt, ...]:
    """In the order in which they were abandoned."""
    abandoned = history.abandoned
    if not abandoned:
        return ()
    by_step: dict[int, list[Note]] = {}
    for note in notes:
        if note.kind in ENDINGS and note.step is not None:
            by_step.setdefault(note.step, []).append(note)
    out = []
    for first, last, rows in abandoned:
        told = min(by_step.get(last, ()), key=lambda note: ENDINGS.index(note.kind), default=None)
        out.append(Attempt(first, last, rows, quoted(told)[:_TEXT] if told is not None else ""))
    return tuple(out)

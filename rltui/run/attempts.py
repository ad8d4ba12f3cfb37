"""Earlier attempts at a run: what was done, then done again by a later one, and what ended it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rltui.readers.base import Note
from rltui.run.crash import Crash, named_end
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


@dataclass(frozen=True, slots=True)
class Ended:
    """Why the attempt ended after which the run went on from `step`, by the name of its error."""

    step: int
    because: str


def ends(restarts: Iterable[int], notes: Iterable[Note]) -> tuple[Ended, ...]:
    """Of each restart whose reason the logs name."""
    crashes = earlier_ends(notes)
    out = []
    for step in restarts:
        reached = [crash for crash in crashes if crash.note.step is not None and crash.note.step >= step - 1]
        if reached:
            out.append(Ended(step, reached[-1].text))
    return tuple(out)


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
        out.append(Attempt(first, last, rows, _ended(by_step.get(last, []))))
    return tuple(out)


def _ended(notes: list[Note]) -> str:
    """What these errors are called, else the words of the most telling one."""
    crash = named_end(notes)
    if crash is not None:
        return crash.text
    told = min(notes, key=lambda note: ENDINGS.index(note.kind), default=None)
    return quoted(told)[:_TEXT] if told is not None else ""


def earlier_ends(notes: Iterable[Note]) -> list[Crash]:
    """The ends, as far as they have a name, of the attempts before the last one, oldest first. An attempt ends where
    the log tells of a launch, or goes back to an earlier step; what ended it stands at its last step."""
    out: list[Crash] = []
    errors: list[Note] = []
    last = -1
    for note in notes:
        launched = note.kind in ("start", "resume")
        back = note.kind in ENDINGS and note.step is not None and note.step < last
        if launched or back:
            crash = named_end([error for error in errors if error.step is None or error.step >= last])
            out += [crash] if crash is not None else []
            errors, last = [], -1
        if note.kind in ENDINGS:
            errors.append(note)
        if note.step is not None and not launched:
            last = max(last, note.step)
    return out

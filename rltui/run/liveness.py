"""Is the run alive? Told from the data's own times and words, never from a file's silence alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rltui.readers.base import Exit, Note
from rltui.run.notes import Notes
from rltui.run.progress import row_gap, step_intervals, steps_short
from rltui.run.table import Series, Table

State = Literal["running", "stalled", "finished", "crashed", "unknown"]

STALL_TIMES = 3.0
STALL_ADD_S = 600.0
"""Silent for longer than 3 times, and 600 s more than, the 95th percentile of the step time: stalled. The seconds are
verl's NCCL time-out."""


@dataclass(frozen=True, slots=True)
class RunState:
    """State by the time rules of the design, with the evidence in words and the quoted line where there is one."""

    state: State
    because: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the judgement needs. `newest`: newest sign of life (row or, followed, file time), `now`: None when the run
    is not followed."""

    table: Table
    planned: int | None
    notes: Notes
    exit: Exit | None
    timer: Series | None
    newest: float | None
    now: float | None


def judge(seen: Evidence) -> RunState:
    """A plan fulfilled outweighs every word; an error with no training after it outweighs a banner; silence only
    counts where someone listened."""
    table, planned = seen.table, seen.planned
    last = int(table.steps[-1]) if table.n else None
    stood = "the start" if last is None else f"step {last}"
    of = f"{stood} of {planned}" if planned is not None else stood
    short, gap = steps_short(table, planned), row_gap(table)
    if short == 0:
        return RunState("finished", f"all planned steps are done: {of}")
    ended, deadly = _last_words(seen.notes, last, gap)
    if seen.exit is not None and seen.exit.code != 0:
        quote = deadly[0].text if deadly else ""
        return RunState("crashed", f"the process exited with code {seen.exit.code} at {of}", quote)
    if deadly:
        if not _fresh(seen):
            return RunState("crashed", f"an error ended the log at {of}", deadly[0].text)
        return RunState("running", f"an error {_age(seen):.0f} s ago may have ended the run at {of}", deadly[0].text)
    if short is not None and short < gap:
        return RunState("finished", f"all planned steps are done: {of}, a row every {gap}")
    if ended is not None and last is not None:
        return RunState("finished", f"the trainer says that it is done, at {of}", ended.text)
    if seen.exit is not None and last is not None:
        return RunState("finished", f"the process exited with code 0, at {of}")
    if seen.now is not None and seen.newest is not None:
        if _fresh(seen):
            return RunState("running", f"{of}, last sign of life {_age(seen):.0f} s ago")
        return RunState("stalled", f"silent for {_age(seen):.0f} s at {of}; usual is {_patience(seen):.0f} s at most")
    if last is None:
        return RunState("unknown", "no training step is logged")
    if planned is not None:
        return RunState("stalled", f"the log ends at {of} without an end mark: stopped or cut off")
    return RunState("unknown", f"the log ends at {of}, the plan is not known and there is no end mark")


def _last_words(notes: Notes, last: int | None, gap: int) -> tuple[Note | None, list[Note]]:
    """The end that a log announces, and the errors that nothing survived, the first one first.

    Survived is an error with more than one more row after it: a log that several processes write into may show the
    row of the failed step after the error. What came after an announced end is no crash; what came before it is one,
    unless training went on. A log that ends more than a row before the newest one speaks of an earlier attempt.
    """
    ended: Note | None = None
    deadly: list[Note] = []
    for source in notes.sources.values():
        at = source.step
        if at is not None and last is not None and at < last - gap:
            continue
        words = source.since(at - gap if at is not None else 0)
        end = next((i for i, word in enumerate(words) if word.note.kind == "end"), None)
        if end is not None:
            ended = words[end].note
            words = words[:end]
        deadly += [word.note for word in words]
    return ended, sorted(deadly, key=lambda note: note.kind == "fault")


def _age(seen: Evidence) -> float:
    """Seconds since the last sign of life; 0 for a run that nobody follows."""
    return max(0.0, seen.now - seen.newest) if seen.now is not None and seen.newest is not None else 0.0


def _fresh(seen: Evidence) -> bool:
    """Whether the run is followed and gave a sign of life not long ago."""
    return seen.now is not None and seen.newest is not None and _age(seen) <= _patience(seen)


def _patience(seen: Evidence) -> float:
    intervals = step_intervals(seen.table, seen.timer)
    usual = float(np.percentile(intervals, 95)) if len(intervals) else 0.0
    return max(STALL_TIMES * usual, usual + STALL_ADD_S)

"""Is the run alive? Told from the data's own times and words, never from a file's silence alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rltui.readers.base import Exit, Note
from rltui.run.notes import Notes
from rltui.run.progress import reached, row_gap, step_intervals
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
    of = f"step {last} of {planned}" if planned is not None else f"step {last}"
    if reached(table, planned):
        return RunState("finished", f"all planned steps are done: {of}")
    ended = _end(seen.notes)
    deadly = _deadly(seen, last, ended is not None)
    if seen.exit is not None and seen.exit.code != 0:
        quote = deadly[0].text if deadly else ""
        return RunState("crashed", f"the process exited with code {seen.exit.code} at {of}", quote)
    if deadly and not (ended is not None and planned is None):
        if not (seen.now is not None and _fresh(seen)):
            return RunState("crashed", f"an error ended the log at {of}", deadly[0].text)
        return RunState("running", f"rows still arrive after an error, now at {of}", deadly[0].text)
    if ended is not None and last is not None:
        return RunState("finished", f"the trainer says that it is done, at {of}", ended.text)
    if seen.exit is not None and last is not None:
        return RunState("finished", f"the process exited with code 0, at {of}")
    if seen.now is not None and seen.newest is not None:
        return _listened(seen, max(0.0, seen.now - seen.newest), of)
    if last is None:
        return RunState("unknown", "no training step is logged")
    if planned is not None:
        return RunState("stalled", f"the log ends at {of} without an end mark: stopped or cut off")
    return RunState("unknown", f"the log ends at {of}, the plan is not known and there is no end mark")


def _end(notes: Notes) -> Note | None:
    return next((source.ended for source in notes.sources.values() if source.ended is not None), None)


def _deadly(seen: Evidence, last_step: int | None, ended: bool) -> list[Note]:
    """Errors after which no training followed, the first one first. What came after the announced end is no crash. A
    log that stopped more than a row before the newest one has been survived by the run: its errors do not count."""
    out: list[Note] = []
    for source in seen.notes.sources.values():
        if source.step >= 0 and last_step is not None and source.step < last_step - row_gap(seen.table):
            continue
        notes = source.ended_after if source.ended is not None else source.deadly
        if ended and source.ended is None:
            notes = []
        out += notes
    return sorted(out, key=lambda note: (note.kind == "fault", note.line))


def _fresh(seen: Evidence) -> bool:
    limit = _patience(seen)
    return seen.now is not None and seen.newest is not None and seen.now - seen.newest <= limit


def _patience(seen: Evidence) -> float:
    intervals = step_intervals(seen.table, seen.timer)
    usual = float(np.percentile(intervals, 95)) if len(intervals) else 0.0
    return max(STALL_TIMES * usual, usual + STALL_ADD_S)


def _listened(seen: Evidence, age: float, of: str) -> RunState:
    if _fresh(seen):
        return RunState("running", f"{of}, last sign of life {age:.0f} s ago")
    return RunState("stalled", f"silent for {age:.0f} s at {of}; usual is {_patience(seen):.0f} s at most")

"""One run or many, opened and followed: the only place where sources, readers, run, hardware and engine meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rltui.evidence.model import Diagnosis
from rltui.hardware.base import HardwareSample
from rltui.readers.base import LogLine, Note
from rltui.run.history import Series
from rltui.run.run import Run, RunState, StallCard
from rltui.sources.base import Link

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight


def log_until(
    log: Sequence[LogLine], notes: Iterable[Note], step: int, share: float, until: float | None
) -> tuple[LogLine, ...]:
    """Lines written up to a step: by their time where they and the step (`until`, seconds) have one, else by the order
    of the file: before the first line that names a later step, and within the `share` of the rows that came by then."""
    if not log or share >= 1.0:
        return tuple(log)
    numbers = [line.line for line in log if line.line]
    first, last = (min(numbers), max(numbers)) if numbers else (0, 0)
    later = [note.line for note in notes if note.line >= first and note.step is not None and note.step > step]
    end = min([first + share * (last - first), *(line - 1 for line in later)])
    return tuple(
        line
        for line in log
        if (line.time <= until if line.time is not None and until is not None else 0 < line.line <= end)
    )


@dataclass(frozen=True, slots=True)
class Loading:
    """Progress of the first read: bytes done of total, what is being read. `done` when the history is whole."""

    done_bytes: int
    total_bytes: int
    what: str
    done: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """Everything that crosses from the data to the screen, as one immutable message.

    `series` holds every column of the history by raw key (views, not copies), in canonical units where the vocabulary
    knows it; `run` is the live object behind it and only to be read for its frozen parts (names, config). The report
    object is built from a Frame.
    """

    run: Run
    diagnosis: Diagnosis
    series: Mapping[str, Series]
    log: tuple[LogLine, ...]  # the newest lines, oldest first
    notes: tuple[Note, ...]  # notable lines of the whole run, oldest first
    hardware: tuple[HardwareSample, ...]  # oldest first; empty when nothing is sampled
    loading: Loading
    now: float
    live: bool  # the run is being followed
    revision: int
    state: RunState | None = None  # how the run stands at `now`, once it was read
    stall: StallCard | None = None  # hung, slow or fine, of a run that is being followed
    place: str = ""  # the machine that the run is on, "" for this one
    link: Link | None = None  # the connection to it, None for this machine
    insight: Insight | None = None  # asked for by reports and drill-downs only
    rollout_files: tuple[str, ...] = ()  # dumps that lie with the run, by path; their contents are not part of a frame

    def narrowed(self, since_step: int | None = None, last_rows: int | None = None) -> Frame:
        """The same run with the numbers of its later rows only: from a step on, or the last so many rows of this frame,
        which may be one of the past."""
        steps = self.run.history.table.steps
        row = 0 if since_step is None else int(steps.searchsorted(since_step))
        if last_rows is not None:
            end = max((int(s.rows[-1]) + 1 for s in self.series.values() if len(s)), default=0)
            row = max(row, end - last_rows)
        return replace(self, series={k: part for k, s in self.series.items() if len(part := s.since_row(row))})

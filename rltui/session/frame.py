"""What a session hands out: an immutable recording of the run with its diagnosis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rltui.frameworks.load import dialect
from rltui.hardware.base import HardwareSample
from rltui.readers.base import LogLine, Note
from rltui.rollouts.samples import Samples
from rltui.run.attempts import Attempt, Ended, attempts, before_again, ends
from rltui.run.hardware import written
from rltui.run.metric_series import Renamed, preferred
from rltui.run.run import Checkpoint, ConfigValue, MetricName, PhaseTable, Run, RunState, StallCard
from rltui.run.silences import Silence, silences
from rltui.run.source_info import SourceInfo
from rltui.run.table import Floats, Ints, Series
from rltui.sources.base import Link

if TYPE_CHECKING:
    from rltui.diagnosis.insight import Insight
    from rltui.evidence.model import CheckFailed, Diagnosis


def log_until(
    log: Sequence[LogLine], notes: Iterable[Note], step: int, share: float, until: float | None
) -> tuple[LogLine, ...]:
    """The lines written up to a step. They are chosen by time if line and step (`until`, seconds since the epoch) have
    one, else by their place in the file: before the first line that names a later step, and within the first `share` of
    the log (the share of rows that had come at that step)."""
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


class Loading(Struct, frozen=True):
    """Progress of the first read: bytes done, bytes in total, what is being read. `done`: the history is complete."""

    done_bytes: int
    total_bytes: int
    what: str
    done: bool


class RunSnapshot(Struct, frozen=True, kw_only=True):
    """A run as it was at one moment. Nothing in it changes when the run continues: arrays are views that end at the
    newest row of that moment, and later revisions are written to other arrays.

    `steps` and `times` (seconds since the epoch, NaN if unknown) have one entry a row. `beats`: the newest steps, each
    with the time at which it arrived. `keys`: canonical name -> the raw keys that may stand for it, the preferred one
    first.
    """

    id: str
    path: str
    framework: str | None
    framework_version: str | None
    dialect: str
    algorithm: str | None
    planned_steps: int | None
    followed: bool
    as_of: float | None
    state: RunState
    steps: Ints
    times: Floats
    beats: tuple[tuple[int, float], ...]
    restarts: tuple[int, ...]
    attempts: tuple[Attempt, ...]
    ended: tuple[Ended, ...]  # why earlier attempts ended
    before_again: str  # what to change first, if the same error ended several attempts
    phases: PhaseTable
    checkpoints: tuple[Checkpoint, ...]
    config: Mapping[str, ConfigValue]
    raw_config: Mapping[str, ConfigValue]
    info: Mapping[str, str]
    names: Mapping[str, MetricName]
    keys: Mapping[str, tuple[str, ...]]
    unlogged: tuple[str, ...]
    sources: tuple[SourceInfo, ...]
    samples: Samples
    counted: bool = False  # its steps are unknown, so its rows are counted
    renamed: tuple[Renamed, ...] = ()  # metrics whose key changed
    contradictions: tuple[str, ...] = ()  # where two of its sources state different values for the same steps
    silences: tuple[Silence, ...] = ()
    cut: bool = False  # the run has later rows than this snapshot

    def until(self, step: int, phases: PhaseTable) -> RunSnapshot:
        """The snapshot cut off after a step, with the phase times at that step."""
        rows = int(self.steps.searchsorted(step, "right"))
        return replace(
            self,
            steps=self.steps[:rows],
            times=self.times[:rows],
            restarts=tuple(one for one in self.restarts if one <= step),
            checkpoints=tuple(one for one in self.checkpoints if one.step <= step),
            renamed=tuple(one for one in self.renamed if one.step <= step),
            silences=tuple(one for one in self.silences if one.step <= step),
            phases=phases,
            cut=rows < self.rows,
        )

    @property
    def rows(self) -> int:
        return len(self.steps)

    def ends(self) -> Floats:
        """When each row was written: its time stamp, else the time when it arrived; NaN if unknown."""
        return written(self.steps, self.times, self.beats)


def snapshot(run: Run, state: RunState, phases: PhaseTable) -> RunSnapshot:
    """The run as it is now, with its state and its phase times."""
    table = run.history.table
    crashes = run.earlier_ends()
    ended = [*crashes, state.crash] if state.crash is not None else crashes
    return RunSnapshot(
        id=run.id,
        path=run.path,
        framework=run.framework,
        framework_version=run.framework_version,
        dialect=run.dialect,
        algorithm=run.algorithm,
        planned_steps=run.planned_steps,
        followed=run.followed,
        as_of=run.as_of,
        state=state,
        steps=table.steps,
        times=table.times,
        beats=tuple(run.pulse.beats),
        restarts=tuple(table.restarts),
        attempts=attempts(run.history, run.notes),
        ended=ends(table.restarts, crashes),
        before_again=before_again(ended, dialect(run.dialect).settings_of),
        phases=phases,
        checkpoints=tuple(run.saved),
        config=run.config,
        raw_config=dict(run.raw_config),
        info=run.info,
        names=run.names,
        keys=run.keys,
        unlogged=tuple(run.unlogged()),
        sources=tuple(run.sources),
        samples=run.samples,
        counted=run.history.counted,
        renamed=run.renamed,
        contradictions=tuple(one.text for one in run.history.contradictions),
        silences=() if table.newest_time is None else silences(table.steps, table.times, table.restarts, run.notes),
    )


class Recording(Struct, frozen=True, kw_only=True):
    """What was read and sampled of a run up to a moment. It is immutable and goes to the screen inside the report.

    `series`: every column by raw key, in canonical units if the vocabulary knows the key. `now`: when it was made,
    which is the moment for which the state was judged. `aged_at`: the moment from which ages are computed; None: no age
    is shown.
    """

    run: RunSnapshot
    series: Mapping[str, Series]
    log: tuple[LogLine, ...]  # the newest lines, oldest first
    notes: tuple[Note, ...]  # notable lines of the whole run, oldest first
    hardware: tuple[HardwareSample, ...]  # oldest first; empty when nothing is sampled
    loading: Loading
    now: float
    live: bool  # the run is being followed
    revision: int
    aged_at: float | None = None
    stall: StallCard | None = None  # hung, slow or fine; only for a followed run
    place: str = ""  # the machine that the run is on, "" for this one
    link: Link | None = None  # the connection to it, None for this machine
    rollout_files: tuple[str, ...] = ()  # paths of dumps beside the run; their contents are not part of it

    def named(self, name: str) -> Series | None:
        """The series of a metric by canonical name, else by raw key; None if it was not logged."""
        known = [one for key in self.run.keys.get(name, ()) if (one := self.series.get(key)) is not None and len(one)]
        return preferred(name, known) or self.series.get(name)

    def family(self, canonical: str) -> dict[str, Series]:
        """Member -> series, for all keys of a canonical metric with several members (reward parts, validation sets)."""
        found: dict[str, Series] = {}
        for key in self.run.keys.get(canonical, ()):
            one, member = self.series.get(key), self.run.names[key].member or key
            if one is not None and len(one) > (len(found[member]) if member in found else 0):
                found[member] = one  # if a member has several keys, the one with most points, as in the report's table
        return found


class Frame(Recording, frozen=True, kw_only=True):
    """A recording and its diagnosis: what a report is built from."""

    diagnosis: Diagnosis
    insight: Insight | None = None  # made only for reports and drill-downs
    failed: tuple[CheckFailed, ...] = ()  # parts of the reading that raised an error

    def until(self, step: int, diagnosis: Diagnosis, phases: PhaseTable) -> Frame:
        """The frame cut off after a step, with the diagnosis and phase times at that step. It holds no later row, note
        or sample."""
        run = self.run.until(step, phases)
        known = run.times[run.times == run.times]
        until = float(known[-1]) if len(known) else None
        share = run.rows / self.run.rows if self.run.rows else 1.0
        return replace(
            self,
            diagnosis=diagnosis,
            run=run,
            series={key: part for key, s in self.series.items() if len(part := s.until_row(run.rows))},
            notes=tuple(n for n in self.notes if n.by(step)),
            log=log_until(self.log, self.notes, step, share, until),
            hardware=self.hardware if until is None else tuple(s for s in self.hardware if s.time <= until),
            live=False,
            stall=None,
            aged_at=None,
        )

    def narrowed(self, since_step: int | None = None, last_rows: int | None = None) -> Frame:
        """The same run with the numbers of only its later rows: from a step on, or the last `last_rows` rows of this
        frame, which may itself be cut off at an earlier step."""
        row = 0 if since_step is None else int(self.run.steps.searchsorted(since_step))
        if last_rows is not None:
            end = max((int(s.rows[-1]) + 1 for s in self.series.values() if len(s)), default=0)
            row = max(row, end - last_rows)
        return replace(self, series={k: part for k, s in self.series.items() if len(part := s.since_row(row))})

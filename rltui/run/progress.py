"""How far a run is (planned steps, and how many are left), and how long its steps usually take. Steps that validate or
save a checkpoint are counted separately.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec import Struct, field

from rltui.hardware.base import GpuSample, ProcessFact
from rltui.readers.base import Note
from rltui.run.config import Config
from rltui.run.notes import Notes
from rltui.run.sums import median, quantile
from rltui.run.table import Floats, Ints, Series, Table

_NEWEST_ROWS = 20
_EXACT_FROM = 0.5
"""Epochs are logged with two decimals: only after this part of an epoch do they show how many steps an epoch has."""
BEATS = 201
LINES = 1000
PHASES = 64
ENDED = ("gone", "zombie")
"""States of a process that has ended."""
LATE_S = 2.0
"""The last output of a process may be read up to this many seconds after the process was seen to be gone."""
DURATIONS = 50
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"\d{1,4}[-/:]\d\d[-/:]\d\d(?:[ T_]\d\d:\d\d:\d\d)?(?:[.,]\d+)?")


def planned_steps(config: Config, dialect: str, notes: Notes, find: Callable[[str], Series | None]) -> int | None:
    """Planned steps: from the config, the total of progress lines, the logged share that is done, or the epochs.

    None if none of them shows it. A plan that the run has passed does not count. A plan below the run's first step
    counts from that step: a stage may continue the step numbers of the previous stage.
    """
    logged = [series for name in USUAL if (series := find(name)) is not None and len(series)]
    first = min((int(series.steps[0]) for series in logged), default=None)
    step = max((int(series.steps[-1]) for series in logged), default=None)
    stated = config.positive(dialect, "total_steps")
    if stated is not None and first is not None and stated < first:
        stated += first - 1
    if stated is not None and (step is None or stated >= step):
        return int(stated)
    counted = notes.planned(step)
    if counted is not None:
        return counted
    done = find("progress_frac")
    if done is not None and len(done) and 0 < done.values[-1] <= 1:
        return round((int(done.steps[-1]) + 1) / float(done.values[-1]))
    epochs, epoch = config.positive(dialect, "total_epochs"), find("epoch")
    if epochs is not None and epoch is not None and len(epoch) and epoch.values[-1] >= _EXACT_FROM:
        if float(epoch.values[-1]).is_integer() and len(epoch) > 1 and epoch.values[0] == int(epoch.values[0]):
            return None  # whole epochs are counted, not shares of one
        return max(int(epoch.steps[-1]), round(int(epoch.steps[-1]) * epochs / float(epoch.values[-1])))
    return None


USUAL = ("reward_mean", "total_loss", "epoch", "lr")
"""Every run logs at least one of these metrics."""


def steps_short(table: Table, planned: int | None) -> int | None:
    """How many planned steps are left after the last row; None without a plan or without rows. A trainer that counts
    from 0 ends one step before its plan."""
    if planned is None or not table.n:
        return None
    return max(0, planned - (1 if table.steps[0] == 0 else 0) - int(table.steps[-1]))


def row_gap(table: Table) -> int:
    """The usual number of steps between two rows (median)."""
    if table.n < 2:
        return 1
    steps = table.steps[-_NEWEST_ROWS:]
    return int(median((steps[1:] - steps[:-1]).astype(np.float64)))


class Pulse(Struct):
    """The run's signs of life, filled in by the session. Times are seconds since the epoch on this machine's clock.

    `processes` and `gpus` are the newest facts about the run's machines, empty if there are none. They come from this
    machine or from an agent on another one.
    """

    moved_at: float | None = None  # a step, a counter or a phase moved
    output_at: float | None = None  # something new in this step was written
    heard: bool = False  # something came while we listened: it is not a dead copy
    phase: Note | None = None  # what was announced since the last step
    phase_at: float | None = None
    durations: dict[str, deque[float]] = field(default_factory=dict)  # seconds of each phase that was seen to end
    beats: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=BEATS))
    processes: tuple[ProcessFact, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    gone_at: float | None = None  # when all known processes were first seen to be gone
    unread: tuple[str, ...] = ()  # why files of the run cannot be read at the moment
    blind: bool = False  # none of the run's files can be read
    _step: int | None = None
    _last: tuple[object, ...] = ()
    _announced: Note | None = None
    _said: set[str] = field(default_factory=set)
    _fresh: bool = False

    def start(
        self, written_at: float | None, step: int | None, counters: tuple[object, ...], phase: Note | None
    ) -> None:
        """Starts from what was there before: the newest sign of life is the last write to the files."""
        self.moved_at = self.output_at = self.phase_at = written_at
        self._step, self._last, self.phase, self._announced = step, counters, phase, phase

    def feel(self, processes: tuple[ProcessFact, ...], now: float) -> None:
        """Takes the newest facts about the run's processes. If all are gone but the run moved later, they do not count:
        other processes, not found yet, resumed it."""
        gone = bool(processes) and all(p.state in ENDED for p in processes)
        self.gone_at = None if not gone else now if self.gone_at is None else self.gone_at
        outlived = self.gone_at is not None and self.moved_at is not None and self.moved_at > self.gone_at + LATE_S
        self.processes = () if outlived else processes

    def line(self, text: str) -> None:
        """Takes a line of the log. A line that repeats, apart from its time, is not a sign of life: idle servers log
        too."""
        said = _CLOCK.sub("", text)
        if said not in self._said and len(self._said) < LINES:
            self._said.add(said)
            self._fresh = True

    def hear(self, now: float, step: int | None, counters: tuple[object, ...], phase: Note | None) -> None:
        """Records that something new was read. `step`: the newest training step or position of the bar. `counters`:
        everything that changes when work is done, so that a bar printed again at the same place is not a movement."""
        self.heard = True
        stepped = step is not None and step != self._step
        if counters != self._last or stepped:
            self.moved_at = self.output_at = now
            self._last = counters
            self._said.clear()
        elif self._fresh:
            self.output_at = now
        self._fresh = False
        if stepped and step is not None:
            if self.beats and step < self.beats[-1][0]:
                self.beats.clear()
            self.beats.append((step, now))
            self._step = step
        if phase is not None and phase is not self._announced:
            if self.phase is None or phase_key(phase) != phase_key(self.phase):
                self._end_phase(now)
                self.phase_at = now
            self.phase = self._announced = phase
        elif stepped:
            self._end_phase(now)
            self.phase = self.phase_at = None

    def _end_phase(self, now: float) -> None:
        if self.phase is not None and self.phase_at is not None:
            key = phase_key(self.phase)
            if key in self.durations or len(self.durations) < PHASES:
                self.durations.setdefault(key, deque(maxlen=DURATIONS)).append(now - self.phase_at)


def phase_key(phase: Note) -> str:
    """What all announcements of one phase have in common: the kind, and the text without its numbers."""
    return f"{phase.kind} {_NUMBER.sub('0', phase.text)}"


RECENT = 200
"""The usual duration is learned from this many steps: enough for a 95th percentile, few enough to follow responses that
grow."""


class Usual(Struct, frozen=True):
    """Median and 95th percentile, in seconds, of `count` durations."""

    median_s: float
    high_s: float
    count: int


def usual(seconds: Sequence[float] | Floats) -> Usual | None:
    """The usual of durations in seconds; None if none is above 0."""
    if not len(seconds):
        return None
    known = np.asarray(seconds, dtype=np.float64)
    known = known[np.isfinite(known) & (known > 0)]
    if not len(known):
        return None
    return Usual(median(known), quantile(known, 0.95), len(known))


class LearnedPace(Struct, frozen=True):
    """`plain`: a step that neither validates nor saves. `special`: from one row to the next if a step between them
    validates or saves. `stride`: steps from one row to the next. `next_special`: validation or a checkpoint is due now.
    `longest_s`: the most seconds between two rows, out of `gaps` such intervals."""

    plain: Usual | None = None
    special: Usual | None = None
    stride: int = 1
    next_special: bool = False
    longest_s: float = 0.0
    gaps: int = 0

    @property
    def now(self) -> Usual | None:
        """What the current step usually takes; None if such a step was never seen."""
        return self.special if self.next_special else self.plain


def learn(
    table: Table,
    timer: Floats,
    beats: Sequence[tuple[int, float]],
    marks: Iterable[int],
    periods: Iterable[int],
    step: int | None,
    stride: int,
) -> LearnedPace:
    """The pace of the recent steps.

    Durations come from the times of the rows, else from the times at which steps arrived (`beats`: step, seconds), else
    from the logged step time (`timer`, seconds a step). `marks`: steps that validated or saved. `periods`: the planned
    intervals of both, in steps. `step`: the newest step.
    """
    marked = np.array(sorted(set(marks)), dtype=np.int64)  # np.unique would import np.ma
    steps, seconds, gaps = _intervals(table)
    if len(seconds) < 2 and len(beats) > 2:
        at, heard = zip(*beats, strict=True)
        steps, seconds, gaps = _differences(np.array(at, dtype=np.int64), np.array(heard, dtype=np.float64))
    if len(seconds):
        special = marked.searchsorted(steps, "right") > marked.searchsorted(steps - gaps, "left")
        plain = usual((seconds / gaps)[~special])
        rare = usual(seconds[special])
    else:
        plain, rare = usual(timer[-RECENT:]), None
    if plain is None and rare is not None and bool(len(seconds)):
        plain = usual(seconds / gaps)  # every step validates
    due = step is not None and _due(step, stride, marked, {*periods, *_period(marked)})
    longest = float(seconds.max()) if len(seconds) else 0.0
    return LearnedPace(plain, rare, stride, due, longest, len(seconds))


_NONE: Ints = np.empty(0, dtype=np.int64)


def _intervals(table: Table) -> tuple[Ints, Floats, Ints]:
    """For each pair of successive rows with a time: the step of the second, and the seconds and steps between them. The
    time between two attempts is left out, as no step was made in it."""
    known = table.timed(RECENT + 1)
    if len(known) < 2:
        return _NONE, np.empty(0), _NONE
    steps, seconds, gaps = _differences(table.steps[known], table.times[known])
    if not table.restarts:
        return steps, seconds, gaps
    at = np.array(table.restarts, dtype=np.int64)
    within = at.searchsorted(steps, "right") == at.searchsorted(steps - gaps, "right")
    return steps[within], seconds[within], gaps[within]


def _differences(steps: Ints, times: Floats) -> tuple[Ints, Floats, Ints]:
    seconds, gaps = times[1:] - times[:-1], steps[1:] - steps[:-1]
    good = (seconds > 0) & (gaps > 0)
    return steps[1:][good], seconds[good], gaps[good]


def _period(marked: Ints) -> set[int]:
    """The interval of the last marks if they are evenly spaced; else empty."""
    if len(marked) < 3:
        return set()
    apart = set(np.diff(marked[-4:]).tolist())
    return apart if len(apart) == 1 else set()


def _due(step: int, stride: int, marked: Ints, periods: set[int]) -> bool:
    """Whether a step up to the next row validates or saves, or `step` did so and may still be at it."""
    if len(marked) and marked[-1] == step:
        return True
    return any(p > 0 and any(s % p == 0 for s in range(max(1, step), step + stride + 1)) for p in periods)

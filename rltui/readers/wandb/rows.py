"""Turns the cells of W&B history into rows with training steps.

The step of a row is the first of these that exists: 1. the key that the run declared as the step of all metrics
(`define_metric("*", step_metric=...)`, as transformers does); 2. the first of STEP_KEYS that a row holds, from trainers
that call `wandb.log` without `step=`. From that row on, a row without the key belongs to the last step seen, as in W&B
itself; 3. the step of the record (`wandb.log(..., step=N)`, else W&B's counter of calls).

Trainers call other trackers in the same way, so the same rules hold for the records of their databases
(`RecordedRows`).

TRL logs its phase timers (`profiling/Time taken: ...`) immediately, in a record for each call. These records come
before the step to which they belong, with no step or with the last one. They are summed by key and added to the next
row with a new step. If a trainer logs every n steps, the sum is divided by n, so that it is in seconds per step like
`step_time`. Times between two rows of the same step belong to an evaluation and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isnan, nan

import numpy as np
from numpy.typing import NDArray

from rltui.readers.base import NO_STEP, Rows
from rltui.readers.bulk import MAX_CELLS, Grid
from rltui.readers.literals import NONFINITE
from rltui.readers.rows import MAX_KEYS, number
from rltui.readers.wandb.history import Cells, Messages, decode

STEP_KEYS = ("train/global_step", "trainer/global_step", "rollout/step", "training_step", "step")
TIMER = "profiling/Time taken: "
_MAX_STEP = 2.0**53

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
_TOGETHER = MAX_CELLS // MAX_KEYS
_MAX_RECORDED_STEP = 1 << 53
_DEEPEST = 8


class HistoryRows:
    """Turns batches of history records into Rows. Keeps the step and the timers from batch to batch."""

    def __init__(self) -> None:
        self.step_key: str | None = None
        self.undecodable = 0
        self._grid = Grid()
        self._last_step: int | None = None  # the newest value of the step key
        self._timers: dict[int, float] = {}  # column -> sum of seconds since the last row with a new step
        self._closed: int | None = None  # the last step that timers were added to
        self._interval: int | None = None  # steps between the last two such steps
        self._first_timers: tuple[int, dict[int, float]] | None = (
            None  # step and timers of the first step, until the interval is known
        )

    def rows(self, messages: Messages) -> list[Rows]:
        """Returns the rows of HistoryRecord messages, in order."""
        cells = decode(messages, self._grid.table)
        if cells.count > 1 and cells.count * len(self._grid.table.keys) > MAX_CELLS:
            half = cells.count // 2
            return self.rows(messages[:half]) + self.rows(messages[half:])
        return self.rows_of(cells)

    def key_number(self, key: str) -> int:
        """The number of a key in `Cells`."""
        return self._grid.table.number(key.encode("utf-8", "replace"))

    def rows_of(self, cells: Cells) -> list[Rows]:
        """The rows of cells, which may also come from another container with records like W&B's. Keys times rows must
        be at most MAX_CELLS."""
        columns = self._grid.columns(cells.keys)
        self.undecodable += len(cells.undecodable)
        grid: Floats = np.full((len(self._grid.names), cells.count), np.nan)
        grid[columns, cells.rows] = cells.values
        steps = self._steps(cells, grid)
        times = self._take("_timestamp", grid)
        times[~np.isfinite(times)] = np.nan
        for name in [n for n in self._grid.names if n.startswith("_")] + ([self.step_key] if self.step_key else []):
            self._take(name, grid)
        if any(n.startswith(TIMER) for n in self._grid.names):
            grid, steps, times, order = self._with_timers(grid, steps, times)
            grid, steps, times = grid[:, order], steps[order], times[order]
        kept = _any(grid)
        if not kept.any():
            return []
        if not kept.all():
            grid, steps, times = grid[:, kept], steps[kept], times[kept]
        return [self._grid.rows(grid, steps, times)]

    def _take(self, name: str, grid: Floats) -> Floats:
        """Returns the column of a key that is not a metric, and blanks it in the grid."""
        column = self._grid.by_name.get(name)
        if column is None:
            return np.full(grid.shape[1], np.nan)
        values: Floats = grid[column].copy()
        grid[column] = np.nan
        return values

    def _steps(self, cells: Cells, grid: Floats) -> Ints:
        steps = cells.steps.copy()
        unstated = steps == NO_STEP
        if unstated.any() and "_step" in self._grid.by_name:
            logged = grid[self._grid.by_name["_step"]]
            usable = unstated & (np.abs(logged) < _MAX_STEP)
            steps[usable] = logged[usable].astype(np.int64)
        for key in STEP_KEYS:
            if (column := self._grid.by_name.get(key)) is not None:
                grid[column, np.isinf(grid[column])] = np.nan  # a step that is not finite does not count
        begin = 0
        if self.step_key is None:
            begin = self._find_step_key(grid)
        if self.step_key is None:
            return steps
        column = self._grid.by_name.get(self.step_key)
        keyed = grid[column] if column is not None else np.full(cells.count, np.nan)
        usable = np.abs(keyed) < _MAX_STEP
        newest = np.maximum.accumulate(np.where(usable, np.arange(cells.count), -1))
        before = 0 if self._last_step is None else self._last_step
        by_key = np.where(newest >= 0, np.where(usable, keyed, 0.0)[newest], before).astype(np.int64)
        steps[begin:] = by_key[begin:]
        if newest[-1] >= 0:
            self._last_step = int(by_key[-1])
        return steps

    def _find_step_key(self, grid: Floats) -> int:
        """Finds the first row that holds one of STEP_KEYS, and sets this key."""
        begin = int(grid.shape[1])
        for key in STEP_KEYS:
            column = self._grid.by_name.get(key)
            if column is not None:
                there = np.flatnonzero(np.isfinite(grid[column]))
                if len(there) and there[0] < begin:
                    begin = int(there[0])
                    self.step_key = key
        return begin

    def _with_timers(self, grid: Floats, steps: Ints, times: Floats) -> tuple[Floats, Ints, Floats, Ints]:
        """Moves timers to the rows of the steps to which they belong. Also returns the order of the rows: the timers of
        the first step become known late and get a row of their own."""
        timers = np.array([c for c, n in enumerate(self._grid.names) if n.startswith(TIMER)], dtype=np.int64)
        others = np.delete(np.arange(len(self._grid.names)), timers)
        timed = _any(grid[timers])
        closing = _any(grid[others])
        order: list[int] = []
        late: list[tuple[int, dict[int, float]]] = []
        for row in np.flatnonzero(timed | closing).tolist():
            if timed[row]:
                for column in timers[~np.isnan(grid[timers, row])].tolist():
                    seconds = float(grid[column, row])
                    if seconds != NONFINITE:
                        self._timers[column] = self._timers.get(column, 0.0) + seconds
                grid[timers, row] = np.nan
            if closing[row]:
                mine, early = self._close(int(steps[row]))
                if early is not None:
                    order.append(len(steps) + len(late))
                    late.append(early)
                for column, seconds in mine.items():
                    grid[column, row] = seconds
                order.append(row)
        if late:
            extra: Floats = np.full((len(self._grid.names), len(late)), np.nan)
            for i, (_, sums) in enumerate(late):
                extra[list(sums), i] = list(sums.values())
            grid = np.concatenate([grid, extra], axis=1)
            steps = np.concatenate([steps, np.array([step for step, _ in late], dtype=np.int64)])
            times = np.concatenate([times, np.full(len(late), np.nan)])
        return grid, steps, times, np.array(order, dtype=np.int64)

    def _close(self, step: int) -> tuple[dict[int, float], tuple[int, dict[int, float]] | None]:
        """The timers for the row of this step, and once the interval is known, those of the first step."""
        sums, self._timers = self._timers, {}
        if self._closed is not None and step == self._closed:
            return {}, None
        before, self._closed = self._closed, step
        if before is None:
            self._first_timers = (step, sums)
            return {}, None
        if step > before:
            self._interval = step - before
        interval = self._interval or 1
        early = None
        if self._first_timers is not None:
            first, first_sums = self._first_timers
            self._first_timers = None
            if first_sums:
                early = (first, _shared(first_sums, max(1, min(first, interval))))
        return _shared(sums, interval), early


def _shared(sums: dict[int, float], steps: int) -> dict[int, float]:
    return {column: seconds / steps for column, seconds in sums.items()}


def _any(grid: Floats) -> NDArray[np.bool_]:
    """For each row, whether it holds a cell."""
    filled: NDArray[np.bool_] = np.logical_or.reduce(~np.isnan(grid), axis=0)
    return filled


class RecordedRows:
    """Finds the steps of other trackers' rows by the same rules (see `HistoryRows`): trainers call those trackers in
    the same way, with timers logged alone and before their step, and the step as a key."""

    def __init__(self) -> None:
        self._history = HistoryRows()
        self._keys: dict[str, int | None] = {}  # None: a key beyond the limit

    @property
    def step_key(self) -> str | None:
        return self._history.step_key

    def rows(self, records: Sequence[tuple[object, float, Mapping[str, object]]]) -> list[Rows]:
        """The rows of records (step, seconds since the epoch, cells), in the order in which they were logged."""
        out: list[Rows] = []
        for begin in range(0, len(records), _TOGETHER):
            out += self._rows(records[begin : begin + _TOGETHER])
        return out

    def _rows(self, records: Sequence[tuple[object, float, Mapping[str, object]]]) -> list[Rows]:
        steps, rows, keys, values = [], [], [], []
        for i, (step, time, cells) in enumerate(records):
            steps.append(step if isinstance(step, int) and 0 <= step < _MAX_RECORDED_STEP else NO_STEP)
            for name, value in _numbers({**cells, "_timestamp": time}.items()):
                key = self._key(name)
                if key is not None:
                    rows.append(i)
                    keys.append(key)
                    values.append(value)
        return self._history.rows_of(
            Cells(
                len(records),
                np.array(steps, dtype=np.int64),
                np.array(rows, dtype=np.int64),
                np.array(keys, dtype=np.int64),
                np.array(values, dtype=np.float64),
            )
        )

    def _key(self, name: str) -> int | None:
        if name not in self._keys:
            if len(self._keys) > 2 * MAX_KEYS:
                return None
            self._keys[name] = self._history.key_number(name) if len(self._keys) < MAX_KEYS else None
        return self._keys[name]


def _numbers(cells: Iterable[tuple[str, object]], depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers among cells. Keys of nested objects are joined with "."; a media object (`_type`) gives none."""
    for key, value in cells:
        if isinstance(value, Mapping):
            if "_type" not in value and depth < _DEEPEST:
                yield from _numbers(((f"{key}.{name}", inner) for name, inner in value.items()), depth + 1)
            continue
        x = float(value) if isinstance(value, bool) else number(value)
        if x is not None and not (key == "_timestamp" and isnan(x)):
            yield key, NONFINITE if isnan(x) or abs(x) == inf else x


def seconds(milliseconds: object) -> float:
    """Seconds since the epoch of a time stamp in milliseconds; NaN if it is not a number or out of range."""
    x = number(milliseconds)
    return nan if x is None or not 1e11 < x < 1e14 else x / 1000

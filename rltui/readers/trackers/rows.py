"""Records of a tracker's database (a step, a time, some cells) to rows on the training step, by W&B's rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import inf, isnan, nan

import numpy as np

from rltui.readers.base import NO_STEP, Rows
from rltui.readers.bulk import MAX_CELLS
from rltui.readers.literals import NONFINITE
from rltui.readers.rows import MAX_KEYS, number
from rltui.readers.wandb.history import Cells
from rltui.readers.wandb.rows import HistoryRows

_TOGETHER = MAX_CELLS // MAX_KEYS
_MAX_STEP = 1 << 53
_DEEPEST = 8


class RecordedRows:
    """Trackers other than W&B are called by trainers in the same way: timers by themselves and ahead of their step, the
    step as a key of its own. So the same rules find the step of a row (see `HistoryRows`)."""

    def __init__(self) -> None:
        self._history = HistoryRows()
        self._keys: dict[str, int | None] = {}  # None: one key too many

    @property
    def step_key(self) -> str | None:
        return self._history.step_key

    def rows(self, records: Sequence[tuple[object, float, Mapping[str, object]]]) -> list[Rows]:
        """Rows of (step, seconds since the epoch, cells) in the order in which they were logged."""
        out: list[Rows] = []
        for begin in range(0, len(records), _TOGETHER):
            out += self._rows(records[begin : begin + _TOGETHER])
        return out

    def _rows(self, records: Sequence[tuple[object, float, Mapping[str, object]]]) -> list[Rows]:
        steps, rows, keys, values = [], [], [], []
        for i, (step, time, cells) in enumerate(records):
            steps.append(step if isinstance(step, int) and 0 <= step < _MAX_STEP else NO_STEP)
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
    """The numbers among cells, those of nested objects with keys joined by "."; a medium (`_type`) holds none."""
    for key, value in cells:
        if isinstance(value, Mapping):
            if "_type" not in value and depth < _DEEPEST:
                yield from _numbers(((f"{key}.{name}", inner) for name, inner in value.items()), depth + 1)
            continue
        x = float(value) if isinstance(value, bool) else number(value)
        if x is not None and not (key == "_timestamp" and isnan(x)):
            yield key, NONFINITE if isnan(x) or abs(x) == inf else x


def seconds(milliseconds: object) -> float:
    """A time stamp in milliseconds as seconds since the epoch, NaN where it is none."""
    x = number(milliseconds)
    return nan if x is None or not 1e11 < x < 1e14 else x / 1000

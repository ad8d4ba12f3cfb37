"""Numbers of one metric over its history, and the same for a whole run on every new row, at a cost that does not grow.

Sums and extremes come from blocks that are computed once they are full; slope, correlation and shape are worked out
when they are asked for, which on the screen is one metric at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from rltui.diagnosis.shapes import describe, window_rows
from rltui.report.model import MetricSummary
from rltui.run.run import MetricName
from rltui.run.table import Floats, Series

BLOCK = 1024
"""Points of a block whose sum, minimum and maximum are kept."""


def report_names(names: Mapping[str, MetricName], series: Mapping[str, Series]) -> dict[str, str]:
    """Raw key -> name in the report, for every series; names are unique.

    A key that the vocabulary knows goes under its canonical name. Where several keys of the run share a canonical
    name, the first one without a member keeps it; the others are `canonical:member` (validation sets, reward
    functions), or the raw key where there is no member. A key that the vocabulary does not know keeps its own name.
    """
    sharing: dict[str, int] = {}
    for key in series:
        name = names.get(key)
        if name is not None and name.canonical is not None:
            sharing[name.canonical] = sharing.get(name.canonical, 0) + 1
    out: dict[str, str] = {}
    taken: set[str] = set()
    for key in series:
        name = names.get(key)
        choices = [key]
        if name is not None and name.canonical is not None:
            alone = sharing[name.canonical] == 1
            best = name.canonical if alone or not name.member else f"{name.canonical}:{name.member}"
            choices = [best, key, f"{name.canonical}:{key}"]
        out[key] = next((choice for choice in choices if choice not in taken), f"{key} ({len(out)})")
        taken.add(out[key])
    return out


class _Lazy(MetricSummary):
    """A summary whose slope, correlation and shape are worked out at the first look at one of them: their slots are
    empty until then."""

    __slots__ = ("_series", "_window")
    _series: Series
    _window: int | None

    def __init__(self, series: Series, window: int | None, fields: Mapping[str, object]) -> None:
        object.__setattr__(self, "_series", series)
        object.__setattr__(self, "_window", window)
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> object:
        if name not in ("slope_per_100_steps", "corr_step", "shape"):
            raise AttributeError(name)
        numbers = describe(self._series, self._window)
        object.__setattr__(self, "slope_per_100_steps", numbers.slope)
        object.__setattr__(self, "corr_step", numbers.corr_step)
        object.__setattr__(self, "shape", numbers.word)
        return getattr(self, name)


@dataclass(slots=True)
class _Blocks:
    """Sum, minimum and maximum of the full blocks of a column that grows at its end."""

    sums: list[float] = field(default_factory=list)
    low: float = float("inf")
    high: float = float("-inf")

    def over(self, values: Floats) -> tuple[float, float, float]:
        """Sum, minimum and maximum of all values, which begin with those seen before."""
        full = len(values) // BLOCK
        for i in range(len(self.sums), full):
            block = values[i * BLOCK : (i + 1) * BLOCK]
            self.sums.append(float(np.add.reduce(block)))
            self.low = min(self.low, float(np.minimum.reduce(block)))
            self.high = max(self.high, float(np.maximum.reduce(block)))
        rest = values[full * BLOCK :]
        if not len(rest):
            return sum(self.sums), self.low, self.high
        low, high = float(np.minimum.reduce(rest)), float(np.maximum.reduce(rest))
        return sum(self.sums) + float(np.add.reduce(rest)), min(self.low, low), max(self.high, high)

    def sum(self, values: Floats, start: int, stop: int) -> float:
        """Sum of values[start:stop], after `over` these values."""
        first, last = -(-start // BLOCK), stop // BLOCK
        if first >= last:
            return float(np.add.reduce(values[start:stop]))
        whole = float(sum(self.sums[first:last]))
        head, tail = values[start : first * BLOCK], values[last * BLOCK : stop]
        return whole + float(np.add.reduce(head)) + float(np.add.reduce(tail))


def summarise(
    series: Series, rows: int, name: MetricName | None, window: int | None = None, blocks: _Blocks | None = None
) -> MetricSummary:
    """Numbers of one metric over `rows` rows of the run; count + nan + missing = rows.

    `count` are the finite values, `nan` the values logged as NaN or an infinity, `missing` the rows without the
    metric. `first_value` and `last_value` are the first and last logged value, None where that was not finite; all
    else is over the finite values. Windows, slope and correlation are those of `diagnosis.shapes`, on which the
    findings' evidence stands too. `pct_change` is from the first to the last window in percent of |first|. `blocks`
    spares work where it has seen the beginning of the same finite values.
    """
    finite = series.finite()
    values = finite.values
    n, logged = len(values), len(series)
    first = mid = last = low = high = mean = change = None
    if n:
        w = window_rows(n, window)
        start = (n - w) // 2
        seen = blocks or _Blocks()
        total, low, high = seen.over(values)
        first, mid, last = (seen.sum(values, a, a + w) / w for a in (0, start, n - w))
        mean = total / n
        change = 100 * (last - first) / abs(first) if first else None
    return _Lazy(
        finite,
        window,
        {
            "key": series.key,
            "count": n,
            "missing": max(0, rows - logged),
            "nan": logged - n,
            "first_value": _known(series, 0),
            "last_value": _known(series, -1),
            "first": first,
            "mid": mid,
            "last": last,
            "min": low,
            "max": high,
            "mean": mean,
            "pct_change": change,
            "label": name.label if name else series.key,
            "unit": name.unit if name else "",
            "group": name.group if name else "other",
            "canonical": name.canonical if name else None,
            "member": name.member if name else "",
        },
    )


def _known(series: Series, at: int) -> float | None:
    if not len(series):
        return None
    value = float(series.values[at])
    return value if value == value else None


@dataclass(slots=True)
class _Kept:
    """What is known of one column: the array that holds it, and the summary of its first `count` points."""

    array: Floats
    first_row: int
    count: int
    asked: tuple[object, ...]
    blocks: _Blocks
    summary: MetricSummary


@dataclass(slots=True)
class SummaryCache:
    """Summaries by raw key, kept from one report to the next of the same run: a metric that is logged on few rows
    (validation) is not computed again on each of the others, and of a long column only what is new is looked at."""

    kept: dict[str, _Kept] = field(default_factory=dict)

    def summary(self, series: Series, rows: int, name: MetricName | None, window: int | None) -> MetricSummary:
        """`series` holds at least one point. A column that was revised lies in another array than before."""
        array = series.values if series.values.base is None else series.values.base
        first_row, count, asked = int(series.rows[0]), len(series), (rows, name, window)
        kept = self.kept.get(series.key)
        same = kept is not None and kept.array is array and kept.first_row == first_row and kept.count <= count
        if kept is not None and same and kept.count == count and kept.asked == asked:
            return kept.summary
        blocks = kept.blocks if kept is not None and same and series.all_finite else _Blocks()
        summary = summarise(series, rows, name, window, blocks)
        self.kept[series.key] = _Kept(array, first_row, count, asked, blocks, summary)
        return summary

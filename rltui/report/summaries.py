"""Numbers of one metric over its history, and the same for a whole run on every new row, at a bounded cost. Numbers are
computed when they are asked for: a screen shows a dozen metrics, and slope, correlation and shape of one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, field

from rltui.evidence.evaluations import held_out
from rltui.evidence.metric import alone
from rltui.evidence.shapes import describe, window_rows
from rltui.report.model import MetricSummary
from rltui.report.names import report_names, sharing
from rltui.run.metric_series import in_use
from rltui.run.names import MetricName
from rltui.run.sums import BlockSums
from rltui.run.table import Floats, Series

_WORDS = frozenset({"label", "unit", "group", "canonical", "member", "trap"})
_TRENDS = frozenset({"slope_per_100_steps", "corr_step", "shape"})
_NUMBERS = frozenset(
    {"count", "missing", "nan", "first_value", "last_value", "first", "mid", "last", "min", "max", "mean", "pct_change"}
    | {"overlap", "left_out"}
)


class _Source(NamedTuple):
    """What a summary is computed from."""

    series: Series
    rows: int
    name: MetricName | None
    window: int | None
    blocks: BlockSums | None
    logged: Series


class _Lazy(MetricSummary):
    """A summary that is computed when one of its parts is first read. A screen shows a dozen of a run's hundreds of
    metrics."""

    __slots__ = ("_of",)
    _of: _Source

    def __init__(self, source: _Source) -> None:
        object.__setattr__(self, "_of", source)
        object.__setattr__(self, "key", source.series.key)

    def __getattr__(self, name: str) -> object:
        numbers: dict[str, object]
        if name in _NUMBERS:
            of = self._of
            numbers = _numbers(of)
            numbers |= {"first_value": _known(of.logged, 0), "last_value": _known(of.logged, -1)}
        elif name in _TRENDS:
            found = describe(self._of.series.finite(), self._of.window)
            numbers = {"slope_per_100_steps": found.slope, "corr_step": found.corr_step}
            numbers |= {"shape": found.word}
        elif name == "steady":
            numbers = {name: _steady(self._of)}
        elif name in _WORDS:
            numbers = _words(self._of.series.key, self._of.name)
        else:
            raise AttributeError(name)
        for field_name, value in numbers.items():
            object.__setattr__(self, field_name, value)
        return numbers[name]


def summarise(
    series: Series,
    rows: int,
    name: MetricName | None,
    window: int | None = None,
    blocks: BlockSums | None = None,
    logged: Series | None = None,
) -> MetricSummary:
    """Numbers of one metric over `rows` rows of the run; count + nan + left_out + missing = rows.

    `count` are the finite values, `nan` the values logged as NaN or an infinity, `missing` the rows without the
    metric, `left_out` those in which it was logged and not measured. `first_value` and `last_value` are the first and
    last logged value, None where that was not finite; all else is over the finite values. Windows, slope and
    correlation are those of `diagnosis.shapes`, on which the findings' evidence stands too. `pct_change` is from the
    first to the last window in percent of |first|. `blocks` spares work where it has seen the beginning of the same
    finite values. `logged`: the same with rows in which the metric was not measured, if there are any; its first and
    last value are told.
    """
    return _Lazy(_Source(series, rows, name, window, blocks, logged if logged is not None else series))


def _numbers(of: _Source) -> dict[str, object]:
    values = of.series.finite().values
    n, measured, logged = len(values), len(of.series), len(of.logged)
    first = mid = last = low = high = mean = change = None
    overlap = False
    if n:
        w = window_rows(n, of.window)
        start, overlap = (n - w) // 2, 2 * w > n
        seen = of.blocks or BlockSums()
        total, low, high = seen.over(values)
        first, mid, last = (seen.sum(values, a, a + w) / w for a in (0, start, n - w))
        mean = total / n
        change = 100 * (last - first) / abs(first) if first else None
    return {
        "count": n,
        "missing": max(0, of.rows - logged),
        "left_out": logged - measured,
        "nan": measured - n,
        "first": first,
        "mid": mid,
        "last": last,
        "min": low,
        "max": high,
        "mean": mean,
        "pct_change": change,
        "overlap": overlap,
    }


def _steady(of: _Source) -> bool:
    """Whether first and last window differ by no more than noise: what the sentences say of the metric, or, of too few
    points for them, by the spread of the points."""
    points = of.series.finite()
    if not len(points):
        return False
    name = of.name.canonical if of.name is not None and of.name.canonical is not None else of.series.key
    facts = alone(name, points, held_out=name in held_out(), window=of.window)
    if facts.since_start is None:
        return describe(points, of.window).steady
    return not facts.since_start.direction and not facts.moves


def _words(key: str, name: MetricName | None) -> dict[str, object]:
    return {
        "label": name.label if name else key,
        "unit": name.unit if name else "",
        "group": name.group if name else "other",
        "canonical": name.canonical if name else None,
        "member": name.member if name else "",
        "trap": name.own_trap if name else "",
    }


def _known(series: Series, at: int) -> float | None:
    if not len(series):
        return None
    value = float(series.values[at])
    return value if value == value else None


class _Kept(Struct):
    """What is known of one column: the array that holds its finite points, and the summary of its first `count`."""

    array: Floats
    first_row: int
    count: int
    asked: tuple[object, ...]
    blocks: BlockSums
    summary: MetricSummary


def _judged(own: list[str], names: Mapping[str, MetricName], series: Mapping[str, Series]) -> str:
    """The key that is used if a validation set or reward function is logged under several names: the one with the most
    points."""
    if names[own[0]].member:
        return max(own, key=lambda key: len(series[key]))
    return in_use([series[key] for key in own]).key


class SummaryCache(Struct):
    """Summaries by raw key, kept from one report to the next of the same run: a metric that is logged on few rows
    (validation) is not computed again on each of the others, and of a long column only what is new is looked at."""

    kept: dict[str, _Kept] = field(default_factory=dict)
    _called: tuple[Mapping[str, MetricName], list[str], dict[str, str]] | None = None
    _sharing: dict[str, list[str]] = field(default_factory=dict)
    _judged: dict[str, str] = field(default_factory=dict)

    def keys(
        self, names: Mapping[str, MetricName], series: Mapping[str, Series], sources: Mapping[str, Sequence[str]]
    ) -> dict[str, str]:
        """The key behind each of `report_names`; worked out again where the keys or what is known of them are others
        than before. `sources` gives the keys of a canonical name, the preferred one first."""
        keys = list(series)
        known = self._called is not None and self._called[0] is names and self._called[1] == keys
        if not known:
            self._sharing = sharing(names, series, lambda name: list(sources.get(name, ())))
        judged = {best: _judged(own, names, series) for best, own in self._sharing.items()}
        if self._called is None or not known or judged != self._judged:
            self._judged = judged
            self._called = names, keys, {name: key for key, name in report_names(names, series, judged).items()}
        return self._called[2]

    def summary(
        self, series: Series, rows: int, name: MetricName | None, window: int | None, logged: Series | None = None
    ) -> MetricSummary:
        """`series` holds at least one point. A column that was revised lies in another array than before."""
        values = series.finite().values
        array = values if values.base is None else values.base
        first_row, count, asked = int(series.rows[0]), len(series), (rows, name, window)
        kept = self.kept.get(series.key)
        same = kept is not None and kept.array is array and kept.first_row == first_row and kept.count <= count
        if kept is not None and same and kept.count == count and kept.asked == asked:
            return kept.summary
        blocks = kept.blocks if kept is not None and same else BlockSums()
        summary = summarise(series, rows, name, window, blocks, logged)
        self.kept[series.key] = _Kept(array, first_row, count, asked, blocks, summary)
        return summary


class Summaries(Mapping[str, MetricSummary]):
    """The summaries of a report by name. Each is made when it is first asked for, as a screen shows a dozen of them.
    `keys`: name -> key; by key what is known of it, the measured points, and the points as logged."""

    def __init__(
        self,
        keys: Mapping[str, str],
        names: Mapping[str, MetricName],
        series: Mapping[str, Series],
        logged: Mapping[str, Series],
        rows: int,
        window: int | None,
        cache: SummaryCache,
    ) -> None:
        self._keys, self._names, self._series, self._logged = keys, names, series, logged
        self._rows, self._window, self._cache = rows, window, cache
        self._made: dict[str, MetricSummary] = {}

    def __getitem__(self, name: str) -> MetricSummary:
        found = self._made.get(name)
        if found is None:
            key = self._keys[name]
            series, meaning, logged = self._series[key], self._names.get(key), self._logged[key]
            found = self._made[name] = self._cache.summary(series, self._rows, meaning, self._window, logged)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

"""Numbers of one metric over its history, and the same for a whole run without doing twice what did not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rltui.diagnosis.shapes import describe
from rltui.report.model import MetricSummary
from rltui.run.run import MetricName
from rltui.run.table import Series

Stamp = tuple[object, ...]
"""What a summary was computed from: as long as it is the same, so is the summary."""


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


def summarise(series: Series, rows: int, name: MetricName | None, window: int | None = None) -> MetricSummary:
    """Numbers of one metric over `rows` rows of the run; count + nan + missing = rows.

    `count` are the finite values, `nan` the values logged as NaN or an infinity, `missing` the rows without the
    metric. `first_value` and `last_value` are the first and last logged value, None where that was not finite; all
    else is over the finite values. Windows, slope and correlation are those of `diagnosis.shapes`, on which the
    findings' evidence stands too. `pct_change` is from the first to the last window in percent of |first|.
    """
    values = series.finite().values
    n, logged = len(values), len(series)
    numbers = describe(series, window)
    first, last = numbers.first, numbers.last
    return MetricSummary(
        key=series.key,
        count=n,
        missing=max(0, rows - logged),
        nan=logged - n,
        first_value=_known(series, 0),
        last_value=_known(series, -1),
        first=first,
        mid=numbers.mid,
        last=last,
        min=float(values.min()) if n else None,
        max=float(values.max()) if n else None,
        mean=float(values.mean()) if n else None,
        pct_change=100 * (last - first) / abs(first) if first and last is not None else None,
        slope_per_100_steps=numbers.slope,
        corr_step=numbers.corr_step,
        shape=numbers.word,
        label=name.label if name else series.key,
        unit=name.unit if name else "",
        group=name.group if name else "other",
        canonical=name.canonical if name else None,
        member=name.member if name else "",
    )


def _known(series: Series, at: int) -> float | None:
    if not len(series):
        return None
    value = float(series.values[at])
    return value if value == value else None


@dataclass(slots=True)
class SummaryCache:
    """Summaries by raw key, kept from one report to the next of the same run: a metric that is logged on few rows
    (validation) is not computed again on each of the others."""

    kept: dict[str, tuple[Stamp, MetricSummary]] = field(default_factory=dict)

    def summary(self, series: Series, rows: int, name: MetricName | None, window: int | None) -> MetricSummary:
        stamp: Stamp = (len(series), series.values.sum().tobytes(), int(series.steps.sum()), window, name)
        kept = self.kept.get(series.key)
        if kept is None or kept[0] != stamp:
            kept = self.kept[series.key] = (stamp, summarise(series, rows, name, window))
        missing = max(0, rows - len(series))
        return kept[1] if kept[1].missing == missing else replace(kept[1], missing=missing)

"""Numbers of one metric over its history, and the same for a whole run without doing twice what did not change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from rltui.report.model import MetricSummary
from rltui.report.shape import shape
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
    else is over the finite values.
    """
    finite = series.finite()
    values, steps = finite.values, finite.steps
    n, logged = len(values), len(series)
    size = min(n, window or max(5, -(-n // 10)))
    first = mid = last = low = high = mean = pct = slope = corr = None
    if n:
        middle = (n - size) // 2
        first, mid, last = (float(values[a : a + size].mean()) for a in (0, middle, n - size))
        low, high, mean = float(values.min()), float(values.max()), float(values.mean())
        pct = 100 * (last - first) / abs(first) if first else None
        if n > 1:
            x = steps - steps.mean()
            y = values - mean
            # sums, not dot products: BLAS starts threads on long columns, which costs more than it saves here
            xy, xx, yy = float((x * y).sum()), float((x * x).sum()), float((y * y).sum())
            slope = 100 * xy / xx if xx else None
            corr = xy / float(np.sqrt(xx * yy)) if xx and yy else None
    return MetricSummary(
        key=series.key,
        count=n,
        missing=max(0, rows - logged),
        nan=logged - n,
        first_value=_known(series, 0),
        last_value=_known(series, -1),
        first=first,
        mid=mid,
        last=last,
        min=low,
        max=high,
        mean=mean,
        pct_change=pct,
        slope_per_100_steps=slope,
        corr_step=corr,
        shape=shape(steps, values),
        label=name.label if name else series.key,
        unit=name.unit if name else "",
        group=name.group if name else "other",
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

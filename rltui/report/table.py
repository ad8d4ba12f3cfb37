"""The history of a run as one polars frame: what `rltui export` writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rltui.report.model import Report

if TYPE_CHECKING:
    import polars as pl

STEP, TIME = "step", "time"


def table(report: Report) -> pl.DataFrame:
    """One row a step, in step order: `step`, `time` (UTC, null unknown; only where any row states one), and each metric
    under its name in the report, in its units. Null: not logged at that step; NaN: logged as NaN or an infinity.

    A metric that is itself called `step` or `time` is `step (logged)` or `time (logged)`.
    """
    import polars as pl

    run = report.recording.run
    columns: dict[str, pl.Series] = {STEP: pl.Series(run.steps)}
    if np.isfinite(run.times).any():
        stamps = pl.Series(run.times * 1000).fill_nan(None).round().cast(pl.Int64)
        columns[TIME] = stamps.cast(pl.Datetime("ms", "UTC"))
    for name, summary in report.metrics.items():
        series = report.recording.series[summary.key]
        at = run.steps.searchsorted(series.steps)
        values = np.full(run.rows, np.nan)
        held = np.zeros(run.rows, dtype=np.bool_)
        values[at], held[at] = series.values, True
        columns[f"{name} (logged)" if name in (STEP, TIME) else name] = (
            pl.DataFrame({"value": values, "held": held})
            .select(pl.when(pl.col("held")).then(pl.col("value")))
            .to_series()
        )
    return pl.DataFrame(columns)

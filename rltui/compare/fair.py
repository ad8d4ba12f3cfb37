"""Comparing like with like: equal budgets, the Pareto front of quality and cost, the band of the other runs."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np

from rltui.compare.metric import Scored
from rltui.compare.model import Band
from rltui.compare.read import RunCurve

if TYPE_CHECKING:
    import polars as pl

OTHERS = 4  # fewer make no band
GRID = 200  # steps at which a run is held against the others
LASTING = 3  # points of the grid: less is a dip, not "behind since"
LOW, HIGH = 0.1, 0.9


def total(cost: RunCurve | None) -> float | None:
    """What the whole run cost; None if nobody can tell or no number holds it."""
    return float(cost.values[-1]) if cost is not None and isfinite(cost.values[-1]) else None


def at_equal(
    scores: Mapping[str, Scored], costs: Mapping[str, RunCurve | None]
) -> tuple[float | None, dict[str, float]]:
    """(budget, run -> best smoothed value within it). The budget is the largest that all runs of known cost reached;
    runs of unknown cost are left out. (None, {}) where fewer than two are known."""
    import polars as pl

    known = {run: cost for run in scores if (cost := costs.get(run)) is not None and total(cost) is not None}
    if len(known) < 2:
        return None, {}
    budget = min(float(cost.values[-1]) for cost in known.values())
    rows = pl.concat(
        [
            pl.DataFrame(
                {"run": run, "spent": np.interp(scores[run].steps, cost.steps, cost.values), "good": scores[run].good}
            )
            for run, cost in known.items()
        ]
    )
    within = rows.filter(pl.col("spent") <= budget * (1 + 1e-9)).group_by("run").agg(pl.col("good").max())
    return budget, {run: good * scores[run].sign for run, good in within.sort("run").iter_rows()}


def front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Runs that no other beats: run -> (cost, goodness) in, the non-dominated ones out, cheapest first. Of runs equal
    in both the first by name stays."""
    kept: list[str] = []
    best = -np.inf
    for run, (_, good) in sorted(points.items(), key=lambda p: (p[1][0], -p[1][1], p[0])):
        if good > best:
            kept.append(run)
            best = good
    return tuple(kept)


def band(run: str, scores: Mapping[str, Scored]) -> Band | None:
    """A run against the 10-90 % quantiles of the others at the same step; None where fewer than four stand there."""
    import polars as pl

    own = scores[run]
    thin = np.unique(np.linspace(0, len(own.steps) - 1, min(GRID, len(own.steps))).round().astype(np.int64))
    grid = pl.DataFrame({"step": own.steps[thin], "own": own.good[thin]})
    others = [_held(grid, other) for name, other in scores.items() if name != run]
    if len(others) < OTHERS:
        return None
    at_step = (
        pl.concat(others)
        .drop_nulls()
        .group_by("step")
        .agg(
            pl.len().alias("n"),
            pl.col("good").quantile(LOW, "linear").alias("low"),
            pl.col("good").quantile(HIGH, "linear").alias("high"),
        )
    )
    rows = grid.join(at_step, on="step").filter(pl.col("n") >= OTHERS).sort("step")
    if not rows.height:
        return None
    below, above = (rows["own"] < rows["low"]).to_numpy(), (rows["own"] > rows["high"]).to_numpy()
    steps = rows["step"].to_numpy()
    return Band(
        others=len(others),
        steps=rows.height,
        inside=float((~below & ~above).mean()),
        below=float(below.mean()),
        above=float(above.mean()),
        behind_since=since(below, steps),
        ahead_since=since(above, steps),
    )


def _held(grid: pl.DataFrame, other: Scored) -> pl.DataFrame:
    """The other run's value at each step of the grid that it had reached."""
    import polars as pl

    known = pl.DataFrame({"step": other.steps, "good": other.good})
    joined = grid.select("step").join_asof(known, on="step", strategy="backward")
    return joined.filter(pl.col("step") <= other.steps[-1])


def since(outside: np.ndarray, steps: np.ndarray) -> int | None:
    """The step (or other x) from which all is outside, to the end."""
    inside = np.flatnonzero(~outside)
    start = 0 if not len(inside) else int(inside[-1]) + 1
    return int(steps[start]) if len(outside) - start >= LASTING else None

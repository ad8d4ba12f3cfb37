"""Fair comparison: equal budgets, the Pareto front of quality and cost, a run beside the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rltui.compare.metric import Scored
from rltui.compare.model import Band
from rltui.compare.read import ComparedRun, Floats, RunCurve

if TYPE_CHECKING:
    import polars as pl


OTHERS = 4  # fewer other runs are not enough for a band
GRID = 200  # most steps at which a run is compared with the others
LASTING = 3  # points of the grid: fewer are only a dip
LOW, HIGH = 0.1, 0.9


def total(cost: RunCurve | None) -> float | None:
    """What the whole run cost; None if unknown or not finite."""
    return float(cost.values[-1]) if cost is not None and isfinite(cost.values[-1]) else None


def best_within(score: Scored, cost: RunCurve | None, budget: float) -> float | None:
    """The best smoothed value (more is better) that a run had reached when it had cost `budget`; None if unknown. A run
    that ended up costing more than `budget` is included, because any run can be ended early."""
    if cost is None or total(cost) is None:
        return None
    spent = np.interp(score.steps, cost.steps, cost.values)
    reached = score.good[spent <= budget * (1 + 1e-9)]
    return min(float(reached.max()), score.best_good) if len(reached) else None


def at_equal(
    scores: Mapping[str, Scored], costs: Mapping[str, RunCurve | None]
) -> tuple[float | None, dict[str, float]]:
    """(budget, run -> best smoothed value within it). The budget is the largest that all runs of known cost reached.
    Runs of unknown cost are left out. (None, {}) if fewer than two costs are known."""
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


def front(scores: Mapping[str, Scored], costs: Mapping[str, RunCurve | None]) -> tuple[str, ...]:
    """Runs of known cost that no other run beats, cheapest first: no other had reached as good a value at the same
    cost. If several have equal cost and value, the first by name stays."""
    totals = {run: spent for run in scores if (spent := total(costs.get(run))) is not None}
    kept: list[str] = []
    best = -np.inf
    for run in sorted(totals, key=lambda run: (totals[run], -scores[run].best_good, run)):
        others = (best_within(scores[o], costs.get(o), totals[run]) for o in totals if totals[o] > totals[run])
        if scores[run].best_good > max([best, *(value for value in others if value is not None)]):
            kept.append(run)
            best = scores[run].best_good
    return tuple(kept)


def band(run: str, scores: Mapping[str, Scored]) -> Band | None:
    """A run compared with the 10 % and 90 % quantiles of the others at the same step; None if no step has at least four
    others."""
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
    """The other run's value at each step of the grid that it reached."""
    import polars as pl

    known = pl.DataFrame({"step": other.steps, "good": other.good})
    joined = grid.select("step").join_asof(known, on="step", strategy="backward")
    return joined.filter(pl.col("step") <= other.steps[-1])


def since(outside: np.ndarray, steps: np.ndarray) -> int | None:
    """The step (or other x) from which on all points are outside; None if there are fewer than `LASTING` of them."""
    inside = np.flatnonzero(~outside)
    start = 0 if not len(inside) else int(inside[-1]) + 1
    return int(steps[start]) if len(outside) - start >= LASTING else None


class Beside(Struct, frozen=True):
    """Lines (x, values) to draw behind those of the run, with a label. `words`: how the run compares with them."""

    label: str
    lines: tuple[tuple[Floats, Floats], ...]
    words: str


def line(run: ComparedRun, name: str, axis: str) -> tuple[Floats, Floats] | None:
    """A metric of a run over steps, seconds or tokens; None if it logs no such metric or axis."""
    curve = run.traces.get(name)
    if curve is None:
        return None
    if axis == "step":
        return curve.steps.astype(np.float64), curve.values
    cost = run.cost({"time": "hours", "tokens": "tokens"}[axis])
    if cost is None:
        return None
    return np.interp(curve.steps, cost.steps, cost.values) * (3600.0 if axis == "time" else 1.0), curve.values


def beside_one(run: ComparedRun, name: str, axis: str) -> Beside | None:
    """The metric of one other run."""
    found = line(run, name, axis)
    return None if found is None else Beside(run.id, (found,), "")


def beside_many(
    runs: Sequence[ComparedRun], name: str, axis: str, at: Floats, values: Floats, direction: str, words: str
) -> Beside | None:
    """The 10-90 % band of the others, at points that at least four of them cover, and since when the run (`values` at
    `at`) is outside. `direction`: which way is good (up, down, none). `words`: name of the x axis. None if there are
    too few others."""
    known = [found for run in runs if (found := line(run, name, axis)) is not None and len(found[0]) > 1]
    fit = np.isfinite(values) & np.isfinite(at)
    if len(known) < OTHERS or not fit.any():
        return None
    at, values = at[fit], values[fit]
    picked = np.unique(np.linspace(0, len(at) - 1, min(GRID, len(at))).round().astype(np.int64))
    grid, own = at[picked], _smoothed(values)[picked]
    table = np.full((len(known), len(grid)), np.nan)
    for row, (x, y) in zip(table, known, strict=True):
        inside = (grid >= x[0]) & (grid <= x[-1])
        row[inside] = np.interp(grid[inside], x, _smoothed(y))
    enough = np.isfinite(table).sum(axis=0) >= OTHERS
    if not enough.any():
        return None
    grid, own, table = grid[enough], own[enough], table[:, enough]
    low, high = np.nanquantile(table, [LOW, HIGH], axis=0)
    below, above = since(own < low, grid), since(own > high, grid)
    good, bad = {"up": ("ahead", "behind"), "down": ("behind", "ahead")}.get(direction, ("above", "below"))
    told = [f"{word} since {words} {at:.0f}" for word, at in ((bad, below), (good, above)) if at is not None]
    share = float(((own >= low) & (own <= high)).mean())
    said = told[0] if told else f"inside for {100 * share:.0f} % of the way"
    return Beside(f"10–90 % of {len(known)} others", ((grid, low), (grid, high)), said)


def _smoothed(values: Floats) -> Floats:
    """A centred mean over a fiftieth of the points, so that the band shows levels, not the noise of single steps."""
    width = max(1, len(values) // 50) | 1
    if width == 1:
        return values
    padded = np.pad(values, width // 2, mode="edge")
    smoothed: Floats = np.convolve(padded, np.full(width, 1 / width), "valid")
    return smoothed

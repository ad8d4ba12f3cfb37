"""One metric of a run beside the same metric of the others: at equal step, time or tokens; the band that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rltui.compare.fair import GRID, HIGH, LOW, OTHERS, since
from rltui.compare.read import ComparedRun, Floats


@dataclass(frozen=True, slots=True)
class Beside:
    """Lines (x, values) to draw behind those of the run, and what to say of them. `words`: where the run stands."""

    label: str
    lines: tuple[tuple[Floats, Floats], ...]
    words: str


def line(run: ComparedRun, name: str, axis: str) -> tuple[Floats, Floats] | None:
    """A metric of a run over steps, seconds or tokens; None where it does not log one of both."""
    curve = run.traces.get(name)
    if curve is None:
        return None
    if axis == "step":
        return curve.steps.astype(np.float64), curve.values
    cost = run.cost({"time": "hours", "tokens": "tokens"}[axis])
    if cost is None:
        return None
    return np.interp(curve.steps, cost.steps, cost.values) * (3600.0 if axis == "time" else 1.0), curve.values


def one(run: ComparedRun, name: str, axis: str) -> Beside | None:
    """The metric of one other run."""
    found = line(run, name, axis)
    return None if found is None else Beside(run.id, (found,), "")


def band(
    runs: Sequence[ComparedRun], name: str, axis: str, at: Floats, values: Floats, direction: str, words: str
) -> Beside | None:
    """The 10-90 % of the others wherever four of them stand, and since when the run (`values` at `at`) is outside.
    `direction`: which way is good (up, down, none). `words`: the x axis, to say since when. None: too few others."""
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
    said = told[0] if told else f"inside {100 * share:.0f} % of the way"
    return Beside(f"10–90 % of {len(known)} others", ((grid, low), (grid, high)), said)


def _smoothed(values: Floats) -> Floats:
    """A centred mean over a fiftieth of the points: the band is of levels, not of the noise of single steps."""
    width = max(1, len(values) // 50) | 1
    if width == 1:
        return values
    padded = np.pad(values, width // 2, mode="edge")
    smoothed: Floats = np.convolve(padded, np.full(width, 1 / width), "valid")
    return smoothed

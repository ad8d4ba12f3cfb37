"""By which curve the steps of a run are ranked: the stated validation set, several sets together, or train reward."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rltui.diagnosis.look import Look
from rltui.diagnosis.trends import sd_d, smooth
from rltui.run.table import Floats, Ints, Series

EVALS = 3  # a validation set that was looked at less often ranks nothing
COVERS = 0.8  # share of the evaluations that another set must have been part of
NOISE_ROWS = 500  # newest rows that give the standard error


@dataclass(frozen=True, slots=True)
class Ranking:
    """`score` decides: smoothed over `width` points, at `steps`, with standard error `se`. `value` and `value_se` are
    the smoothed metric that people see (`key`, in its own unit) at the same steps; `start` is its first logged value.
    `held_out`: validation, not train reward. `basis` says in words what ranks."""

    steps: Ints
    score: Floats
    se: float
    width: int
    key: str
    value: Floats
    value_se: float | None
    start: float
    held_out: bool
    basis: str

    def nearest(self, step: int) -> int:
        """Index of the ranked point nearest to a step, of two the earlier."""
        i = int(np.searchsorted(self.steps, step))
        if i == len(self.steps):
            return i - 1
        return i - 1 if i and step - int(self.steps[i - 1]) <= int(self.steps[i]) - step else i


def ranking(look: Look) -> Ranking | None:
    """Validation by the set that the user named (`--map val_score=KEY`), else by all sets that were evaluated together,
    else train reward. None where neither has enough points, or where values overflow.

    Several sets count alike whatever their scale: the mean of their z (each over its own evaluations). A set that is
    mere noise then moves the smoothed mean by little.
    """
    sets = _validation_sets(look)
    if sets:
        main = sets[0]
        width = 5 if len(main) >= 10 else 3
        if len(sets) == 1:
            return _of(main, width, True, f"validation, {main.key}")
        score: Floats = np.mean([_z(s.values) for s in sets], axis=0)
        return _of(main, width, True, f"validation, mean z of {', '.join(s.key for s in sets)}", score)
    reward = look.series(look.reward)
    if reward is None or len(reward) < 5:
        return None
    width = max(5, min(51, len(reward) // 20 * 2 + 1))
    return _of(reward, width, False, "train reward only: low confidence")


def _validation_sets(look: Look) -> list[Series]:
    """The sets that rank, cut to the evaluations that all of them were part of; the one that the run is judged by
    first."""
    main = look.series("val_score")
    if main is None or len(main) < EVALS:
        return []
    if look.forced("val_score"):
        return [main]
    sets, rows = [main], main.rows
    for other in look.family("val_score").values():
        common = np.intersect1d(rows, other.rows)
        if other.key != main.key and len(common) >= max(EVALS, COVERS * len(rows)):
            sets, rows = [*sets, other], common
    return sets if len(sets) == 1 else [_at(s, rows) for s in sets]


def _at(s: Series, rows: Ints) -> Series:
    keep = np.isin(s.rows, rows)
    return Series(s.key, s.steps[keep], s.values[keep], s.rows[keep], s.times[keep])


def _z(x: Floats) -> Floats:
    """In sd of the evaluations themselves; all 0 where they are all alike."""
    sd = float(np.std(x))
    return (x - x.mean()) / sd if sd > 0 else np.zeros(len(x))


def _of(series: Series, width: int, held_out: bool, basis: str, score: Floats | None = None) -> Ranking | None:
    value = smooth(series.values, width)
    ranks = value if score is None else smooth(score, width)
    if not (np.isfinite(value).all() and np.isfinite(ranks).all()):
        return None
    raw = series.values if score is None else score
    points = np.sqrt(min(width, len(value)))
    error, shown = (float(sd_d(x[-NOISE_ROWS:]) / points) for x in (raw, series.values))
    if not np.isfinite(error):
        return None
    return Ranking(
        series.steps,
        ranks,
        error,
        width,
        series.key,
        value,
        shown if np.isfinite(shown) else None,
        float(series.values[0]),
        held_out,
        basis,
    )

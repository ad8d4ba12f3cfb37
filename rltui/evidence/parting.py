"""Where two courses that went together separated, and where one left its level."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from rltui.run.table import Floats, Ints, Series

MOST_PLACES = 60
"""Longer series are reduced to this many means of neighbours: every pair of two places is tried."""
LEAST = 5


def parted_at(ahead: Series, held: Series) -> int | None:
    """The last step of `held` at which it was still as far below `ahead` as before; None if there are too few points.
    For `ahead`, the mean between two points of `held` counts.

    The difference is level, then moves, then is level again: the least squared error of all such courses. Courses that
    separate for a while and then go on in parallel did separate.
    """
    ends = ahead.rows.searchsorted(held.rows, "right")
    begins = np.concatenate(([0], ends[:-1]))
    some = ends > begins
    if some.sum() < LEAST:
        return None
    sums = np.concatenate(([0.0], np.cumsum(ahead.values)))
    apart = ((sums[ends] - sums[begins])[some] / (ends - begins)[some]) - held.values[some]
    return int(held.steps[some][_level_until(apart)])


def set_out_at(course: Series) -> int:
    """The last step at which a course was level before it went to another level, by means of neighbouring rows."""
    return int(course.steps[_level_until(course.values)])


def _level_until(x: Floats) -> int:
    """Index of the last point at which a series is level, by as many means of neighbours as may be tried."""
    count = min(len(x), MOST_PLACES)
    size, more = divmod(len(x), count)  # the first groups hold one more if the sizes differ
    ends = np.arange(1, count + 1) * size + np.minimum(np.arange(1, count + 1), more)
    sizes = np.diff(ends, prepend=0)
    return int(ends[_leaves(np.add.reduceat(x, ends - sizes) / sizes)]) - 1


SURE = {5: 0.982, 6: 0.956, 7: 0.917, 8: 0.87, 9: 0.825}
"""Greatest share of their squares that the best course from one level to another explains in all but 1 of 200 series of
so few points of pure noise, in each direction (simulated)."""


def goes(x: Floats) -> int:
    """The direction in which so few points surely go from one level to another, 1 or -1. 0 if it may be noise, or for
    other numbers of points."""
    least = SURE.get(len(x))
    off = x - x.mean()
    squares = float((off * off).sum())
    if least is None or squares <= 0.0:
        return 0
    shapes, sizes, _ = _shapes(len(x))
    along = (shapes @ off) / np.sqrt(sizes * squares)
    at = int(np.abs(along).argmax())
    return 0 if along[at] ** 2 < least else 1 if along[at] > 0 else -1


def _leaves(x: Floats) -> int:
    """Index at which a series is level for the last time before it goes to another level."""
    shapes, sizes, begins = _shapes(len(x))
    return int(begins[int(((shapes @ (x - x.mean())) ** 2 / sizes).argmax())])


@lru_cache(maxsize=8)
def _shapes(n: int) -> tuple[Floats, Floats, Ints]:
    """Centred courses from one level to another between each two places, their sums of squares, and the
    first places."""
    begins, ends = np.triu_indices(n, 1)
    places = np.arange(n, dtype=np.float64)[None, :]
    shapes = np.clip((places - begins[:, None]) / (ends - begins)[:, None], 0.0, 1.0)
    shapes -= shapes.mean(axis=1, keepdims=True)
    return shapes, (shapes * shapes).sum(axis=1), begins

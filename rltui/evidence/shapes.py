"""A series in a few numbers and words: first, mid and last window, slope, correlation with step, course."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from msgspec import Struct

from rltui.evidence.clock import whole_parts
from rltui.evidence.trends import TREND_EFFECT, TREND_P, mann_kendall_p, sd_d, theil_sen
from rltui.run.sums import BlockSums, mean, sd
from rltui.run.table import Floats, Ints, Series

MOST = 144
"""The most points that are looked at; a longer series is reduced to the means of this many equal blocks."""

SPREAD_POINTS = 1_000
"""The number of points that show how widely a series spreads."""

CONSTANT, TRENDLESS = "constant", "no trend"

FEW = 10
"""With fewer points, a trend test says nothing, and there are only first, mid and last."""

CLEAR_NOISE = 3.0
"""A move between two blocks is clear if it is at least this many sd of the noise..."""

CLEAR_SHARE = 0.35
"""...and this share of the range of the middle 90 % of the points: less is wander."""

SWINGS = 4
"""This many clear moves, alternately up and down, are an oscillation; fewer are wander."""

SWING_NOISE, SWING_SHARE = 4.0, 0.6
"""A swing is clear if it is this many sd of the noise and this share of the range of the middle 90 %."""

DIVERGING = 0.6
"""Share of the whole move that the last two of twelve blocks make if it has no end in sight."""

BEND_SHARE, BEND_SE = 0.25, 4.0
"""A move has bent if its halves differ by this share of it, and by this many standard errors of thirds."""


def course(steps: Ints, values: Floats) -> str:
    """`constant`, `rises`, `rises, accelerating`, `falls, decelerating`, `diverges upwards`, `rises early, then level`,
    `level, then falls`, `rises to about step N, then falls`, `oscillates`...

    `values` are finite and in step order. `no trend` if neither the trend test of the rules nor a clear move between
    the ends shows another course.
    """
    n = len(values)
    if n == 0:
        return "nothing finite"
    if n > 1 and not np.count_nonzero(values != values[0]):
        return CONSTANT
    if n < FEW:
        return "too few points"
    if n > MOST:
        edges = _spread(n, MOST)
        counts = np.concatenate((edges[1:], [n])) - edges
        values = np.add.reduceat(values, edges) / counts
        steps = steps[edges + counts // 2]
    blocks = _block_medians(values, min(12, len(values) // 3))
    ordered = values.copy()
    ordered.sort()
    spread = float(ordered[len(values) * 19 // 20] - ordered[len(values) // 20])
    noise = sd_d(values)
    clear = max(CLEAR_NOISE * noise, CLEAR_SHARE * spread)
    if _legs(blocks, max(SWING_NOISE * noise, SWING_SHARE * spread)) >= SWINGS:
        return "oscillates"
    turn = _turn(blocks, clear)
    if turn is not None:
        at, before, after = turn
        middle = (2 * at + 1) * len(steps) // (2 * len(blocks))
        return f"{before} to about step {int(steps[middle])}, then {after}"
    moved = float(blocks[-1] - blocks[0])
    if moved * _by_windows(values) < 0:  # most points go one way, a few go further the other way: the table shows those
        return TRENDLESS
    p, sign = mann_kendall_p(blocks)
    trending = p < TREND_P and moved * sign >= TREND_EFFECT * noise
    if moved == 0 or not (trending or abs(moved) >= clear):
        return TRENDLESS
    way = (blocks - blocks[0]) / moved
    if _diverges(way):
        return f"diverges {'up' if moved > 0 else 'down'}wards"
    word = _when("rises" if moved > 0 else "falls", way)
    return word + _pace(values, moved, noise) if "level" not in word else word


def _by_windows(values: Floats) -> float:
    """The last window against the first one, as in every table."""
    w = window_rows(len(values))
    return mean(values[-w:]) - mean(values[:w])


def _block_medians(values: Floats, blocks: int) -> Floats:
    """Medians of equal blocks in one sort: this runs for every metric on every new row. If the points do not divide
    evenly, some count twice."""
    each = -(-len(values) // blocks)
    spread = values[_spread(len(values), blocks * each)].reshape(blocks, each)
    spread.sort(axis=1)
    return np.asarray(spread[:, each // 2])


@lru_cache(maxsize=64)
def _spread(n: int, times: int) -> Ints:
    """`times` evenly spaced indices of `n` points."""
    return np.arange(times) * n // times


def _turn(blocks: Floats, clear: float) -> tuple[int, str, str] | None:
    """(block of the turn, word before, word after) if the course goes clearly there and clearly back."""
    for sign, before, after in ((1.0, "rises", "falls"), (-1.0, "falls", "rises")):
        course = sign * blocks
        at = int(course.argmax())
        there, back = float(course[at] - course[0]), float(course[at] - course[-1])
        if 0 < at < len(course) - 1 and clear > 0 and min(there, back) >= max(clear, CLEAR_SHARE * max(there, back)):
            return at, before, after
    return None


def _legs(blocks: Floats, clear: float) -> int:
    """The number of clear moves, alternately up and down."""
    legs, way, low, high = 0, 0, float(blocks[0]), float(blocks[0])
    for x in blocks.tolist():
        low, high = min(low, x), max(high, x)
        if way <= 0 and x - low >= clear > 0:
            legs, way, high = legs + 1, 1, x
        elif way >= 0 and high - x >= clear > 0:
            legs, way, low = legs + 1, -1, x
        elif way > 0:
            low = x if x == high else low
        elif way < 0:
            high = x if x == low else high
    return legs


def _diverges(way: Floats) -> bool:
    """Whether each of the last steps between blocks is greater than the one before, and two of them make
    most of the move."""
    last = np.diff(way)[-4:]
    return bool(len(last) == 4 and last[0] > 0 and (np.diff(last) > 0).all() and way[-1] - way[-3] >= DIVERGING)


def _pace(values: Floats, moved: float, noise: float) -> str:
    """In words, whether the second half of the move is greater or less than the first, by thirds, beyond
    their errors."""
    third = len(values) // 3
    first, mid, last = (mean(part) for part in (values[:third], values[third:-third], values[-third:]))
    bend = ((last - mid) - (mid - first)) * (1.0 if moved > 0 else -1.0)
    if abs(bend) < max(BEND_SHARE * abs(last - first), BEND_SE * noise * (6.0 / third) ** 0.5):
        return ""
    return ", accelerating" if bend > 0 else ", decelerating"


def _when(word: str, way: Floats) -> str:
    """The word, with the time of the move. `way`: share of the whole move that each block has made."""
    n = len(way)
    if int((way >= 0.9).argmax()) <= n // 3:
        return f"{word} early, then level"
    if int((way > 0.1).argmax()) >= n // 2:
        return f"level, then {word}"
    return word


class Shape(Struct, frozen=True):
    """Windows are means in the metric's unit; the slope is per 100 steps. None = undefined.

    `word` is the course in words, see `course`. `steady`: there is no trend, and the first and last window differ by no
    more than two windows do through the spread of the points.
    """

    first: float | None
    mid: float | None
    last: float | None
    slope: float | None
    corr_step: float | None
    word: str
    steady: bool = False


EMPTY = Shape(None, None, None, None, None, "nothing finite")


def window_rows(n: int, window: int | None = None) -> int:
    """Rows of the first, mid and last window: `window`, else max(5, 10 %); never more than there are."""
    return min(n, window if window else max(5, n // 10))


def settled(n: int) -> int:
    """The number of the `n` points that slope, correlation and course use: all of them below 200, then all but at most
    the newest per cent."""
    return whole_parts(n, 100)


class _Trend(Struct, frozen=True):
    """What is known of the settled points of a column. `array` and `first_row` show whether it is still the same;
    `sums` are those of all its points."""

    array: Floats
    first_row: int
    points: int
    slope: float | None
    corr_step: float | None
    word: str
    steady: bool
    sums: BlockSums

    def holds(self, array: Floats, series: Series) -> bool:
        return self.array is array and self.first_row == int(series.rows[0])


Trends = dict[str, _Trend]
"""By raw key: what `describe` keeps from one row to the next. A revised column moves to another array."""


def describe(series: Series | None, window: int | None = None, known: Trends | None = None) -> Shape:
    """Shape of the finite points of a series: the windows of all of them, the rest of the `settled` ones. With `known`,
    the rest is not computed again until more points have settled."""
    if series is None:
        return EMPTY
    series = series.finite()
    n = len(series)
    if not n:
        return EMPTY
    x = series.values
    array, points = x if x.base is None else x.base, settled(n)
    trend = known.get(series.key) if known is not None else None
    if trend is not None and not trend.holds(array, series):
        trend = None
    if trend is None or trend.points != points:
        trend = _trend(array, series, points, BlockSums() if trend is None else trend.sums)
        if known is not None:
            known[series.key] = trend
    w = window_rows(n, window)
    start = (n - w) // 2
    first, mid, last = (trend.sums.sum(x, a, a + w) / w for a in (0, start, n - w))
    word = trend.word
    if word == CONSTANT and points < n and bool((x[points:] != x[0]).any()):
        word = f"{CONSTANT} to step {int(series.steps[points - 1])}"
    return Shape(first, mid, last, trend.slope, trend.corr_step, word, trend.steady)


def _trend(array: Floats, series: Series, points: int, sums: BlockSums) -> _Trend:
    steps, x = series.steps[:points], series.values[:points]
    slope = corr = None
    if points > 2:
        t = steps.astype(np.float64)
        slope, corr = 100 * theil_sen(t, x)[0], _correlation(t, x)
    word = course(steps, x)
    return _Trend(array, int(series.rows[0]), points, slope, corr, word, word == TRENDLESS and _is_steady(x), sums)


def _is_steady(x: Floats) -> bool:
    """Whether the two windows of a series without a trend differ by at most two standard errors."""
    spread = sd(x[:: max(1, len(x) // SPREAD_POINTS)])
    return bool(abs(_by_windows(x)) <= 2.0 * spread * (2.0 / window_rows(len(x))) ** 0.5)


def _correlation(t: Floats, x: Floats) -> float | None:
    dt, dx = t - np.add.reduce(t) / len(t), x - np.add.reduce(x) / len(x)
    # sums, not dot products: BLAS starts threads on long columns, which costs more than it saves here
    scale = float(np.sqrt(np.add.reduce(dt * dt) * np.add.reduce(dx * dx)))
    return float(np.add.reduce(dt * dx)) / scale if scale > 0 else None

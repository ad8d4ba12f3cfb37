"""The course of a metric in words, with the statistics that the rules use. Words, not a verdict."""

from __future__ import annotations

import numpy as np

from rltui.diagnosis.trends import TREND_EFFECT, TREND_P, mann_kendall_p, sd_d
from rltui.run.table import Floats, Ints

MOST = 144
"""Points that are looked at; a longer series becomes means of so many equal blocks."""

FEW = 10
"""Below this a trend test says nothing: first, mid and last are all there is."""

CLEAR_NOISE = 3.0
"""A move between two blocks is clear where it is at least so many sd of the noise..."""

CLEAR_SHARE = 0.35
"""...and this share of the range of the middle 90 % of the points: less is wander."""


def course(steps: Ints, values: Floats) -> str:
    """`constant`, `rises`, `rises early, then level`, `level, then falls`, `rises to about step N, then falls`...

    `values` are finite and in step order. `no trend` where neither the trend test of the rules nor a clear move
    between the ends says otherwise.
    """
    n = len(values)
    if n == 0:
        return "nothing finite"
    if n > 1 and bool((values == values[0]).all()):
        return "constant"
    if n < FEW:
        return "too few points"
    if n > MOST:
        edges = np.arange(MOST) * n // MOST
        counts = np.diff(np.append(edges, n))
        values = np.add.reduceat(values, edges) / counts
        steps = steps[edges + counts // 2]
    blocks = _block_medians(values, min(12, len(values) // 3))
    ordered = np.sort(values)
    spread = float(ordered[len(values) * 19 // 20] - ordered[len(values) // 20])
    noise = sd_d(values)
    clear = max(CLEAR_NOISE * noise, CLEAR_SHARE * spread)
    turn = _turn(blocks, clear)
    if turn is not None:
        at, before, after = turn
        middle = (2 * at + 1) * len(steps) // (2 * len(blocks))
        return f"{before} to about step {int(steps[middle])}, then {after}"
    moved = float(blocks[-1] - blocks[0])
    p, sign = mann_kendall_p(blocks)
    trending = p < TREND_P and moved * sign >= TREND_EFFECT * noise
    if moved == 0 or not (trending or abs(moved) >= clear):
        return "no trend"
    return _when("rises" if moved > 0 else "falls", (blocks - blocks[0]) / moved)


def _block_medians(values: Floats, blocks: int) -> Floats:
    """Medians of equal blocks in one sort: this runs for every metric on every new row. Where the points do not
    divide evenly, some count twice."""
    each = -(-len(values) // blocks)
    spread = values[np.arange(blocks * each) * len(values) // (blocks * each)].reshape(blocks, each)
    return np.asarray(np.sort(spread, axis=1)[:, each // 2])


def _turn(blocks: Floats, clear: float) -> tuple[int, str, str] | None:
    """(block of the turn, word before, word after) where the course goes clearly there and clearly back."""
    for sign, before, after in ((1.0, "rises", "falls"), (-1.0, "falls", "rises")):
        course = sign * blocks
        at = int(course.argmax())
        there, back = float(course[at] - course[0]), float(course[at] - course[-1])
        if 0 < at < len(course) - 1 and clear > 0 and min(there, back) >= max(clear, CLEAR_SHARE * max(there, back)):
            return at, before, after
    return None


def _when(word: str, way: Floats) -> str:
    """`way`: share of the whole move that each block has made."""
    n = len(way)
    if int((way >= 0.9).argmax()) <= n // 3:
        return f"{word} early, then level"
    if int((way > 0.1).argmax()) >= n // 2:
        return f"level, then {word}"
    return word

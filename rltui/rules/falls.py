"""Falls of a validation set from its best: at once, slowly, or as a drift of the newest evaluations."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite, log, sqrt
from typing import NamedTuple

import numpy as np

from rltui.evidence.effects import NOISE_POINTS, carry, off_trend, rms_but_greatest
from rltui.evidence.trends import mann_kendall_p, sd_d
from rltui.rules.base import Params
from rltui.rules.bends import bend
from rltui.run.table import Floats

DENSE = 60
"""Evaluations that tell how far the noise of one carries on to the next (its standard error is then .13)."""

FEWEST_OF_TWO, MOST_OF_TWO = 8, 40
"""Evaluations from which on two straight pieces leave enough to tell the noise, and beyond which neighbours tell it
well enough."""


class Fall(NamedTuple):
    """`at`: index at which it was last as good as its smoothed peak. `peak` and `now` are means of `width` evaluations,
    `errors` apart in standard errors."""

    at: int
    peak: float
    now: float
    errors: float
    width: int


STANDS = 0.5
"""Of the limit: as much of a fall that was told is enough for it to stand, if the newest evaluation alone has fallen as
far. What a few more evaluations tell of their noise is no recovery; one that is back is."""


def fallen(x: Floats, p: Params, sets: int = 1, width: int = 3, told: bool = False) -> Fall | None:
    """A fall from the peak that counts, now and at the evaluation before. `told`: it was told before.

    The peak is the best of many noisy means: the limit grows with their number as the expected maximum does, and as
    much with the number of `sets` that are looked at, of which any may fall by chance. Both evaluations are measured by
    the noise that is known now. What stands at its best for a while is best at any of these evaluations by chance, and
    falls after the last that lies no further below than the best may lie above.
    """
    if len(x) <= max(p["evals"], 2 * width):
        return None
    smooth = _smooth(x, width)
    if int(smooth.argmax()) >= len(smooth) - width + 1:
        return None  # at its best: the noise, which costs ten times as much, need not be known
    error = _noise_of_course(x, smooth, p) * _wanders(x, smooth, width) / sqrt(width)
    if width > 3:  # what wanders for longer than one evaluation tells shows in means beside each other
        error = max(error, _noise(x[len(x) % width :].reshape(-1, width).mean(axis=1), p))
    chance = sqrt(2.0 * log(max(2.0, sets * len(x) / width)))
    limit = (p["se"] + chance) * (STANDS if told else 1.0)
    for end in (len(smooth) - 1, len(smooth)):
        j = int(smooth[:end].argmax())
        fall = float(smooth[j] - smooth[end - 1])
        if error <= 0 or not isfinite(error) or fall <= limit * error or j >= end - width + 1:
            return None
    if told and float(smooth[int(smooth.argmax())] - x[-1]) <= limit * error:
        return None
    half = width // 2
    last = int(np.flatnonzero(smooth >= smooth[j] - (1.0 + chance) * error)[-1]) + half
    while last + 1 < len(x) - half and x[last + 1] >= smooth[j] - sqrt(width) * error:
        last += 1  # a fall at once blurs the means before it comes
    last = min(last, _set_out(smooth, j, width) + half)
    return Fall(last, float(smooth[j]), float(smooth[-1]), fall / error, width)


def _set_out(smooth: Floats, peak: int, width: int) -> int:
    """Index at which a slow fall began: the line through the last places that lie within a quarter and within three
    quarters of it, taken back to the peak. By the time that noise no longer explains it, it has long begun. A fall at
    once takes no longer than the means that blur it, and bounds nothing."""
    fall = float(smooth[peak] - smooth[-1])
    first, last = (int(np.flatnonzero(smooth >= smooth[peak] - part * fall)[-1]) for part in (0.25, 0.75))
    span = last - first - (width - 1)
    return len(smooth) if span <= 0 else max(peak, first - span // 2)


def _carries(x: Floats, without: slice = slice(0, 0)) -> float:
    """How much of its noise an evaluation surely carries on to the next: dense ones of one set do (an autoregressive
    series; of few the correlation is not known)."""
    if len(x) < DENSE:
        return 0.0
    sides = [side for side in (x[: without.start], x[without.stop :]) if len(side) > 1]
    off = np.concatenate([off_trend(side) for side in sides])[-NOISE_POINTS:]
    return max(0.0, carry(off, off) - 1.0 / sqrt(max(1, len(off))))


def _wanders(x: Floats, smooth: Floats, width: int) -> float:
    """By how much the mean of so many evaluations errs more than its neighbours tell, if noise carries on. The way down
    from the peak is left out, as a level that was left is no noise."""
    top = int(smooth.argmax())
    down = top + int((smooth[top:] <= (smooth[top] + smooth[-1]) / 2.0).argmax()) + width
    r = _carries(x, slice(top + width, down))
    lags = np.arange(1, width)
    return sqrt((1.0 + 2.0 * float(((1.0 - lags / width) * r**lags).sum())) / (1.0 - r))


def _smooth(x: Floats, width: int) -> Floats:
    """Means of so many evaluations one after another; of parts, as sums of huge values have no number."""
    return np.convolve(x / width, np.ones(width), mode="valid")


def _noise(x: Floats, p: Params) -> float:
    """Sd of one evaluation, from differences of neighbours. The greatest difference is left out: it may be the fall.

    A rise and fall of few evaluations is no noise: differences of differences, which no steady course moves, bound it,
    and what two straight pieces leave.
    """
    found = min(spread(np.diff(x)) / sqrt(2.0), p["bent"] * spread(np.diff(x, 2)) / sqrt(6.0))
    if FEWEST_OF_TWO <= len(x) <= MOST_OF_TWO:
        found = min(found, p["pieces"] * _left_of_two_pieces(x))
    return max(found, p["least"] * float(np.abs(x).max()))


def _noise_of_course(x: Floats, smooth: Floats, p: Params) -> float:
    """The same, of a course that rose to its best before: the way up may be steep and bent, so that the evaluations
    since tell their noise better, if there are enough of them."""
    whole = _noise(x[-200:], p)
    top = int(smooth.argmax())
    since = x[top:][-200:]
    if len(since) < FEWEST_OF_TWO or float(smooth[top] - smooth[0]) <= p["se"] * whole:
        return whole
    return min(whole, p["since_best"] * _noise(since, p))


def _left_of_two_pieces(x: Floats) -> float:
    """Sd of the evaluations about the best course of two straight pieces that meet, by n - 4 degrees of freedom."""
    y = x - x.mean()
    fitted = ((_two_pieces(len(x)) @ y) ** 2).sum(axis=1).max()
    return sqrt(max(0.0, float((y * y).sum() - fitted)) / (len(x) - 4))


@lru_cache(maxsize=MOST_OF_TWO)
def _two_pieces(n: int) -> Floats:
    """For each bend orthogonal courses that make up all of two pieces about their mean: (bends, 2, n)."""
    t = np.arange(n, dtype=np.float64)
    line = t - t.mean()
    line /= np.linalg.norm(line)
    out = np.empty((n - 4, 2, n))
    for i in range(n - 4):
        ramp = np.maximum(0.0, t - (i + 2))
        ramp -= ramp.mean()
        ramp -= (ramp @ line) * line
        out[i] = line, ramp / np.linalg.norm(ramp)
    return out


def spread(differences: Floats) -> float:
    """Of all but the greatest; no less than their root mean square, as a median of few is small by luck."""
    size = np.abs(differences)
    return max(1.4826 * float(np.sort(size)[:-1][(len(size) - 1) // 2]), rms_but_greatest(size))


@lru_cache(maxsize=64)  # asked at each row, of which few hold an evaluation
def fall_of(values: bytes, params: tuple[tuple[str, float], ...], sets: int, told: bool) -> Fall | None:
    x, p = np.frombuffer(values), dict(params)
    wide = int(p["wide"] * len(x))
    found = fallen(x, p, sets, told=told) or (fallen(x, p, sets, wide, told) if wide > 3 else None)
    found = found or _slowly(x, p, sets, told)
    if found is not None:
        return found
    newest = x[-int(p["drift_most"]) :]
    found = drifted(newest, p, sets)
    return None if found is None else found._replace(at=len(x) - len(newest) + found.at)


SLOWLY = 12
"""Evaluations that show a slow fall, at least."""
NEWEST = 8
"""Part of the evaluations that are one mean where many show a slow fall together."""


def _slowly(x: Floats, p: Params, sets: int, told: bool) -> Fall | None:
    """A course that rises or holds and then falls for long, seen twice in a row: all evaluations since the turn show
    together what no few of them do."""
    if len(x) < SLOWLY:
        return None
    limit = (p["slow"] + 2.0 * log(sets)) * (STANDS if told else 1.0)
    turns = [bend(part, _noise(part[-200:], p)) for part in (x[:-1], x)]
    if any(turn is None or turn.gain <= limit for turn in turns):
        return None
    turn, width = turns[-1], max(3, len(x) // NEWEST)
    smooth = _smooth(x, width)
    peak, now = float(smooth.max()), float(smooth[-1])
    if turn is None or peak <= now or (told and x[-1] >= (peak + now) / 2.0 + turn.sd):
        return None
    return Fall(turn.at, peak, now, (peak - now) * sqrt(width) / turn.sd, width)


def _falls(x: Floats, p: Params, sets: int) -> bool:
    chance, sign = mann_kendall_p(x, _carries(x))
    return sign < 0 and sets * chance < p["drift_p"]


def drifted(x: Floats, p: Params, sets: int = 1) -> Fall | None:
    """A slow fall that no single evaluation shows, seen three times in a row.

    Few evaluations draw their noise anew each time: the plain Mann-Kendall test holds, without blocks.
    """
    if len(x) < p["drift_evals"] or not all(_falls(x[:end], p, sets) for end in (len(x), -1, -2)):
        return None
    smooth = _smooth(x, 3)
    j = int(smooth.argmax())
    errors = float(smooth[j] - smooth[-1]) / max(sd_d(x) / sqrt(3.0), 1e-12)
    return Fall(j + 1, float(smooth[j]), float(smooth[-1]), errors, 3)

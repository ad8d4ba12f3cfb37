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
"""Evaluations needed to measure how far the noise of one carries over to the next (its standard error is then .13)."""

FEWEST_OF_TWO, MOST_OF_TWO = 8, 40
"""Fewest evaluations for which a fit of two straight pieces leaves enough to measure the noise, and the number beyond
which neighbours measure it well enough."""


class Fall(NamedTuple):
    """`at`: index at which validation was last as good as its smoothed peak. `peak` and `now` are means of `width`
    evaluations, `errors` standard errors apart."""

    at: int
    peak: float
    now: float
    errors: float
    width: int


STANDS = 0.5
"""Share of the limit at which a reported fall still counts, if the newest evaluation alone has fallen as far. A new
estimate of the noise from a few more evaluations is not a recovery; an evaluation that is back up is."""


def fallen(x: Floats, p: Params, sets: int = 1, width: int = 3, told: bool = False) -> Fall | None:
    """A fall from the peak that counts, now and at the evaluation before. `told`: it was reported before.

    The peak is the best of many noisy means. The limit therefore grows with their number, as the expected maximum does,
    and likewise with the number of `sets`, any of which may fall by chance. Both evaluations are measured by the noise
    that is known now. If validation stays at its best for a while, chance decides which of these evaluations is best;
    the fall begins after the last one that is no further below the best than chance may lift the best.
    """
    if len(x) <= max(p["evals"], 2 * width):
        return None
    smooth = _smooth(x, width)
    if int(smooth.argmax()) >= len(smooth) - width + 1:
        return None  # at its best: no need for the noise, which costs ten times as much
    error = _noise_of_course(x, smooth, p) * _wanders(x, smooth, width) / sqrt(width)
    if width > 3:  # slow wandering shows in neighbouring means, not in single evaluations
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
        last += 1  # a sudden fall already lowers the means before it
    last = min(last, _set_out(smooth, j, width) + half)
    return Fall(last, float(smooth[j]), float(smooth[-1]), fall / error, width)


def _set_out(smooth: Floats, peak: int, width: int) -> int:
    """Index at which a slow fall began: the line through the last points within a quarter and within three quarters of
    the fall, taken back to the peak. By the time that noise no longer explains the fall, it has long begun. A sudden
    fall takes no longer than the means that blur it, and gives no bound."""
    fall = float(smooth[peak] - smooth[-1])
    first, last = (int(np.flatnonzero(smooth >= smooth[peak] - part * fall)[-1]) for part in (0.25, 0.75))
    span = last - first - (width - 1)
    return len(smooth) if span <= 0 else max(peak, first - span // 2)


def _carries(x: Floats, without: slice = slice(0, 0)) -> float:
    """How much of its noise an evaluation certainly carries over to the next. Dense evaluations of one set do (an
    autoregressive series). With few evaluations the correlation is unknown."""
    if len(x) < DENSE:
        return 0.0
    sides = [side for side in (x[: without.start], x[without.stop :]) if len(side) > 1]
    off = np.concatenate([off_trend(side) for side in sides])[-NOISE_POINTS:]
    return max(0.0, carry(off, off) - 1.0 / sqrt(max(1, len(off))))


def _wanders(x: Floats, smooth: Floats, width: int) -> float:
    """The factor by which the error of a mean of `width` evaluations exceeds what neighbours show, if noise carries
    over. The way down from the peak is left out, as it is not noise."""
    top = int(smooth.argmax())
    down = top + int((smooth[top:] <= (smooth[top] + smooth[-1]) / 2.0).argmax()) + width
    r = _carries(x, slice(top + width, down))
    lags = np.arange(1, width)
    return sqrt((1.0 + 2.0 * float(((1.0 - lags / width) * r**lags).sum())) / (1.0 - r))


def _smooth(x: Floats, width: int) -> Floats:
    """Moving means of `width` evaluations. Values are divided first, as sums of huge values overflow."""
    return np.convolve(x / width, np.ones(width), mode="valid")


def _noise(x: Floats, p: Params) -> float:
    """Sd of one evaluation, from differences of neighbours. The greatest difference is left out: it may be the fall.

    A rise and fall over few evaluations is not noise. Two bounds exclude it: differences of differences, which a steady
    course does not change, and the residuals of two straight pieces.
    """
    found = min(spread(np.diff(x)) / sqrt(2.0), p["bent"] * spread(np.diff(x, 2)) / sqrt(6.0))
    if FEWEST_OF_TWO <= len(x) <= MOST_OF_TWO:
        found = min(found, p["pieces"] * _left_of_two_pieces(x))
    return max(found, p["least"] * float(np.abs(x).max()))


def _noise_of_course(x: Floats, smooth: Floats, p: Params) -> float:
    """As `_noise`, for a course that rose to its best before. The way up may be steep and bent, so the evaluations
    since then give a better estimate, if there are enough of them."""
    whole = _noise(x[-200:], p)
    top = int(smooth.argmax())
    since = x[top:][-200:]
    if len(since) < FEWEST_OF_TWO or float(smooth[top] - smooth[0]) <= p["se"] * whole:
        return whole
    return min(whole, p["since_best"] * _noise(since, p))


def _left_of_two_pieces(x: Floats) -> float:
    """Sd of the evaluations about the best course of two straight pieces that meet, with n - 4 degrees of freedom."""
    y = x - x.mean()
    fitted = ((_two_pieces(len(x)) @ y) ** 2).sum(axis=1).max()
    return sqrt(max(0.0, float((y * y).sum() - fitted)) / (len(x) - 4))


@lru_cache(maxsize=MOST_OF_TWO)
def _two_pieces(n: int) -> Floats:
    """For each bend, orthonormal courses that span all pairs of pieces about their mean: (bends, 2, n)."""
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
    """Spread of all differences but the greatest; at least their root mean square, as a median of few is small by
    luck."""
    size = np.abs(differences)
    return max(1.4826 * float(np.sort(size)[:-1][(len(size) - 1) // 2]), rms_but_greatest(size))


@lru_cache(maxsize=64)  # called at each row, but few rows hold an evaluation
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
"""Fewest evaluations that show a slow fall."""
NEWEST = 8
"""One mean takes this fraction (1 / 8) of the evaluations, if many show a slow fall together."""


def _slowly(x: Floats, p: Params, sets: int, told: bool) -> Fall | None:
    """A course that rises or holds and then falls for long, seen twice in a row. All evaluations since the turn
    together show what a few of them do not."""
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

    The noise of sparse evaluations is independent: the plain Mann-Kendall test holds, without blocks.
    """
    if len(x) < p["drift_evals"] or not all(_falls(x[:end], p, sets) for end in (len(x), -1, -2)):
        return None
    smooth = _smooth(x, 3)
    j = int(smooth.argmax())
    errors = float(smooth[j] - smooth[-1]) / max(sd_d(x) / sqrt(3.0), 1e-12)
    return Fall(j + 1, float(smooth[j]), float(smooth[-1]), errors, 3)

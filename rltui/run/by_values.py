"""Decides from the values of a key what its name leaves open: the sign of an entropy that is logged as a loss, whether
seconds or tokens count one step or the whole run so far, whether a success "in percent" is really a share and a
fraction really in percent, whether a bare `L` is a loss or a length, and whether `dead_groups` is a share or a
count."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from rltui.frameworks.resolve import PERCENT, SCORES, Meaning, is_bare_clip, is_fraction, meant_as
from rltui.run.sums import median
from rltui.run.table import Series

ELAPSED, LENGTH, DEAD_SHARE = "elapsed_s", "response_length_mean", "frac_reward_zero_std"
CLIPPED = "clip_frac"
SCORE_OF_STEP = SCORES[0]
TOKENS_SEEN, TOKENS_OF_STEP = "total_tokens_seen", "total_tokens_step"
LEAST = 4
"""This many rows are needed to decide: fewer may rise by chance."""
ABOUT = 2.0
"""Two paces in seconds are the same if they differ by at most this factor. A ratio is about 1 within the same
factor."""
ANEW = 4
"""A timer that restarts falls to at most 1/ANEW of its value, and at most one row in ANEW is a restart."""
TURNED = "logged below 0, as a part of a loss: the sign is turned here, and a coefficient may still be in it"
SHARE = "called a percentage, but never above 1: it is taken for a share"
IN_PERCENT = "goes above 1, which no fraction does: it is taken for a percentage"
HUNDRED = 100.0
LETTER = "l"
TOKENS = 20.0
"""The least median of an `L` that is a length in tokens: a loss of log-probabilities begins below 12, the logarithm of
the vocabulary, and an answer with fewer tokens is a single word."""
SUCCESS = 0.02
"""The least median of a success rate that is a share: a policy that succeeds less often has little to learn from."""


def by_values(meaning: Meaning, points: Series) -> Meaning | None:
    """The meaning that the values of a key show; None if the name already gives it."""
    if meaning.canonical == "entropy":
        told = points.values[points.values != 0]
        return replace(meaning, scale=-meaning.scale, told=TURNED) if len(told) and told[0] < 0 else None
    if meaning.scale == PERCENT:
        return replace(meaning, scale=1.0, told=SHARE) if is_share(points) else None
    if is_fraction(meaning):
        return replace(meaning, scale=PERCENT, told=IN_PERCENT) if is_in_percent(points) else None
    if meaning.canonical == SCORE_OF_STEP:
        return None  # decided by how often it comes
    if meaning.key.lower() == LETTER:
        x = points.values
        return meant_as(LENGTH, meaning) if len(x) >= LEAST and median(x) >= TOKENS and x.min() > 0 else None
    if is_bare_clip(meaning.key):
        return meant_as(CLIPPED, meaning) if _is_clipped(points) else None
    if meaning.canonical is None:
        return meant_as(DEAD_SHARE, meaning) if is_part(points) else None
    if meaning.canonical == TOKENS_SEEN:
        return meant_as(TOKENS_OF_STEP, meaning) if falls(points) else None
    return meant_as(ELAPSED, meaning) if is_elapsed(points) else None


def falls(points: Series) -> bool:
    """Whether a number is not a running sum: it falls as often as single values do, not only where a run starts
    again."""
    return len(points.values) >= LEAST and bool(ANEW * int((np.diff(points.values) < 0).sum()) > len(points.values))


def is_part(points: Series) -> bool:
    """Whether all values are from 0 to 1 and some lie strictly between: counts are whole numbers."""
    x = points.values
    return len(x) >= LEAST and bool(x.min() >= 0 and x.max() <= 1 and ((x > 0) & (x < 1)).any())


def _is_clipped(points: Series) -> bool:
    """Whether a bare `clip` is the share that was clipped. The clip range is the same in every row and never 0. A step
    that clips nothing, such as the first one on each batch of answers, logs 0."""
    x = points.values
    return (len(x) >= LEAST and not x.any()) or (is_part(points) and bool(np.ptp(x) > 0))


def is_share(points: Series) -> bool:
    """Whether all values of a key that is named a percentage are from 0 to 1, and not all are 0. One value above 1
    makes it a percentage."""
    x = points.values
    if len(x) < LEAST or x.min() < 0 or x.max() > 1 or not x.any():
        return False
    return median(x[x > 0]) >= SUCCESS


def is_in_percent(points: Series) -> bool:
    """Whether a key that is a fraction by its name holds percentages: several values are above 1, some far above, and
    none above 100. A ratio stays about 1, whole numbers may be counts, and a single value far off is an error."""
    x = points.values
    if len(x) < LEAST or not ABOUT < x.max() <= HUNDRED or x.min() < 0:
        return False
    return int((x > 1.0).sum()) >= LEAST and bool((x != np.round(x)).any())


def is_elapsed(points: Series) -> bool:
    """Whether seconds rise at about the pace of the rows and start again only now and then, at an epoch or a restart.
    The seconds of single steps fall as often as they rise, and do not begin at 0."""
    values, steps = points.values, points.steps
    if len(values) < LEAST:
        return False
    rises = np.diff(values)
    anew = np.flatnonzero(rises < 0) + 1
    pace = median(rises[rises >= 0]) if len(anew) < len(rises) else 0.0
    if pace <= 0 or ANEW * len(anew) > len(values):
        return False
    if (values[anew] > np.maximum(ABOUT * pace, values[anew - 1] / ANEW)).any():
        return False
    passed = np.diff(points.times)
    passed = passed[passed > 0]
    if len(passed) >= LEAST - 1:
        return 1 / ABOUT <= pace / median(passed) <= ABOUT
    gap = median(np.diff(steps[: LEAST + 1]).astype(float))
    return bool(values[0] <= ABOUT * pace * max(1.0, steps[0] / gap) or values.max() >= ABOUT * values[0])

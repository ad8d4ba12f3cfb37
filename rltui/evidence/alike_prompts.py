"""Detects prompts that once differed in how often they are solved, and no longer do. The grade of an answer then says
little about its prompt, as if a part of the grades were coin tosses."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.evidence.look import Look
from rltui.evidence.trends import sd_d
from rltui.run.table import Floats, Ints

ALIKE = 0.9
"""Least share of the spread of coin tosses at the mean reward that groups show. Pass rates spread evenly over 0..1 show
four fifths."""
MOST = 1.1
"""Greatest share that groups of right and wrong answers show (sd of n - 1)."""
INSIDE = 0.1
"""A mean reward nearer to 0 or 1 than this leaves prompts no room to differ."""
BEFORE, SINCE = 15, 30
"""Rows on each side of a step that show the share."""
NEWEST = 2000
CLEAR = 4.5
"""Standard errors between both: the best of many steps is taken."""
LESS = 0.95
"""The most that it was before, as a share of what it is since."""


class AlikePrompts(Struct, frozen=True):
    """Since step `since`, groups show the share `now` of the spread of coin tosses; before it, they showed less
    (`before`)."""

    since: int
    before: float
    now: float


def alike_prompts(look: Look) -> AlikePrompts | None:
    """The newest such change, if the reward is right or wrong, and the spread within groups is logged; else None."""
    spread, reward = look.series("reward_std"), look.series(look.reward)
    if spread is None or reward is None or len(spread) != len(reward) or look.profile.floor not in (None, 0.0):
        return None
    level, apart, steps = reward.values[-NEWEST:], spread.values[-NEWEST:], reward.steps[-NEWEST:]
    if level.min() < 0.0 or level.max() > 1.0:
        return None
    inside = (level >= INSIDE) & (level <= 1.0 - INSIDE)
    if inside.sum() < BEFORE + SINCE or not inside[-SINCE:].mean() > ALIKE:
        return None
    share = apart[inside] / np.sqrt(level[inside] * (1.0 - level[inside]))
    newest = float(share[-SINCE:].mean())
    return _since(share, steps[inside]) if ALIKE <= newest <= MOST else None


def _since(share: Floats, steps: Ints) -> AlikePrompts | None:
    """The newest step around which the share rose within some rows, if the rise is clear and lasts: at the start of
    training, prompts may become more alike gradually."""
    n, sums = len(share), np.concatenate(([0.0], np.cumsum(share)))
    at = np.arange(BEFORE, n - SINCE + 1)
    before, right_after = (sums[at] - sums[at - BEFORE]) / BEFORE, (sums[at + BEFORE] - sums[at]) / BEFORE
    now, noise = (sums[n] - sums[at]) / (n - at), max(sd_d(share), 1e-6)
    rise = np.minimum(now, right_after) - before
    clear = (rise >= CLEAR * noise * (2.0 / BEFORE) ** 0.5) & (before <= LESS * now) & (now >= ALIKE)
    if not clear.any():
        return None
    last = int(np.flatnonzero(clear)[-1])
    near = slice(max(0, last - BEFORE), last + 1)  # all steps around one rise are clear, the middle one most
    best = near.start + int(np.where(clear[near], rise[near], 0.0).argmax())
    level = float(share[-SINCE:].mean()) - 2.0 * noise * BEFORE**-0.5
    there = best + int((right_after[best:] >= level).argmax())  # it may have risen in two stages
    return AlikePrompts(int(steps[at[there]]), float(before[best]), float(now[there]))

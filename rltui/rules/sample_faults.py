"""Faults of the pipeline that the samples give away: a reward that does not follow the answers."""

from __future__ import annotations

from math import sqrt

from rltui.evidence.beside_rows import Sampled
from rltui.evidence.signal import CRITICAL, WARNING, Signal
from rltui.plots.numbers import percent
from rltui.rollouts.samples import SampleStats
from rltui.rules.base import Memory, Params, rule
from rltui.rules.samples import told

ERRORS = 2.0
"""Standard errors that are granted to the reward: fewer samples must show more."""


def _compared(seen: Sampled) -> bool:
    return any(d.follows is not None for d in seen.dumps)


@rule("reward-contradicts-answer", Sampled, able=_compared)
def reward_contradicts_answer(seen: Sampled, p: Params, memory: Memory) -> list[Signal]:
    """Right answers get no more reward than wrong ones, by the reference that the dump holds beside them."""
    newest = [d for d in seen.dumps if d.follows is not None][-int(p["dumps"]) :]
    right, wrong = sum(d.right or 0 for d in newest), sum(d.wrong or 0 for d in newest)
    if len(newest) < p["least_dumps"] or min(right, wrong) < p["least"]:
        return []
    weights = [_weight(d) for d in newest]
    share = sum(w * (d.follows or 0.0) for w, d in zip(weights, newest, strict=True)) / sum(weights)
    at_most = share + ERRORS / sqrt(sum(weights))
    if at_most >= p["warn"]:
        return []
    found = CRITICAL if at_most < p["critical"] and len(newest) == p["dumps"] else WARNING

    def level(d: SampleStats) -> int:
        return 0 if d.follows is None or d.follows >= p["warn"] else found

    last = newest[-1]
    where = "In the newest dump" if last.step is None else f"At step {last.step}"
    text = (
        f"Right answers have more reward than wrong ones in {percent(share)} of all pairs, ties counted half, where "
        f"50 % is chance. {where}, {last.contradiction}."
    )
    return [told(seen, found, text, [("follows", "how often a right answer has more reward than a wrong one")], level)]


def _weight(d: SampleStats) -> float:
    """One over the variance of `follows` if the reward knew nothing of the answers."""
    right, wrong = d.right or 0, d.wrong or 0
    return 12 * right * wrong / (right + wrong + 1)

"""Tests what causes expect of the room that answers have within the length limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rltui.diagnosis.outcome import LEVEL_POINTS, Outcome, Spell, around, asked, fact_of, missing
from rltui.diagnosis.tested_numbers import AROUND
from rltui.evidence.look import Look
from rltui.evidence.metric import NOW_POINTS
from rltui.evidence.signal import num
from rltui.plots.numbers import percent
from rltui.rules.bounds import NUMBERS
from rltui.rules.expected_length import CouldCost, TookOfLimit

MOST = 0.5
"""From this share of cut answers on, those that end should come close to the limit if it is too small."""
FEW = 0.05
"""The share of answers that end below which rounding decides their mean length."""
LENGTH, CUT, ENDED, LONGEST = (
    "response_length_mean",
    "response_clip_ratio",
    "response_length_terminated_mean",
    "response_length_max",
)


def _took_of_limit(look: Look, test: TookOfLimit, spell: Spell) -> Outcome:
    limit = _limit(look)
    if limit is None:
        return Outcome("unknown", "the config does not say the length limit")
    length = fact_of(look, LENGTH)
    if length is None:
        return missing(look, LENGTH)
    if test.of == "ended":
        return _ended(look, test, spell, limit)
    reward = fact_of(look, "score_mean")
    if reward is None or reward.peak is None:
        return Outcome("unknown", "nothing tells where the reward was best")
    at = reward.peak.step
    mean = length.median_within(at - AROUND, at + AROUND, LEVEL_POINTS)
    if mean is None:
        return missing(look, LENGTH)
    return _held(test, mean / limit, f"the mean response took {{share}} of the limit at the best reward, at step {at}")


def _ended(look: Look, test: TookOfLimit, spell: Spell, limit: float) -> Outcome:
    cut, ended = fact_of(look, CUT), look.facts.metric(ENDED)
    share = None if cut is None else cut.median_within(spell.onset, spell.end, NOW_POINTS)
    if cut is None or share is None:
        return missing(look, CUT)
    if min(share, cut.start.value) < MOST:  # answers that grew are of many lengths on their way
        return Outcome("unknown", f"most responses ended, {percent(cut.start.value)} were cut at the start")
    mean = None if ended is None else ended.median_within(spell.onset, spell.end, NOW_POINTS)
    whole = fact_of(look, LENGTH)
    if mean is None and whole is not None and 1.0 - share >= FEW:
        all_of_them = whole.median_within(spell.onset, spell.end, NOW_POINTS)
        mean = None if all_of_them is None else (all_of_them - share * limit) / (1.0 - share)
    if mean is None or mean <= 0:
        return Outcome("unknown", "how long the responses are that do end is not known")
    return _held(test, mean / limit, f"those that end have {num(mean)} tokens on average, {{share}} of the limit")


def _held(test: TookOfLimit, share: float, told: str) -> Outcome:
    holds = NUMBERS[test.op](share, test.share)
    text = f"{told.format(share=percent(share))} ({asked(test.op, percent(test.share), holds)})"
    return Outcome("met" if holds else "unmet", text)


def _limit(look: Look) -> float | None:
    """The length limit: the setting, or else the longest answer in rows in which some were cut."""
    cut, longest = fact_of(look, CUT), look.facts.metric(LONGEST)
    if look.settings.length_cap or cut is None or longest is None or not (cut.values > 0).any():
        return look.settings.length_cap
    return float(longest.values.max())


def _could_cost(look: Look, test: CouldCost, spell: Spell) -> Outcome:
    cut, score = fact_of(look, CUT), fact_of(look, "score_mean")
    if cut is None or score is None:
        return missing(look, CUT if cut is None else "score_mean")
    (was, now), (had, has) = around(cut, spell), around(score, spell)
    low, high = look.profile.bottom, look.profile.ceiling
    if now is None or has is None or low is None or high is None or had <= has:
        return Outcome("unknown", "what a truncated response can cost is not known")
    most = max(0.0, now - was) * (high - low)
    told = f"{percent(max(0.0, now - was))} more responses are truncated, which cost {num(most)} of score at most, and "
    told += f"{num(had - has)} was lost"
    return Outcome("met" if most >= test.share * (had - has) else "unmet", told)


OF_LENGTH: Mapping[type, Callable[[Look, Any, Spell], Outcome]] = {
    TookOfLimit: _took_of_limit,
    CouldCost: _could_cost,
}

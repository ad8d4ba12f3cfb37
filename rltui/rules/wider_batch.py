"""Rewards of one batch that suddenly spread further apart, while their mean and the policy stay as before."""

from __future__ import annotations

from rltui.evidence.alike_prompts import alike_prompts
from rltui.evidence.look import Look
from rltui.evidence.outages import policy_moved
from rltui.evidence.shifts import LOUDER, NEAR, Shift, at_once
from rltui.evidence.signal import WARNING, Signal, num
from rltui.plots.numbers import percent
from rltui.rules.base import Params, reward_name, tail
from rltui.run.sums import median


def prompts_alike(look: Look) -> Signal | None:
    """Prompts no longer differ in how often they are solved, although they did before."""
    found = alike_prompts(look)
    if found is None:
        return None
    text = "Answers to one prompt differ as much as by the toss of a coin at this mean reward: their spread is "
    text += f"{percent(found.now)} of that, and was {percent(found.before)} before step {found.since}. Prompts no "
    text += "longer differ in how often they are solved, as if a part of the grades were random."
    proofs = (("reward_std", f"since step {found.since}"), (look.reward, ""))
    return Signal(WARNING, text, proofs, onset_step=found.since)


LEVEL = 0.25
"""The mean may have moved by this share of the spread's growth: the mean of a share moves as much as its spread."""


def wider_batch(look: Look, p: Params) -> Signal | None:
    """The spread of a batch's rewards at least doubled at one step, and is wider than the mean reward ever moved or can
    move: a single reward says little about its answer."""
    spread, reward = look.facts.metric("reward_std"), look.facts.metric(look.reward)
    if spread is None or reward is None or tail(spread.values, NEAR) < look.profile.spread:
        return None
    now = tail(spread.values, int(p["rows"]))
    grown = next((one for one in reversed(spread.shifts) if one.before > 0.0 and now >= LOUDER * one.before), None)
    if grown is None or not at_once(spread.series, grown) or not _stays(look, grown):
        return None
    text = f"Rewards of one batch lie {num(now)} apart (sd), {num(grown.before)} before step {grown.step}, while their "
    text += f"mean and the policy are as before: grading became noisier. {reward_name(look)} has a range of "
    text += f"{num(look.profile.spread)}, so that a single reward says little about its answer."
    return Signal(WARNING, text, (("reward_std", f"since step {grown.step}"), (look.reward, "")), onset_step=grown.step)


def _stays(look: Look, grown: Shift) -> bool:
    """Whether neither the mean reward nor the policy moved with the spread."""
    series = look.series(look.reward)
    if series is None:
        return False
    at = int(series.steps.searchsorted(grown.step))
    before, after = slice(max(0, at - 2 * NEAR), at), slice(at, at + NEAR)
    if len(series.values[before]) < NEAR or len(series.values[after]) < NEAR // 2:
        return False
    moved = abs(median(series.values[after]) - median(series.values[before]))
    if moved > LEVEL * (grown.after - grown.before):
        return False
    return policy_moved(series.rows[before], series.rows[after], look.series) is False

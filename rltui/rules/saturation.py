"""Reward at one end of its scale."""

from __future__ import annotations

import numpy as np

from rltui.evidence import words
from rltui.evidence.clock import enough, worth
from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.plots.numbers import percent
from rltui.rules.base import (
    Memory,
    Params,
    compared,
    head,
    held,
    logged_for,
    reward_name,
    rule,
    tail,
)
from rltui.run.sums import median


@rule("reward-floor", Look)
def reward_floor(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """No success for many rows in a row."""
    profile = look.profile
    reward = look.series(look.reward)
    if reward is None or len(reward) < p["warmup"] or profile.floor is None:
        return []
    name = "score_max" if look.reward == "score_mean" else "reward_max"
    most = look.series(name)
    top = reward.values if most is None or len(most) != len(reward) else most.values
    best = look.blocks(look.reward if top is reward.values else name)
    seen = profile.spread if best is None else float(best.highs.max()) - profile.floor  # a scale of 1 may be a guess
    limit = profile.floor + p["near"] * min(profile.spread, max(0.0, seen))
    if top[-1] > limit:
        return []
    above = np.flatnonzero(top[-2000:] > limit)
    run = min(len(top), 2000) - (int(above[-1]) + 1 if len(above) else 0)
    if run < 3:
        return []
    at_floor = reward.steps[-run:]
    level = WARNING if enough(p["warn_rows"], at_floor) else NOTICE
    level = CRITICAL if enough(p["critical_rows"], at_floor) else level
    start = int(reward.steps[len(reward) - run])
    ever = run < len(top)
    summary = f"{reward_name(look)} is at its floor of {num(profile.floor)} for {run} rows, since step {start}"
    summary += "." if ever else ": not one success so far."
    proofs = [(look.reward, f"at the floor of {num(profile.floor)} for {run} rows")]
    cut = look.values("response_clip_ratio")
    if len(cut) and tail(cut, 10) > 0.5:
        proofs.append(
            (
                "response_clip_ratio",
                f"{percent(tail(cut, 10))} of the responses are truncated, and those cannot succeed",
            )
        )
    return [Signal(level, summary, tuple(proofs), onset_step=start)]


@rule("reward-saturated", Look)
def reward_saturated(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Reward at its ceiling and no variance left to learn from."""
    profile = look.profile
    reward = look.values(look.reward)
    window = worth(p["window"], len(reward))
    if not logged_for(look, look.reward, p["warmup"] + p["window"]) or profile.ceiling is None or profile.floor is None:
        return []
    span = profile.ceiling - profile.floor
    if span <= 0:
        return []
    level_now = (median(reward[-window:]) - profile.floor) / span
    cut = look.facts.cut
    if cut is not None and cut.value > p["cut"]:
        return []  # answers that are cut are not the best there is: such a ceiling is the limit of the length
    eased = level_now < p["notice"]
    if eased and not held(look, "reward-saturated"):
        return []
    dead, why = _no_signal(look, p, p["window"])
    level = EASED if eased else WARNING if dead and level_now >= p["level"] else NOTICE
    summary = f"{reward_name(look)} is at {percent(level_now)} of its range (ceiling {num(profile.ceiling)}){why}."
    proofs = [(look.reward, f"median of the last {window} rows {num(median(reward[-window:]))}")]
    proofs += [(n, "") for n in ("frac_reward_zero_std", "reward_std", "grad_norm") if look.series(n) is not None][:2]
    return [Signal(level, summary, tuple(proofs), onset_step=_reached(look, profile.floor + p["level"] * span))]


def _no_signal(look: Look, p: Params, window: float) -> tuple[bool, str]:
    dead, right = look.facts.dead_groups, look.values("frac_groups_all_right")
    if dead is not None:
        return dead.value >= p["zero_variance"], f" and {words.share(dead, 'groups agree')}"
    if len(right):
        now = tail(right, window)
        return now >= p["zero_variance"], f" and {percent(now)} of the groups are all right"
    spread = look.values("reward_std")
    if len(spread):
        now = tail(spread, window)
        return now < p["spread"] * look.profile.spread, f" and the batch spread is {num(now)}"
    gradient = look.values("grad_norm")
    if len(gradient):
        ratio = tail(gradient, window) / max(head(gradient, window), 1e-12)
        still = "the gradient is" if ratio < p["gradient"] else "the gradient still is"
        return ratio < p[
            "gradient"
        ], f", and {still} {percent(ratio)} of its start ({compared(look, 'grad_norm', window)})"
    return False, ""


def _reached(look: Look, level: float) -> int | None:
    """First step from which the reward stays at the level on most rows."""
    series = look.series(look.reward)
    if series is None:
        return None
    recent = series.values[-2000:] >= level
    if len(recent) < 10:
        return int(series.steps[0])
    share = np.convolve(recent, np.full(10, 0.1), mode="valid")
    below = np.flatnonzero(share < 0.5)
    begin = int(below[-1]) + 5 if len(below) else 0
    return int(series.steps[len(series) - len(recent) + min(begin, len(recent) - 1)])

"""The gradient norm."""

from __future__ import annotations

from math import inf

import numpy as np

from rltui.evidence.clock import worth
from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import CLEAR, PAST, WARMUP, block_levels, first_turn, log_spikes, sd_d, turn
from rltui.rules.base import (
    Memory,
    Params,
    compared,
    gaining,
    head,
    held,
    losing,
    loud,
    opened,
    paying,
    rule,
    solved,
    tail,
)
from rltui.rules.loss_leap import loss_leap
from rltui.rules.traits import Trait
from rltui.run.sums import mean, median, quantile
from rltui.run.table import Floats

WINDOW = 50  # rows: the past that a spike is compared with, and how long it counts
KEPT = 3
PAST_ROWS = 400
"""Rows from the lowest level on in which the beginning of a growth is looked for."""
LEVEL_ROWS = 20
"""Rows of a level."""
LIVED_ON = 5
"""Rows since a spike in which a broken policy would have become visible."""
RARE = 0.9
"""A tenth of the gradients may belong to a mode of larger ones."""


def recent_spikes(look: Look, name: str, memory: Memory, z: float, factor: float) -> list[int]:
    """Steps of the newest spikes (at most `KEPT`) in the last rows. `memory` keeps them and the number of rows seen."""
    series = look.series(name)
    if series is None or len(series) < WINDOW:
        return []
    done = int(memory.get("done", 0))
    start = max(0, min(done, len(series)) - WINDOW)
    recent = series.values[start:]
    live = recent > 0
    at = live.nonzero()[0]
    fresh = int((at < done - start).sum())
    found = [start + int(at[i]) for i in log_spikes(recent[live], fresh, z, factor, 0.1)]
    kept = [int(memory[f"at {k}"]) for k in range(KEPT) if f"at {k}" in memory]
    for k, row in enumerate((kept + found)[-KEPT:]):
        memory[f"at {k}"] = float(row)
    memory["done"] = float(len(series))
    return [int(series.steps[row]) for row in (kept + found)[-KEPT:] if row >= len(series) - WINDOW]


def _calm(values: Floats) -> float:
    """The level that gradients seldom exceeded early in the run, after the first steps. Infinite if too few are
    known."""
    early = values[WARMUP : WARMUP + WINDOW]
    return quantile(early, RARE) if len(early) == WINDOW else inf


LARGER = 1.5
"""Factor by which an earlier spike exceeds the newest one if it is told, too."""


@rule("grad-norm-explosion", Look)
def grad_norm_explosion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Spikes of the gradient norm on a log scale. Single spikes are harmless; repeated ones, or ones with damage, are
    not. `memory` holds the newest spikes by number (`at 0` the newest), the ratio of each
    to the median, and how many rows were examined."""
    series, blocks = look.series("grad_norm"), look.blocks("grad_norm")
    if series is None or blocks is None or len(series) < p["window"]:
        return []
    window = max(int(p["window"]), worth(p["window"], len(series)))  # spikes are rare: fewer rows have one or none
    done = int(memory.get("done", 0))
    start = max(0, min(done, len(series)) - 200)
    recent = series.values[start:]
    positive = blocks.levels[blocks.levels > 0]
    if len(positive):
        live = recent > p["live"] * median(positive)
        at = live.nonzero()[0]
        if len(at) < PAST:
            return []
        fresh = int((at < done - start).sum())
        values, began = series.values, median(series.values[:PAST])
        high = log_spikes(
            recent[live], fresh, p["z"], p["factor"], p["floor"], loud=p["loud"], calm=lambda: _calm(values)
        )
        for i in high:
            row = start + int(at[i])
            if series.values[row] <= began:
                continue  # as at the start; the median is small as most groups teach nothing
            before = median(recent[live][max(0, i - 50) : max(i, PAST)])
            for k in range(int(p["critical_count"]) - 1, 0, -1):
                if f"at {k - 1}" in memory:
                    memory |= {f"at {k}": memory[f"at {k - 1}"], f"ratio {k}": memory[f"ratio {k - 1}"]}
            memory |= {"at 0": float(row), "ratio 0": float(series.values[row]) / before}
            memory["value"] = float(series.values[row])
    memory["done"] = float(len(series))
    spikes = [
        (int(memory[f"at {k}"]), memory[f"ratio {k}"]) for k in range(int(p["critical_count"])) if f"at {k}" in memory
    ]
    near = [(row, ratio) for row, ratio in spikes if row >= len(series) - window]
    if not near:
        return []
    close, newest, largest = [row for row, _ in near], near[0][1], max(ratio for _, ratio in near)
    level = NOTICE
    if len(close) >= p["warn_count"] or largest >= p["huge"]:
        level = WARNING
    bounded = bool(look.settings.number("max_grad_norm"))
    diverged = largest >= p["diverged"] and len(close) >= p["warn_count"] and not bounded
    diverged = diverged and not _borne(look, int(series.steps[min(close)]))
    if level == WARNING and (losing(look) or loud(look, Trait.NONFINITE) or diverged):
        level = CRITICAL
    at_steps = [int(series.steps[row]) for row in sorted(close)]
    summary = f"Gradient norm jumped to {num(memory['value'])}, {num(newest)} times its median, "
    summary += f"at step {at_steps[-1]}"
    if len(at_steps) > 1:
        summary += f", after jumps at {' and '.join(str(step) for step in at_steps[:-1])}"
    summary += f", the largest {num(largest)} times." if largest > LARGER * newest else "."
    proof = ("grad_norm", f"{len(close)} spike{'s' if len(close) > 1 else ''} in the last {window} rows")
    return [Signal(level, summary, (proof,), onset_step=int(series.steps[min(close)]))]


def _borne(look: Look, step: int) -> bool:
    """Whether the run survived the first of these spikes: its reward is as before, within its noise. An unlimited step
    would have destroyed the weights at once, so something limits it."""
    reward = look.facts.metric(look.reward)
    if reward is None:
        return False
    at = int(reward.series.steps.searchsorted(step, "right"))
    before, after = reward.values[max(0, at - PAST) : at], reward.values[at:]
    if len(before) < PAST or len(after) < LIVED_ON:
        return False
    return median(after) >= median(before) - sd_d(reward.values[-200:])


@rule("grad-norm-ramp", Look)
def grad_norm_ramp(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The gradient norm keeps growing. Harmless if the reward gains from it."""
    x = look.values("grad_norm")
    if len(x) < p["rows"]:
        return []
    first, now = head(x[int(p["warmup"]) :], 20), tail(x, 20)
    eased = now < p["notice"] * first or look.trend("grad_norm").direction <= 0
    if first <= 0 or (eased and not held(look, "grad-norm-ramp")):
        return []
    level = EASED if eased else NOTICE
    paid = gaining(look, len(x) // 2)
    if not eased and now >= p["factor"] * first and not paid and not solved(look):
        apart = look.values("rollout_train_logprob_diff")
        driven = (len(apart) and tail(apart, 20) > p["apart"]) or now >= p["huge"] * first
        level = CRITICAL if driven and losing(look) else WARNING
    text = f"The gradient norm grew from {num(first)} to {num(now)}, {num(now / first)} times its start"
    text += f" ({compared(look, 'grad_norm', 20, p['warmup'])})" + (". The reward pays for it." if paid else ".")
    since = _grew_since(look, memory) if now >= p["factor"] * first else None
    return [Signal(level, text, (("grad_norm", ""),), moved="grad_norm", onset_step=since)]


def _grew_since(look: Look, memory: Memory) -> int | None:
    """The step at which a norm that grew many times began to grow, on a log scale: its own scale hides the
    beginning."""
    series = look.series("grad_norm")
    if "since" not in memory and series is not None:
        positive = series.where(series.values > 0)
        levels = block_levels(positive.values, max(1, len(positive) // LEVEL_ROWS))
        lowest = len(positive) - LEVEL_ROWS * (len(levels) - int(levels.argmin()))
        values = np.log(positive.values[lowest : lowest + PAST_ROWS])
        at, clear = first_turn(values)
        if clear < CLEAR:
            return None
        memory["since"] = float(positive.steps[lowest + at])
    return int(memory["since"]) if "since" in memory else None


@rule("grad-always-clipped", Look)
def grad_always_clipped(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Nearly every gradient is far above the clipping norm, so the limit sets the step size instead of the optimiser. A
    warning if next to nothing is left of each gradient and many rows brought no gain."""
    limit, x = look.settings.number("max_grad_norm"), look.values("grad_norm")[-50:]
    if not limit or len(x) < 50:
        return []
    share = float((x > limit).mean())
    if share <= p["share"] or median(x) <= p["times"] * limit:
        return []
    text = f"The gradient norm is {num(median(x))} against a clip of {num(limit)}: nearly every step is clipped."
    tiny = median(x) > p["huge"] * limit and look.n >= p["rows"]
    level = WARNING if tiny and not paying(look, "grad-always-clipped") else NOTICE
    return [Signal(level, text, (("grad_norm", ""),), onset_step=int(look.steps[0]))]


@rule("pg-loss-shape", Look)
def pg_loss_shape(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The policy loss leapt. Or it changed its sign or its level for good, or swings about 0 without a gain: these are
    hints beside other findings, not faults by themselves. In preference training the loss falls as the policy
    learns."""
    if (leap := loss_leap(look, p, memory)) is not None:
        return [leap]
    series = look.series("pg_loss")
    if series is None or len(series) < p["rows"] or look.settings.preference:
        return []
    x, noise = series.values[-200:], sd_d(series.values[-200:])
    blocks = block_levels(x, len(x) // int(p["side"]))
    broken = float(np.ptp(blocks)) >= 0.8 * p["noise"] * noise  # worth the search for the break
    at, apart = turn(x, int(p["side"])) if broken else (0, 0.0)
    first, last = (median(x[:at]), median(x[at:])) if broken else (0.0, 0.0)
    small, large = sorted((abs(first), abs(last)))
    if apart >= p["apart"] and abs(last - first) >= p["noise"] * noise:
        step = int(series.steps[len(series) - len(x) + at])
        error = 1.25 * noise / float(min(at, len(x) - at)) ** 0.5  # of a median
        how = "turned its sign" if first * last < 0 and small >= 2.0 * error else "changed its level"
        if how == "turned its sign" or large >= p["factor"] * small:
            text = f"The policy loss {how} at step {step}: {num(first)} → {num(last)}."
            return [Signal(NOTICE, text, (("pg_loss", ""), ("grad_norm", "")), onset_step=step)]
    level_reward = opened(look, Trait.LEVEL)
    if not level_reward or look.profile.on_policy is True or abs(mean(x)) > 2.0 * noise / len(x) ** 0.5:
        return []
    signs = np.sign(x)
    if float((signs[1:] != signs[:-1]).mean()) < p["swings"]:
        return []

    def swings() -> str:
        shown = f"mean {num(mean(x))}, noise {num(noise)}"
        return f"The policy loss swings about zero ({shown}), and the reward is level."

    return [Signal(NOTICE, swings, (("pg_loss", ""), (look.reward, "level")))]

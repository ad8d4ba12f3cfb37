"""Whether the batch teaches anything: groups without signal and gradients of 0."""

from __future__ import annotations

import numpy as np

from rltui.evidence import words
from rltui.evidence.clock import worth
from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.present import least_share, present_share
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.unmoving import risen, standing
from rltui.frameworks.load import metrics
from rltui.plots.numbers import percent
from rltui.rules.base import (
    Memory,
    Params,
    gained,
    held,
    logged_for,
    opened,
    reached,
    rising,
    rule,
    solved,
)
from rltui.rules.gains import gain_ended, gain_shows
from rltui.rules.traits import Trait
from rltui.run.sums import median

NO_VARIANCE = "groups have no reward variance"


@rule("no-learning-signal", Look)
def no_learning_signal(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Gradient exactly or nearly 0 on most of the last rows. A loss of 0 alone is normal."""
    gradient, blocks = look.values("grad_norm"), look.blocks("grad_norm")
    window = worth(p["window"], len(gradient))
    if blocks is None or not logged_for(look, "grad_norm", p["window"] + p["warmup"]):
        return []
    if look.is_zero("lr"):
        return _set_to_zero(look)  # otherwise the run is before the first update of a warm-up
    unmoved = _rate_zero(look, window) or _standing(look, p)
    if unmoved is not None:
        return [unmoved]
    live = blocks.levels[blocks.levels > 0]
    usual = median(live) if len(live) else 0.0
    limit = max(p["tiny"], p["relative"] * usual)
    if len(live) and usual < 10 * p["tiny"]:
        limit = max(p["dust"], p["relative"] * usual)  # a model with naturally tiny gradients
    rows, share, least = window, 0.0, 0.0
    if ((newest := gradient[-window:]) < limit).any() or not newest.all():  # else no need to look at all rows
        tiny = gradient < limit if limit else gradient == 0.0
        rows = present_share(tiny, p["window"])
        share = float(tiny[-rows:].mean())
        least = least_share(tiny[-rows:]) if share >= p["warn"] else 0.0
    faint = _faint(look, p, window) or _cut_off(look, p, window, memory) if share < p["warn"] else None
    if faint is not None:
        return [faint]
    eased = share < p["notice"]
    if eased and not held(look, "no-learning-signal"):
        return []
    level = CRITICAL if share >= p["critical"] else WARNING if least >= p["warn"] else EASED if eased else NOTICE
    dead = look.facts.dead_groups
    beside = f", and {words.share(dead, NO_VARIANCE)}" if dead is not None else ""
    summary = f"The gradient is zero on {percent(share)} of the last {rows} rows{beside}"
    summary += "." if eased else ": these updates teach nothing."
    proofs = [("grad_norm", f"zero on {percent(share)} of the last {rows} rows")]
    proofs += [(name, "") for name in ("frac_reward_zero_std", "pg_loss") if look.series(name) is not None]
    onset = _start(look, "grad_norm", gradient < max(limit, 1e-300))
    return [Signal(level, summary, tuple(proofs), onset_step=onset, lasted=rows if share == 1.0 else 0)]


def _set_to_zero(look: Look) -> list[Signal]:
    """The learning rate is logged as 0, and either it is set to 0 or nothing moves. If a higher rate is set, a log that
    rounds may have cut it off; if the policy moves, the 0 may be a mere placeholder."""
    text = "The learning rate is set to 0: no update changes the weights."
    if look.settings.lr != 0.0:
        if not look.exact or risen(look) or not look.at_reference:
            return []
        text = f"The learning rate is 0 to the last digit in all {look.n} rows, as is "
        text += f"{metrics()[look.at_reference].label}, and the reward has not risen: no update changes the weights."
    return [Signal(CRITICAL, text, (("lr", "0"), ("grad_norm", "")), onset_step=int(look.steps[0]))]


def _rate_zero(look: Look, window: int) -> Signal | None:
    """The learning rate went to 0 and stayed there: no update changes the weights. A rate that the log rounds to 0
    looks the same. But then reward or KL may still rise, and a schedule is at 0 hardly longer than at its last digit.
    """
    series = look.series("lr")
    if series is None or len(series) <= window or series.values[-window:].any():
        return None
    rate, moved = series.values, np.flatnonzero(series.values)
    began = int(moved[-1]) + 1
    last = float(rate[began - 1])
    others = np.flatnonzero(rate[:began] != last)
    at_last = began - (int(others[-1]) + 1 if len(others) else 0)
    if last < rate.max() and len(rate) - began <= 2 * at_last:
        return None
    step = int(series.steps[began])
    for name in (look.reward, "kl_ref"):
        found = look.facts.metric(name)
        since = None if found is None else found.since_step(step)
        if since is not None and since.recent is not None and since.recent.direction > 0:
            return None
    text = f"The learning rate is 0 since step {step}, and was {num(last)} before: updates change nothing."
    level = CRITICAL if look.facts.clock.steps_left else WARNING  # the remaining steps achieve nothing
    return Signal(level, text, (("lr", "0"), ("grad_norm", "")), onset_step=step, marks=(Mark.COSTS,))


def _standing(look: Look, p: Params) -> Signal | None:
    """The policy equals its reference to the last digit in all rows, and nothing that it writes has changed, although
    gradients are above 0: the updates do not reach the weights that generate. Without a KL term, the log may write 0
    for the KL, so being sure then takes twice as many rows."""
    if not look.at_reference:
        return None  # nearly always so, and cheap to check
    found = standing(look)
    if not (found.holds and found.exact):
        return None
    level = CRITICAL if look.settings.kl_coef or logged_for(look, "grad_norm", p["standing"]) else WARNING
    text = (
        f"{found.told[0].upper()}{found.told[1:]}, at a gradient of {num(look.values('grad_norm')[-1])}: the updates "
    )
    text += "do not reach the weights."
    return Signal(level, text, ((look.at_reference, "0"), ("grad_norm", "above 0")), onset_step=int(look.steps[0]))


def _faint(look: Look, p: Params, window: int) -> Signal | None:
    """If the share of dead groups is not logged, they show in the spread of the rewards and in the gradient that it
    drives: both are a small part of their best, and the reward does not rise."""
    spread, gradient = look.facts.metric("reward_std"), look.facts.metric("grad_norm")
    if look.facts.dead_groups is not None or spread is None or gradient is None or solved(look):
        return None
    low = []
    for metric in (spread, gradient):
        if metric.peak is None or metric.since_peak is None or metric.since_peak.direction >= 0:
            return None
        low.append(metric.values[-window:] < p["faint"] * metric.peak.value)
    if spread.peak is None or not all(bool(one.mean() >= p["critical"]) for one in low):
        return None
    began = _start(look, "reward_std", spread.values < p["faint"] * spread.peak.value)
    score = look.facts.metric(look.reward)
    since = None if score is None or began is None else score.since_step(began)
    if since is not None and since.recent is not None and since.recent.direction == since.better:
        return None
    summary = (
        f"On the last {window} rows the spread of the rewards and the gradient are below {percent(p['faint'])} of "
    )
    summary += "their best: most groups must hold one and the same reward, and teach nothing."
    return Signal(WARNING, summary, (("reward_std", ""), ("grad_norm", "")), onset_step=began)


def _cut_off(look: Look, p: Params, window: int, memory: Memory) -> Signal | None:
    """The gradient fell to a small part at one step and stayed there, although rewards differ as before. The update
    changed, not the data: a loss scale or frozen parameters, for example. Critical if neither reward nor KL rises
    afterwards, as an optimiser that divides by the size of the gradient may still learn. `memory` keeps the step and
    the level before, as level shifts are looked for only in the newest rows."""
    gradient, dead = look.facts.metric("grad_norm"), look.facts.dead_groups
    if gradient is None or solved(look) or (dead is not None and dead.value >= p["warn"]):
        return None
    cut = next((one for one in reversed(gradient.shifts) if 0.0 < one.after < p["cut"] * one.before), None)
    if cut is not None:
        memory["cut at"], memory["before"] = float(cut.step), cut.before
    if "cut at" not in memory:
        return None
    step = int(memory["cut at"])
    at = int(gradient.series.steps.searchsorted(step))
    usual = min(memory["before"], median(gradient.values[:at]))  # the end of a high stretch is a return to normal
    after = gradient.values[at:]
    now = median(after[-window:]) if len(after) >= window else usual
    if at < window or now >= p["cut"] * usual:
        return None
    spread = look.facts.metric("reward_std")
    since = None if spread is None else spread.since_step(step)
    if spread is not None and since is not None and median(since.values) < p["warn"] * median(spread.values):
        return None
    moved = [metric.since_step(step) for name in (look.reward, "kl_ref") if (metric := look.facts.metric(name))]
    learns = any(one is not None and one.since_start and one.since_start.direction == 1 for one in moved)
    level = WARNING if learns or not moved or len(after) < 2 * window else CRITICAL
    summary = f"The gradient norm fell from {num(usual)} to {num(now)} at once and stayed there, though the "
    summary += "rewards of the answers still differ: the update was cut off, not the signal."
    return Signal(level, summary, (("grad_norm", ""), (look.reward, "")), onset_step=step)


@rule("zero-variance-groups", Look)
def zero_variance_groups(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Share of groups whose samples all got the same reward."""
    if look.settings.group_relative is False:
        return []
    dead = look.values("frac_reward_zero_std")
    found = look.facts.dead_groups
    if found is None or not logged_for(look, "frac_reward_zero_std", p["window"] // 2 + p["warmup"]):
        return []
    share = found.value
    eased = share < p["notice"]
    if eased and not held(look, "zero-variance-groups"):
        return []
    all_dead = share >= p["all"]  # no group can teach: a change of the reward is not learning
    many = _start(look, "frac_reward_zero_std", dead >= p["warn"])
    over = many is not None and (gain_ended(look, many) or (share >= p["critical"] and not gain_shows(look, many)))
    learns = rising(look) and not all_dead and not over  # a long window's trend includes the earlier rise
    short = look.profile.ceiling is not None and not reached(look, p["half"])  # unknown without a ceiling
    idle = share >= p["idle"] and opened(look, Trait.PLATEAU) and short and not _became_fewer(look)
    recent = dead[-worth(p["critical_rows"], len(dead)) :]
    long = logged_for(look, "frac_reward_zero_std", p["window"])
    lasting = long and bool((recent >= p["critical"]).mean() >= 0.5)
    level = EASED if eased else NOTICE
    marks = (Mark.COSTS,) if share >= p["critical"] and lasting and not solved(look) else ()
    if solved(look) and not all_dead:
        level = min(level, NOTICE)  # the reward already shows that nothing more can be learnt
    elif share >= p["critical"] and lasting and not learns:
        level = CRITICAL
    elif (share >= p["warn"] and not learns and least_share(dead[-found.rows :]) >= p["warn"]) or idle:
        level = WARNING
    rest = f"only {percent(1 - share)} of the batch teaches" if share < 1 else "nothing in the batch teaches"
    gradient, beside = look.facts.metric("grad_norm"), look.series("frac_reward_zero_std")
    known = gradient is not None and beside is not None and gradient.series.rows[-1] >= beside.rows[-found.rows]
    if all_dead and known and gradient is not None and gradient.now.value >= p["lives"] * gradient.start.value:
        rest = f"no group tells a better answer from a worse one, and yet the gradient is at {num(gradient.now.value)}"
    summary = f"{words.share(found, NO_VARIANCE)}: {rest}."
    proofs = [("frac_reward_zero_std", f"mean of the last {found.rows} rows {percent(share)}")]
    if look.series(look.reward) is not None:
        proofs.append((look.reward, ""))
    return [
        Signal(
            level,
            summary,
            tuple(proofs),
            onset_step=many if level > NOTICE else _start(look, "frac_reward_zero_std", dead >= p["notice"]),
            marks=marks,
        )
    ]


def _became_fewer(look: Look) -> bool:
    """Whether fewer groups are dead than at the start, and the run has learnt: dead groups do not prevent learning."""
    dead = look.facts.metric("frac_reward_zero_std")
    return dead is not None and dead.since_start is not None and dead.since_start.direction < 0 and gained(look)


def _start(look: Look, name: str, holds: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int | None:
    """First step of the newest stretch in which the condition holds on most rows (windows of 10)."""
    series = look.series(name)
    if series is None:
        return None
    recent = holds[-2000:]
    if len(recent) < 10:
        return int(series.steps[0])
    share = np.convolve(recent, np.full(10, 0.1), mode="valid")
    off = (share < 0.5).nonzero()[0]
    begin = int(off[-1]) + 5 if len(off) else 0
    return int(series.steps[len(holds) - len(recent) + min(begin, len(recent) - 1)])

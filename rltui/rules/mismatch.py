"""Trainer and sampler: how much their log-probs differ, how old the rollouts are, and the effect on the importance
weights."""

from __future__ import annotations

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import trend
from rltui.plots.numbers import percent
from rltui.rules.base import (
    Memory,
    Params,
    compared,
    gaining,
    head,
    held,
    losing,
    loud,
    newest,
    paying,
    rule,
    since,
    tail,
)
from rltui.rules.traits import Trait
from rltui.run.table import Floats

LEAST = 10  # rows
RECENT = 100  # newest rows that show whether a difference still grows
GREW, FRESH = 5, 50
"""From this multiple of its start on, only a gain since then excuses the difference; the second is the least number of
rows for that gain. The run is then not called clear, even if it learns."""


def _levels(look: Look, p: Params) -> list[tuple[str, float, float, float, float]]:
    """For each metric: key, value now, limits for a note and a warning, and first value, in the unit of its key."""
    out = []
    difference = look.series("rollout_train_logprob_diff")
    if difference is not None and len(difference) >= LEAST:
        probability = look.dialect.conventions.logprob_difference == "probabilities" or "probs_diff" in difference.key
        notable, bad = (p["pd_ok"], p["pd_bad"]) if probability else (p["log_ok"], p["slime_abs"])
        out.append((difference.key, tail(difference.values, 10), notable, bad, head(difference.values, 10)))
    for name, notable, bad in (
        ("rollout_train_kl", p["kl_dense"], p["kl_crit"]),
        ("token_mult_prob_error", p["mult_ok"], p["mult"]),
    ):
        series = look.series(name)
        if series is not None and len(series) >= LEAST:
            out.append((series.key, tail(series.values, 10), notable, bad, head(series.values, 10)))
    return out


def _grew(look: Look, name: str) -> int | None:
    """Row since which the difference is far above its start. None if it is not."""
    series = look.series(name)
    if series is None or len(series) < 2 * LEAST:
        return None
    far = series.values > GREW * head(series.values, 10)
    return int(series.rows[since(far)]) if np.median(far[-10:]) else None


@rule("mismatch-high", Look)
def mismatch_high(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The level of the difference in its own unit. A warning if it is bad and the run does not learn. Growth alone does
    no harm: it happens in public runs that learn well."""
    levels = _levels(look, p)
    seen = [(key, now, bad) for key, now, notable, bad, _ in levels if now > notable]
    alike = look.values("rollout_train_corr")
    if len(alike) >= LEAST and tail(alike, 10) < p["corr_bad"]:
        seen.append(("correlation", tail(alike, 10), p["corr_bad"]))
    if not seen:
        return []
    bad = any(now > limit or key == "correlation" for key, now, limit in seen)
    masked = look.values("is_clip_frac")
    harm = losing(look) or (len(masked) > 0 and tail(masked, 10) > p["masked"]) or loud(look, Trait.GRADIENT_RISES)
    moved = next((n for n in ("rollout_train_logprob_diff", "rollout_train_kl") if look.series(n) is not None), None)
    begun = _grew(look, moved) if moved else None
    paid = gaining(look, look.n // 2 if begun is None else min(look.n // 2, max(FRESH, look.n - begun)))
    level = NOTICE if not bad or paid else CRITICAL if harm else WARNING
    words = " and ".join(f"{key} {num(now)} (limit {num(limit)})" for key, now, limit in seen)
    always = level > NOTICE and begun is None and any(min(now, first) > limit for _, now, _, limit, first in levels)
    since_when = " It was so in the first rows already: the date is that of the damage." if always else ""
    marks = (Mark.COSTS,) if begun is not None else ()
    proofs = ((moved, "median of its newest rows"),) if moved else ()
    return [
        Signal(
            level,
            f"Log-probabilities of trainer and sampler differ: {words}.{since_when}",
            proofs,
            moved=moved,
            hurt=look.reward,
            marks=marks,
        )
    ]


@rule("mismatch-growing", Look)
def mismatch_growing(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The difference grows. A warning if the reward suffers, until the difference is smaller again."""
    for name in ("rollout_train_logprob_diff", "rollout_train_kl"):
        x = look.values(name)
        if len(x) < p["rows"]:
            continue
        first = head(x, 20)
        if first == 0 and (apart := _no_longer_equal(look, name, x, p)) is not None:
            return [apart]
        if first <= 0:
            continue
        ratio = tail(x, 20) / first
        large = ratio >= p["factor"]
        stands = large and held(look, "mismatch-growing", WARNING)
        eased = ratio < p["notice"] or (look.trend(name).direction <= 0 and not stands)
        if eased and not held(look, "mismatch-growing"):
            continue
        level = EASED if eased else WARNING if stands or (large and losing(look)) else NOTICE
        text = f"The difference between trainer and sampler grew {num(ratio)}-fold, to {num(tail(x, 20))}"
        text += f" ({compared(look, name, 20)})."
        return [Signal(level, text, ((name, ""),), moved=name, hurt=look.reward)]
    return []


def _no_longer_equal(look: Look, name: str, x: Floats, p: Params) -> Signal | None:
    """The difference was 0 to the last digit, so both sides had the same weights and the same arithmetic. Since it is
    no longer 0, the sampler has others. A warning if the difference grows, as it does if new weights do not reach the
    sampler. Critical if it has grown much and the reward has gained nothing since."""
    apart = np.flatnonzero(x != 0.0)
    if len(apart) < LEAST or not apart[0] >= p["equal"] or len(apart) < len(x) - apart[0]:
        return None  # if zeros return, they are rounded values
    began = int(apart[0])
    first, now = float(x[began : began + LEAST].mean()), tail(x, LEAST)
    rises, far = trend(x[began:], RECENT).direction > 0, now >= 2 * p["lost"] * first
    grows = (rises and now >= p["factor"] * first) or (far and held(look, "mismatch-growing", WARNING))
    series = look.series(name)
    step = int(series.steps[began]) if series is not None else look.step
    text = f"Trainer and sampler agreed to the last digit until step {step}, and differ since then: by {num(first)} in "
    text += f"the first rows, and by {num(now)} now."
    lost = (rises or far) and now >= p["lost"] * first and not gaining(look, len(x) - began)
    level = CRITICAL if lost else WARNING if grows else NOTICE
    return Signal(level, text, ((name, ""),), onset_step=step, hurt=look.reward)


@rule("is-weight-degenerate", Look)
def is_weight_degenerate(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Importance weights that average far from 1, rest on few samples, or are mostly cut."""
    mean, cut, effective = (look.values(n) for n in ("is_ratio_mean", "is_clip_frac", "is_eff_sample_size"))
    parts, bad, dead = [], False, False
    if len(mean) >= LEAST and abs(tail(mean, 10) - 1.0) > p["off"]:
        now = tail(mean, 10)
        parts.append(f"they average {num(now)}")
        bad, dead = not p["low"] <= now <= p["high"], now < p["off"]
    if len(effective) >= LEAST and tail(effective, 10) < p["ess"]:
        parts.append(f"{percent(tail(effective, 10))} of the sample counts")
        bad = True
    if len(cut) >= LEAST and tail(cut, 10) > p["masked"]:
        parts.append(f"{percent(tail(cut, 10))} are cut")
        bad = True
    if not parts:
        return []
    level = NOTICE if not bad or paying(look, "is-weight-degenerate") else CRITICAL if dead or losing(look) else WARNING
    if len(mean) >= LEAST and _contradicts(look, tail(mean, 10), p):
        parts.append("while trainer and sampler hardly differ, token by token: the weights are computed wrongly")
        level = max(level, WARNING)
    names = [n for n in ("is_ratio_mean", "is_clip_frac", "is_eff_sample_size") if look.series(n) is not None]
    text = f"Importance weights: {', '.join(parts)}."
    marks = (Mark.COSTS,) if bad else ()
    return [Signal(level, text, tuple((n, "") for n in names), moved=names[0], hurt=look.reward, marks=marks)]


def _contradicts(look: Look, weight: float, p: Params) -> bool:
    """Whether token weights average far from 1 although the token log-probs agree, which is impossible."""
    difference = look.series("rollout_train_logprob_diff")
    words = " ".join(look.settings.word(k) for k in ("importance_sampling_level", "is_correction"))
    if difference is None or len(difference) < LEAST or "sequence" in words:
        return False
    return abs(weight - 1.0) > p["odd"] and tail(difference.values, 10) < p["agree"]


@rule("staleness-high", Look)
def staleness_high(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Rollouts older than the run allows, or than trainers are known to tolerate."""
    lag = look.values("staleness_mean")
    if len(lag) < LEAST:
        return []
    now, bound = tail(lag, 10), look.settings.number("max_staleness")
    eased = now <= p["notice"]
    if eased and not held(look, "staleness-high"):
        return []
    limit = max(p["warn"], bound or 0.0)
    level = EASED if eased else NOTICE
    spent = loud(look, Trait.REWARD_FALLS) or not paying(look, "staleness-high")  # an old gain does not excuse a fall
    marks = (Mark.COSTS,) if now > limit else ()
    if now > limit and (now > max(p["harm"], limit) or spent):
        level = CRITICAL if now > max(p["crit"], limit) and losing(look) else WARNING
    text = f"Rollouts are {num(now)} versions old ({newest(look, 'staleness_mean', 10)}"
    text += f", bound {num(bound)})." if bound else ")."
    return [Signal(level, text, (("staleness_mean", ""),), moved="staleness_mean", hurt=look.reward, marks=marks)]

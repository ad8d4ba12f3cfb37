"""Group, baseline, and the KL penalty inside the reward."""

from __future__ import annotations

import numpy as np

from rltui.evidence import words
from rltui.evidence.clock import worth
from rltui.evidence.effects import LIMIT
from rltui.evidence.look import Look
from rltui.evidence.metric import Course
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import trend
from rltui.plots.numbers import percent
from rltui.prose import listed, sentence
from rltui.rules.base import (
    Memory,
    Params,
    compared,
    head,
    held,
    logged_for,
    paying,
    reward_name,
    rule,
    tail,
    told,
    validation,
)
from rltui.rules.clipped_since import clipped_since
from rltui.rules.first_updates import kl_of_first_updates
from rltui.rules.implied_range import implied_range
from rltui.run.sums import median


@rule("cfg-group-size-degenerate", Look)
def cfg_group_size_degenerate(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A group baseline over one or very few samples. With one sample, the advantages equal the scores; that is the
    proof."""
    equal = _advantages_are_scores(look, p)
    size = look.settings.group_size
    if look.settings.group_relative is False or (look.settings.group_relative is None and equal is None):
        return []
    onset = look.set_since
    if equal is not None:
        text = (
            f"Advantages equal the scores in {percent(equal)} of the rows: there is no baseline, as with a group of 1."
        )
        proofs = (("advantage_max", "equals score_max"), ("advantage_min", "equals score_min"))
        return [Signal(CRITICAL, text, proofs, onset_step=onset)]
    if size is None or size >= p["notice"] or look.n < 1:
        return []
    others = size - 1
    if _leaves_one_out(look) and others >= p["others"]:
        mean = "the reward of one other sample" if others == 1 else f"the mean of {num(others)} other samples"
        text = f"Groups of {num(size)}: RLOO's baseline is {mean}, which is unbiased, but advantages are noisy."
        return [Signal(NOTICE, text, ((look.reward, ""),), onset_step=onset)]
    level = WARNING if size < p["warn"] else NOTICE
    if size < 2:
        text = (
            "Groups of 1: a sample is compared with itself. Its advantage is 0 or its raw reward: there is no baseline."
        )
        return [Signal(level, text, ((look.reward, ""),), onset_step=onset)]
    noisy = "mostly noise" if level == WARNING else "noisy"
    text = f"Groups of {num(size)}: the baseline is the mean of {num(size)} samples, so advantages are {noisy}."
    return [Signal(level, text, ((look.reward, ""),), onset_step=onset)]


def _leaves_one_out(look: Look) -> bool:
    """Whether the baseline is RLOO's: the mean of the other samples, without division by their standard deviation."""
    return "rloo" in f"{look.settings.word('adv_estimator')} {look.settings.algorithm}".lower()


def _advantages_are_scores(look: Look, p: Params) -> float | None:
    """Share of the last rows in which both extremes agree. None if that is not most of them."""
    names = ("advantage_min", "score_min", "advantage_max", "score_max")
    columns = [look.values(n)[-50:] for n in names]
    rows = min(len(c) for c in columns)
    if rows < p["proof_rows"]:
        return None
    low_a, low_s, high_a, high_s = (c[-rows:] for c in columns)
    same = (np.abs(low_a - low_s) < 1e-4) & (np.abs(high_a - high_s) < 1e-4)
    varied = high_s > low_s
    if np.count_nonzero(varied) < p["proof_rows"] or not same.any():
        return None
    share = float(same[varied].mean())
    return share if share > p["proof_share"] else None


@rule("kl-penalty-gaming", Look)
def kl_penalty_gaming(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The shaped reward rises because responses get shorter. The raw score does not rise."""
    shaped, raw, length = (look.values(n) for n in ("reward_mean", "score_mean", "response_length_mean"))
    if min(len(shaped), len(raw), len(length)) < p["rows"]:
        return []
    first, last = head(length, 10), tail(length, 10)
    ratio = last / first if first > 0 else 1.0
    if not ratio < p["length"] and not held(look, "kl-penalty-gaming"):
        return []
    rises = trend(shaped).direction > 0 or look.facts.errors("reward_mean") >= p["gain_se"]
    pays = trend(raw).direction > 0 or look.facts.errors("score_mean") >= p["gain_se"]
    if pays or not rises:
        return []
    level = CRITICAL if ratio < p["critical"] else WARNING
    courses = [f"{name} {words.since_start(c)}" for name, c in _both(look) if c is not None]
    text = f"{listed(courses)}, and responses went from {num(first)} to {num(last)} tokens "
    text += f"({compared(look, 'response_length_mean', 10)}): short answers pay less penalty."
    proofs = (
        told(look, "reward_mean"),
        told(look, "score_mean"),
        ("response_length_mean", ""),
    )
    return [Signal(level, text, proofs, moved="response_length_mean")]


def _both(look: Look) -> tuple[tuple[str, Course | None], tuple[str, Course | None]]:
    return ("Reward after penalties", look.facts.course("reward_mean")), ("the score", look.facts.course("score_mean"))


@rule("policy-step-too-large", Look)
def policy_step_too_large(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Too many tokens clipped, or too large a KL within one update."""
    if look.profile.on_policy is True:
        return []
    clipped, moved = look.values("clip_frac"), look.values("ppo_kl")
    if max(len(clipped), len(moved)) < p["warmup"]:
        return []
    c = tail(clipped, 10) if len(clipped) >= p["warmup"] and not _narrow(look, p) else 0.0
    q = median(np.abs(moved[-worth(10, len(moved)) :])) if len(moved) >= p["warmup"] else 0.0
    eased = c <= p["clip_notice"] and q <= p["kl_warn"]
    if eased and (since := clipped_since(look, p)):
        return since
    if eased and not held(look, "policy-step-too-large"):
        return []
    level = EASED if eased else NOTICE
    if c > p["clip_critical"] or q > p["kl_critical"]:
        level = CRITICAL
    elif c > p["clip_warn"] or q > p["kl_warn"]:
        level = WARNING
    parts = [f"{percent(c)} of the tokens are clipped"] if c > p["clip_notice"] or (eased and len(clipped)) else []
    parts += [f"each update moves the policy by {num(q)} nats"] if q > p["kl_warn"] or (eased and len(moved)) else []
    text = " and ".join(parts)
    proofs = tuple(
        (n, f"median of the newest rows {num(v)}")
        for n, v in (("clip_frac", c), ("ppo_kl", q))
        if look.series(n) is not None
    )
    held_out = validation(look)
    validated = held_out is not None and held_out >= LIMIT
    paid = validated or paying(look, "policy-step-too-large", int(p["rows"]))
    name, marks = "clip_frac" if c > p["clip_notice"] else "ppo_kl", (Mark.PAID,) if paid else ()
    if paid:
        text += f". {'Validation' if validated else reward_name(look)} gains all the same"
    return [Signal(level, sentence(text), proofs, moved=name, marks=marks)]


def _narrow(look: Look, p: Params) -> bool:
    """Whether the clip range is one for whole sequences, or a mistake. Uses the range that is set or, if that is
    unknown, the one that the first rows imply."""
    bounds = [b for name in ("clip_low", "clip_high") if (b := look.settings.number(name)) is not None]
    widest = max(bounds) if bounds else implied_range(look, p["clip_notice"])
    return widest is not None and 0 < widest < p["range"]


@rule("reference-mismatch-at-start", Look)
def reference_mismatch_at_start(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The KL is large in the very first rows and does not rise: the reference is not the model that training began
    with."""
    kl = look.values("kl_ref")
    rows = int(p["rows"])
    if len(kl) < rows or look.n < rows or not look.profile.kl_per_token or int(look.steps[0]) > p["first_step"]:
        return []
    start, after = min(float(kl[0]), tail(kl[:3], 3)), tail(kl[3:rows], rows - 3)
    if start <= p["notice"] or after >= 2.0 * start or kl_of_first_updates(look):
        return []
    late = logged_for(look, look.reward, p["gain_rows"]) and look.facts.errors(look.reward) < 2.0
    unmoved = int(look.steps[0]) <= 1 and float(kl[0]) > p["notice"]  # no update can have caused the KL
    stays = p["stays"] * start <= after <= p["level"] * start
    sure = unmoved or stays  # else the updates before the first row may have caused the KL
    level = WARNING if sure and start > p["warn"] and late and look.settings.kl_coef != 0 else NOTICE
    marks = (Mark.COSTS,) if unmoved or start > p["warn"] else ()
    why = "before any update could move the policy that far" if unmoved else "and hardly rises after them"
    text = f"KL to the reference is {num(start)} in the first rows, {why}: "
    text += "the reference seems to be another model than the one that training started from."
    onset = int(look.steps[0])
    return [Signal(level, text, (("kl_ref", f"first rows {num(start)}"),), onset_step=onset, marks=marks)]

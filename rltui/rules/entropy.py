"""Entropy of the policy, judged by the damage beside it."""

from __future__ import annotations

from rltui.evidence.clock import worth
from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.present import in_a_row, jumped
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import flat
from rltui.plots.numbers import percent
from rltui.prose import sentences
from rltui.rules.base import (
    Memory,
    Params,
    compared,
    dead_groups,
    gaining,
    head,
    held,
    logged_for,
    losing,
    loud,
    paying,
    reward_course,
    rule,
    since,
    solved,
    tail,
    told,
    validation,
)
from rltui.rules.gains import gain_ended
from rltui.rules.traits import Trait

ROWS = 10
SKIP = 2
"""Rows that show the start and the present, and rows skipped before the start: the first ones have a cold optimizer."""


def _reference(look: Look) -> float | None:
    """The run's own start: median of rows 3 to 12."""
    entropy = look.values("entropy")
    return head(entropy[SKIP:], ROWS) if logged_for(look, "entropy", SKIP + ROWS) else None


@rule("entropy-collapse", Look)
def entropy_collapse(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Entropy is a fraction of its start, and the reward no longer gains from it."""
    series, start = look.series("entropy"), _reference(look)
    if series is None or start is None or start <= 0 or not logged_for(look, "entropy", p["warmup"]):
        return []
    entropy = series.values
    now = tail(entropy, ROWS)
    ratio = now / start
    eased = ratio >= p["notice"]
    if eased and not held(look, "entropy-collapse"):
        return []
    dead = dead_groups(look)
    dead_now = dead or 0.0
    held_out = validation(look)
    val_flat = held_out is not None and held_out < 1.0
    val_falls = held_out is not None and held_out <= -2.0
    reward, nats = look.trend(look.reward), not look.weighed("entropy")
    said = held(look, "entropy-collapse", WARNING)  # a warning ends with a gain, not when the reward fluctuates
    bottom = ratio < p["critical"] or (nats and now < p["critical_floor"])
    still = reward.direction <= 0 if said or bottom else flat(reward)  # hardly any entropy is left: a gain has to show
    unpaid = still and not paying(look, "entropy-collapse", 200)
    if bottom and not unpaid:
        low_since = int(series.steps[since(entropy < p["critical"] * start)])
        unpaid = gain_ended(look, low_since) or _starved(look, dead_now, p["starved"]) or loud(look, Trait.DRIFT)
    agree = look.trend("frac_reward_zero_std").direction > 0
    agree = agree and not gaining(look, worth(p["window"], look.n))  # otherwise groups agree as answers become right
    stuck = losing(look) or unpaid or agree
    harmed = (stuck or val_flat or dead_now >= p["dead_groups"]) and not solved(look)
    damage = val_falls or losing(look) or dead_now >= p["dead_groups"] or loud(look, Trait.VALIDATION_FALLS)
    low = nats and now < p["floor"]
    going = low or said or look.trend("entropy", worth(p["window"], len(entropy))).direction < 0
    level = NOTICE
    if harmed and bottom and damage:
        level = CRITICAL
    elif harmed and (bottom or (ratio < p["warn"] and going) or (low and reward.direction <= 0)):
        level = WARNING

    level = EASED if eased else level
    if level >= WARNING:
        memory["warned"] = 1.0
    elif not bottom:
        memory.pop("warned", None)
    no_gain = reward.direction <= 0 or "warned" in memory  # a later gain does not bring the entropy back
    spent = bottom and no_gain and not solved(look)  # hardly any entropy is left
    marks = (Mark.COSTS,) if level == NOTICE and spent else ()

    def text() -> str:
        fell = f"Entropy fell from {num(start)} to {num(now)} nats, {percent(ratio)} of its start"
        fell += f" ({compared(look, 'entropy', ROWS, SKIP)})"
        course = "the task is solved" if solved(look) else reward_course(look)
        return sentences(fell, "" if marks else course)  # with marks, the headline shows the gain

    proofs = [("entropy", ""), told(look)]
    if dead is not None:
        proofs.append(("frac_reward_zero_std", f"{percent(dead_now)} of the groups without variance"))
    return [Signal(level, text, tuple(proofs), moved="entropy", hurt=look.reward, marks=marks)]


def _starved(look: Look, dead_now: float, much: float) -> bool:
    """Whether most groups teach nothing, and certainly more than at the start."""
    dead = look.facts.metric("frac_reward_zero_std")
    grown = None if dead is None else dead.since_start
    return dead_now >= much and grown is not None and grown.direction > 0


@rule("entropy-explosion", Look)
def entropy_explosion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Entropy far above its start and rising."""
    entropy = look.values("entropy")
    start = _reference(look)
    if start is None or not logged_for(look, "entropy", p["warmup"]):
        return []
    now = tail(entropy, ROWS)
    limit = max(p["times"] * start, start + p["plus"])
    far = now > limit
    opened = held(look, "entropy-explosion")
    if not (far or now > max(p["notice"], start)):
        return []
    rising = look.trend("entropy", 50).direction > 0 or look.trend("entropy").direction > 0
    at_once = look.facts.errors("entropy", int(p["jump_rows"])) >= p["jump"]  # no trend shows it
    rising = rising or at_once or jumped(entropy, ROWS) > 0
    if not rising and not (opened and far):
        return []
    level = NOTICE
    if far:
        worse = losing(look) or loud(look, Trait.AT_FLOOR)
        level = CRITICAL if worse or (now > p["extreme"] and not gaining(look)) else WARNING

    def summary() -> str:
        rose = f"Entropy rose from {num(start)} to {num(now)} nats ({compared(look, 'entropy', ROWS, SKIP)})"
        return sentences(rose, reward_course(look))

    proofs = [("entropy", "")]
    if look.series(look.reward) is not None:
        proofs.append(told(look))
    lasted = in_a_row(entropy > (limit if far else max(p["notice"], start)))
    return [Signal(level, summary, tuple(proofs), moved="entropy", hurt=look.reward, lasted=lasted)]

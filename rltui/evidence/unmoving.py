"""Whether the weights of a policy change at all, judged by the policy's own numbers."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from rltui.evidence.effects import LIMIT, chance
from rltui.evidence.look import Look
from rltui.evidence.signal import num
from rltui.frameworks.load import metrics
from rltui.plots.numbers import percent

ROWS = 50
"""With fewer rows, a policy that learns slowly looks the same."""
FINE = 0.02
"""Share of its level by which a move of the entropy would be seen. Policies that learn move it by that much within as
many rows."""
OF_THE_POLICY = ("entropy", "response_length_mean")
"""What the policy writes. These change with its weights, and otherwise only with the prompts that are drawn. A length
may also be constant for other reasons."""
NEXT_TO_NOTHING = 1e-4
"""Nats per token: the KL to the reference that rounding differences between two engines leave."""


class Unmoving(Struct, frozen=True):
    """`holds`: whether the weights stand still, None if nothing shows it. `exact`: shown by a distance to the reference
    that is 0 to the last digit. `told`: the numbers that show it."""

    holds: bool | None
    told: str
    exact: bool = False


def standing(look: Look) -> Unmoving:
    """Whether the weights have not changed since the start."""
    gradient = look.values("grad_norm")
    if len(gradient) < ROWS or 2 * np.count_nonzero(gradient > 0.0) < len(gradient):  # no median: this must be fast
        return Unmoving(None, "too few gradients are logged")
    if better := risen(look):
        return Unmoving(False, f"{metrics()[better].label} has risen")
    moved, seen = _of_the_policy(look)
    if moved:
        return Unmoving(False, moved)
    zero = look.at_reference
    if zero and look.exact and (zero != "kl_ref" or look.settings.kl_coef != 0):
        told = f"{metrics()[zero].label} is 0 to the last digit in all {look.n} rows"
        return Unmoving(True, f"{told}, and {seen}" if seen else told, exact=True)
    kl = look.facts.metric("kl_ref")
    if kl is not None:  # rounding differences between two engines leave next to nothing as well
        far = kl.now.value > NEXT_TO_NOTHING
        return Unmoving(False if far else None, f"the KL to the reference is {num(kl.now.value)}, and no 0")
    if not seen:
        return Unmoving(None, "no number of the policy is exact enough to tell")
    return Unmoving(True, f"{seen} in {look.n} rows")


def risen(look: Look) -> str:
    """The score that rose by more than the best of so many points does by chance; empty if none did."""
    for name in (look.reward, "val_score"):
        found = look.facts.metric(name)
        n = 0 if found is None else len(found.series)
        if n and look.facts.errors(name) >= LIMIT + chance(n, max(5, n // 10)):
            return name
    return ""


def _of_the_policy(look: Look) -> tuple[str, str]:
    """What moved since the start by more than chance explains, and what does not move although a small move would have
    been seen."""
    seen = ""
    for name in OF_THE_POLICY:
        found = look.facts.metric(name)
        course = None if found is None else found.since_start
        if found is None or course is None:
            continue
        label, level = metrics()[name].label, abs(found.start.value)
        if abs(course.errors) >= LIMIT + chance(len(found.series), found.start.points):
            return f"{label} went {num(found.start.value)} → {num(found.end.value)}", ""
        if name == "entropy" and level and course.smallest <= FINE * level:
            seen = f"{label} stands at {num(found.end.value)}, though a change by {percent(course.smallest / level)} "
            seen += "would have been seen"
    return "", seen

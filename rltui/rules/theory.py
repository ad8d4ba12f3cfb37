"""Advantages that a group baseline cannot give: all of one sign, or beyond their bound."""

from __future__ import annotations

from math import sqrt

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, NOTICE, WARNING, Signal, num
from rltui.rules.base import (
    Memory,
    Params,
    loud,
    rule,
    side_by_side,
)
from rltui.rules.invariants import BOUND
from rltui.rules.traits import Trait


@rule("advantage-degenerate", Look)
def advantage_degenerate(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Advantages are all of one sign while rewards differ, or are larger than a group of this size allows."""
    low, high = side_by_side(look, "advantage_min", "advantage_max")
    rows = int(p["rows"])
    if len(low) < rows or loud(look, Trait.NO_CONTRAST):
        return []
    low, high = low[-rows:], high[-rows:]
    best, worst = side_by_side(look, "score_max", "score_min")
    varied = best[-rows:] - worst[-rows:]
    proofs = (("advantage_min", ""), ("advantage_max", ""))
    one_sided = bool((low >= 0).all()) or bool((high <= 0).all())
    if look.settings.group_relative and len(varied) == rows and (varied > 0).all() and one_sided and (high > low).all():
        between = f"{num(float(low.min()))} and {num(float(high.max()))}"
        text = f"Advantages lie between {between}: a group baseline gives both signs."
        return [Signal(CRITICAL, text, proofs, moved="advantage_min")]
    size = look.settings.group_size
    if not look.settings.group_relative or size is None or size < 2 or not _by_group(look):
        return []
    largest, bound = np.maximum(np.abs(low), np.abs(high)), sqrt(size - 1)
    if (largest > bound * (1 + p["tol"])).all():
        text = f"Advantages reach {num(float(largest.max()))}, but groups of {num(size)} allow {num(bound)}."
        return [Signal(WARNING, text, proofs, subject=BOUND, moved="advantage_max")]
    if size == 2 and float(np.ptp(largest)) < 1e-6 and largest[0] > 0:
        return [Signal(NOTICE, f"Advantages are ±{num(float(largest[0]))} only: groups of 2.", proofs)]
    return []


def _by_group(look: Look) -> bool:
    """Whether advantages are divided by the spread of their own group, and nothing is added to them later."""
    settings = look.settings
    plain = any(
        word in f"{settings.word('adv_estimator')} {settings.algorithm}".lower()
        for word in ("drgrpo", "dr_grpo", "rloo")
    )
    return not plain and settings.word("norm_adv_by_std") in ("", "true", "group") and settings.kl_where != "reward"

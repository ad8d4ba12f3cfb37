"""A total that counts one of its parts with the wrong sign, as its own arithmetic shows."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, NOTICE, Signal
from rltui.evidence.stretches import on_rows
from rltui.frameworks.parts import is_effort, is_task
from rltui.rules.base import PARTS, reward_name
from rltui.run.table import Floats

ROWS = 10
"""Newest rows, in all of which this must hold."""
EXACT = 1e-4
"""Rounding error that a sum may have, as a share of the largest number in it."""
MOST = 6
"""Most parts: with more, any number may be a sum."""


def minus_its_part(look: Look) -> Signal | None:
    """In every row, the total is the sum of its parts with one of them subtracted instead of added. For the task itself
    that is an error. Another part may be a cost, and is reported only if it is the only part."""
    total = look.series(look.reward)
    members = {name: series for name, series in look.family(PARTS).items() if series is not total}
    if total is None or len(total) < ROWS or not 1 <= len(members) <= MOST:
        return None
    rows, reward = total.rows[-ROWS:], total.values[-ROWS:]
    parts = {name: on_rows(rows, series) for name, series in members.items()}
    if not all(np.isfinite(x).all() for x in parts.values()) or _adds_up(reward, parts):
        return None
    for name, part in parts.items():
        task = is_task(name)
        told = task or (len(parts) == 1 and not is_effort(name))
        if told and np.ptp(part) > 0.0 and _adds_up(reward + 2.0 * part, parts):
            rest = "" if len(parts) == 1 else ", beside what the other parts add"
            text = f"{reward_name(look)} is minus “{name}” to the last digit in each of the newest {ROWS} rows{rest}: "
            text += "what that counts is pushed down." + ("" if task else " If it is a cost, that is meant.")
            onset = int(look.steps[0])
            return Signal(CRITICAL if task else NOTICE, text, ((look.reward, ""), (PARTS, name)), onset_step=onset)
    return None


def _adds_up(total: Floats, parts: Mapping[str, Floats]) -> bool:
    whole = sum(parts.values(), np.zeros(len(total)))
    size = max(float(np.abs(x).max()) for x in (total, *parts.values()))
    return bool((np.abs(total - whole) <= EXACT * size).all())

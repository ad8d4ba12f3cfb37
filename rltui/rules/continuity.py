"""Restarts."""

from __future__ import annotations

from math import sqrt

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import NOTICE, WARNING, Signal, num
from rltui.evidence.trends import sd_d
from rltui.rules.base import Memory, Params, rule


@rule("resume-discontinuity", Look)
def resume_discontinuity(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A restart within the window; a warning where reward, KL or gradient jump there."""
    rows = int(p["rows"])
    recent = look.restarts(rows)
    if not recent:
        return []
    step = recent[-1]
    jumps = []
    for name in (look.reward, "kl_ref", "grad_norm"):
        series = look.series(name)
        if series is None:
            continue
        at = int(np.searchsorted(series.steps, step))
        before, after = series.values[max(0, at - 5) : at], series.values[at : at + 5]
        noise = sd_d(series.values[max(0, at - 50) : at])
        if len(before) == 5 and len(after) == 5 and noise > 0:
            z = float(after.mean() - before.mean()) / (noise * sqrt(0.4))
            if abs(z) > p["z"]:
                jumps.append((name, f"jumps from {num(float(before.mean()))} to {num(float(after.mean()))}"))
    text = f"The run was resumed at step {step}. Of steps that are logged twice the later value counts."
    if jumps:
        text = f"The run was resumed at step {step}, and {jumps[0][0]} {jumps[0][1]} there."
    loop = len(recent) >= p["loop"]
    if loop:
        span = f"within {min(rows, look.n)} rows, last" if look.n > 1 else "and left one row, last"
        text = f"The run was restarted {len(recent)} times {span} at step {step}."
    level = WARNING if jumps or loop else NOTICE
    return [Signal(level, text, tuple(jumps) or ((look.reward, "continues"),), onset_step=step)]

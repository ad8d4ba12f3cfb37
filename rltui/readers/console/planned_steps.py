"""The steps of lines that state only their epoch, if the trainer states the planned steps.

HF's Trainer logs at a fixed interval of steps. If no bar is between its lines, their number and their epochs tell the
interval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan

from msgspec import Struct

from rltui.readers.rows import number

ROUNDED = 0.0055
"""Largest rounding error of an epoch, as it is printed with two decimals."""
NEAR = 0.01
"""Further tolerance, as a share of the whole: the last epoch may be shorter."""
RATE = 0.0005
"""Largest rounding error of steps per second, as they are printed with three decimals."""
SAID = ("max_steps", "num_train_epochs")
"""Settings that state the planned steps and epochs."""
FEWEST = 3
"""Fewest lines whose number tells the interval."""


class Plan(Struct, frozen=True):
    """The planned steps, as a range `least` to `most`, and the planned `epochs`, NaN if unknown. `over`: all lines of
    the training were written."""

    least: int
    most: int
    epochs: float = nan
    over: bool = False


def plan_of(config: Mapping[str, object]) -> Plan | None:
    """The plan in the settings that a trainer prints as it begins; None if they state none."""
    steps, epochs = (number(config.get(key)) for key in SAID)
    if steps is None or steps < 1 or not isfinite(steps):
        return None
    return Plan(int(steps), int(steps), epochs if epochs is not None and epochs > 0 else nan)


def plan_at_end(line: Mapping[str, object]) -> Plan | None:
    """The plan in the closing line of HF's Trainer; None if that lacks it. Time and rate are rounded, so it is a
    range."""
    time, rate = number(line.get("train_runtime")), number(line.get("train_steps_per_second"))
    epochs = number(line.get("epoch"))
    if time is None or rate is None or rate <= 0 or time <= 0:
        return None
    least, most = time * (rate - RATE), time * (rate + RATE)
    return Plan(max(1, int(least)), int(most) + 1, epochs or nan, over=True)


def steps_of(epochs: Sequence[float | None], plan: Plan) -> list[int] | None:
    """The steps of lines with these epochs; None if no interval or several fit. With `logging_first_step` the first
    step is 1."""
    n = len(epochs)
    if n < FEWEST:
        return None
    found = []
    for first in (False, True):
        lines = n - first
        for apart in range(1 + first, plan.most // max(1, lines) + 1):
            if plan.over and apart * (lines + 1) <= plan.least:
                continue
            steps = ([1] if first else []) + [apart * i for i in range(1, lines + 1)]
            if _fit(steps, epochs, plan):
                found.append(steps)
        if len(found) == 1:
            return found[0]
    return None


def rise_alike(steps: Sequence[int], epochs: Sequence[float | None]) -> bool:
    """Whether epochs rise as evenly as these steps, apart from rounding and from the last step of an epoch, which may
    be shorter. They do if they are too few or too coarse to tell."""
    known = [(step, epoch) for step, epoch in zip(steps, epochs, strict=True) if epoch is not None and step > 0]
    if not known:
        return True
    a_step = max(epoch for _, epoch in known) / max(step for step, _ in known)
    digits = max(len(repr(epoch).partition(".")[2]) for _, epoch in known)
    half = 0.5 * 10.0**-digits
    off = (half if digits > 2 else max(half, ROUNDED)) + a_step
    least = max((epoch * (1 - NEAR) - off) / step for step, epoch in known)
    most = min((epoch * (1 + NEAR) + off) / step for step, epoch in known)
    return least <= most


def _fit(steps: Sequence[int], epochs: Sequence[float | None], plan: Plan) -> bool:
    """Whether lines with these epochs can be at these steps."""
    if not plan.epochs > 0:
        return plan.over
    whole = (plan.least + plan.most) / 2
    spread = (plan.most - plan.least) / (2 * whole)
    return all(
        abs(step / whole - epoch / plan.epochs) <= ROUNDED / plan.epochs + (NEAR + spread) * step / whole
        for step, epoch in zip(steps, epochs, strict=True)
        if epoch is not None
    )

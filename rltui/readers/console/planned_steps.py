"""The steps of lines that state but the epoch that they are of, where the trainer says how many steps there are in all.

HF's Trainer logs every so many steps. Without a bar between its lines their number and epochs tell how many that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite, nan

from msgspec import Struct

from rltui.readers.rows import number

ROUNDED = 0.0055
"""By so much an epoch may be away from what it was: it is printed with two decimals."""
NEAR = 0.01
"""By such a part of all, too: the last round may be cut short."""
RATE = 0.0005
"""By so much steps a second may be away: they are printed with three decimals."""
SAID = ("max_steps", "num_train_epochs")
"""Settings that say how many steps and epochs there are in all."""
FEWEST = 3
"""Lines that tell anything by their number."""


class Plan(Struct, frozen=True):
    """The steps in all, as far as they are known: at `least`, at `most`; and the `epochs`, NaN if unknown. `over`: all
    lines of the training were written."""

    least: int
    most: int
    epochs: float = nan
    over: bool = False


def plan_of(config: Mapping[str, object]) -> Plan | None:
    """What settings say of the plan: those that a trainer shows as it begins."""
    steps, epochs = (number(config.get(key)) for key in SAID)
    if steps is None or steps < 1 or not isfinite(steps):
        return None
    return Plan(int(steps), int(steps), epochs if epochs is not None and epochs > 0 else nan)


def plan_at_end(line: Mapping[str, object]) -> Plan | None:
    """What the line says that HF's Trainer closes with: time and rate are rounded, and so is their product."""
    time, rate = number(line.get("train_runtime")), number(line.get("train_steps_per_second"))
    epochs = number(line.get("epoch"))
    if time is None or rate is None or rate <= 0 or time <= 0:
        return None
    least, most = time * (rate - RATE), time * (rate + RATE)
    return Plan(max(1, int(least)), int(most) + 1, epochs or nan, over=True)


def steps_of(epochs: Sequence[float | None], plan: Plan) -> list[int] | None:
    """The steps of lines of these epochs, None if several distances fit. With `logging_first_step` the first is 1."""
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


def _fit(steps: Sequence[int], epochs: Sequence[float | None], plan: Plan) -> bool:
    """Whether lines of these epochs are at these steps, as far as the epochs tell."""
    if not plan.epochs > 0:
        return plan.over
    whole = (plan.least + plan.most) / 2
    spread = (plan.most - plan.least) / (2 * whole)
    return all(
        abs(step / whole - epoch / plan.epochs) <= ROUNDED / plan.epochs + (NEAR + spread) * step / whole
        for step, epoch in zip(steps, epochs, strict=True)
        if epoch is not None
    )

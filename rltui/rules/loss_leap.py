"""A loss that jumps to another level from one row to the next, far beyond its noise: what it counts has changed."""

from __future__ import annotations

from math import inf

from rltui.evidence.effects import noise
from rltui.evidence.look import Look
from rltui.evidence.shifts import NEAR, Shift, around_a_step, step_between
from rltui.evidence.signal import EASED, WARNING, Signal, num
from rltui.rules.base import Memory, Params, held
from rltui.run.sums import median
from rltui.run.table import Series

NEWEST, LAST = 60, 5
"""Earlier rows that are searched again with the new ones, and the newest rows, which show the level."""
HOME = 0.25
"""A leap is the way back if it ends this close (as a share of its size) to the loss before the first leap."""


def loss_leap(look: Look, p: Params, memory: Memory) -> Signal | None:
    """The newest lasting leap of the loss by many times its noise. A policy that learns moves its loss slowly, and with
    group-centred advantages the loss stays about 0. `memory` keeps the leap, and how far the rows were searched."""
    name = "pg_loss" if look.series("pg_loss") is not None else "total_loss"
    series = look.series(name)
    if series is None or len(series) < p["rows"]:
        return None
    done = int(memory.get("searched", 0.0))
    memory["searched"] = float(len(series))
    found = _leap(series, max(int(p["side"]), min(done, len(series)) - NEWEST), p)
    if found is not None and found.step > memory.get("newest", -inf) + NEAR * look.facts.clock.stride:
        home, memory["newest"] = memory.get("home", found.before), float(found.step)
        memory["rows"] = float(look.n)
        if abs(found.after - home) >= HOME * abs(found.before - home):
            memory |= {"leap": float(found.step), "before": found.before, "after": found.after, "home": home}
    elif found is not None and "leap" in memory and look.n <= memory.get("rows", 0.0) + 2 * NEAR:
        memory |= {"leap": float(found.step), "before": found.before, "after": found.after}  # more rows estimate better
    if "leap" not in memory:
        return None
    before, after, step = memory["before"], memory["after"], int(memory["leap"])
    known = held(look, "pg-loss-shape", WARNING)
    newest = series.values[int(series.steps.searchsorted(step)) :][-NEAR:]
    back = (median(newest) - before) / (after - before) < 0.5
    if back:
        for key in ("leap", "before", "after"):  # `home` stays known: the way back is not a leap
            del memory[key]
        if not known:
            return None
    text = f"The loss went from {num(before)} to {num(after)} at once at step {step}, far beyond its noise"
    text += " and is back." if back else ": what is counted in it is not what it was."
    level = EASED if back else WARNING
    return Signal(level, text, ((name, f"{num(before)} before, {num(after)} after"),), onset_step=step)


def _leap(series: Series, first: int, p: Params) -> Shift | None:
    """The clearest jump since a row, if it is far beyond the noise and a large factor."""
    at, to = int(series.steps[first]), int(series.steps[-LAST])
    part = around_a_step(series, at, to, 1.0 - 1.0 / p["leap_by"])
    found = None if part is None else step_between(part, at, to)
    if part is None or found is None:
        return None
    sd = noise(part.values[: int(part.steps.searchsorted(found.step))])
    small, large = sorted((abs(found.before), abs(found.after)))
    far = abs(found.after - found.before) >= p["leap"] * sd > 0.0 and large >= p["leap_by"] * max(small, sd)
    return found if far else None

"""Several metrics that jump at one step. Learning seldom does that; a change of code, data, settings or weights
does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import exp

import numpy as np
from msgspec.structs import replace

from rltui.evidence.look import Look
from rltui.evidence.shifts import Shift, around_steps, step_between
from rltui.evidence.signal import EASED, NOTICE, WARNING, Signal, num
from rltui.frameworks.load import metrics
from rltui.prose import listed
from rltui.rules.base import Memory, Params, held, rule
from rltui.run.sums import median
from rltui.run.table import Series

ASPECTS = {
    "kl_ref": "distance",
    "ppo_kl": "update",
    "clip_frac": "update",
    "grad_norm": "gradient",
    "entropy": "entropy",
    "response_length_mean": "length",
    "response_clip_ratio": "length",
    "score_mean": "reward",
    "reward_mean": "reward",
    "reward_std": "reward",
}
"""The aspect that each metric measures. Two metrics of one aspect jump together by definition and count once."""
EVERY, NEWEST, LAST = 8, 15, 5
"""Rows from one search to the next; the rows before them that each search covers again; and the last rows, which it
leaves out because they show the level."""


@rule("sudden-change", Look)
def sudden_change(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Three aspects of the training went to another level at the same row and stay there. Only a note if the reward
    rose with them. `memory` keeps the step, and for each metric the levels before and after."""
    fresh = look.n - int(memory.get("sought", 0.0))
    if fresh >= EVERY:
        memory["sought"] = float(look.n)
        found = _jumps(look, p, fresh, memory.get("known", -1.0))
        if len(_aspects(found)) >= max(p["aspects"], len(_standing(look, memory)) + 1):
            back = _goes_back(found, memory)
            step = float(min(shift.step for shift in found.values()))
            for name in [key for key in memory if key != "sought"]:
                del memory[name]
            memory["known"] = step
            if not back:
                memory["step"] = step
                for name, shift in found.items():
                    memory[f"{name} before"], memory[f"{name} after"] = shift.before, shift.after
    if "step" not in memory:
        return []
    step, stays = int(memory["step"]), _standing(look, memory)
    eased = len(stays) < p["aspects"] - (1 if held(look, "sudden-change") else 0)
    if eased and not held(look, "sudden-change"):
        return []
    level = EASED if eased else NOTICE if _better(look, step, p) else WARNING
    names = [name for name in ASPECTS if f"{name} before" in memory]
    moved = [f"{metrics()[n].label} ({num(memory[f'{n} before'])} → {num(memory[f'{n} after'])})" for n in names]
    text = f"At step {step} {listed(moved)} went to another level at once, which learning seldom does."
    return [Signal(level, text, tuple((name, "at once") for name in names), onset_step=step)]


def _better(look: Look, step: int, p: Params) -> bool:
    """Whether the reward is clearly higher right after the step: the policy may have found out how to do the task."""
    series = look.series(look.reward)
    at = 0 if series is None else int(series.steps.searchsorted(step))
    if series is None or not 0 < at < len(series):
        return False
    before, now = median(series.values[max(0, at - 2 * LAST) : at]), median(series.values[at : at + 2 * LAST])
    return now - before >= p["by"] * look.profile.spread


def _jumps(look: Look, p: Params, fresh: int, known: float) -> dict[str, Shift]:
    """The largest set of jumps at one row among the newest rows, `fresh` of which were not searched yet. Each jump is a
    good part of its level, and none is near the step of the `known` one."""
    found: dict[str, tuple[int, Shift]] = {}
    for same in _in_the_same_rows(look, int(p["warmup"]) + LAST):
        steps = next(iter(same.values())).steps
        first, last = int(steps[max(int(p["warmup"]), len(steps) - NEWEST - fresh)]), int(steps[-LAST])
        around = around_steps(list(same.values()), first, last, p["by"])
        for name, part in zip(same, around, strict=True):
            shift = None if part is None else _between(part, first, last)
            if shift is not None and shift.step > known + look.facts.clock.stride and _large(shift, p):
                found[name] = int(same[name].rows[steps.searchsorted(shift.step)]), shift
    most: dict[str, Shift] = {}
    ordered = {name: found[name] for name in ASPECTS if name in found}
    for row, _ in ordered.values():
        together = {name: shift for name, (at, shift) in ordered.items() if row <= at <= row + 1}
        if len(_aspects(together)) > len(_aspects(most)):
            most = together
    return most


def _in_the_same_rows(look: Look, least: int) -> list[dict[str, Series]]:
    """The metrics with at least `least` points, grouped by the rows in which they are logged."""
    out: list[dict[str, Series]] = []
    for name in ASPECTS:
        series = look.series(name)
        if series is None or len(series) < least:
            continue
        rows = series.rows
        for same in out:
            other = next(iter(same.values())).rows
            if len(other) == len(rows) and (len(rows) == look.n or np.array_equal(other, rows)):
                same[name] = series
                break
        else:
            out.append({name: series})
    return out


def _between(around: Series, first: int, last: int) -> Shift | None:
    """The clearest jump between two steps. Positive values are also tried by their logarithm, as their noise may
    grow with their level."""
    found = step_between(around, first, last)
    if found is not None or float(around.values.min()) <= 0.0:
        return found
    found = step_between(replace(around, values=np.log(around.values)), first, last)
    return None if found is None else Shift(found.step, exp(found.before), exp(found.after))


def _goes_back(found: Mapping[str, Shift], memory: Memory) -> bool:
    """Whether most metrics that jump went back to about their level before the known change."""
    known = [name for name in found if f"{name} before" in memory]
    back = [n for n in known if not _nearer(found[n].after, memory[f"{n} before"], memory[f"{n} after"])]
    return 2 * len(back) > len(found)


def _nearer(level: float, before: float, after: float) -> bool:
    """Whether a level is nearer to the one after a change than to the one before it."""
    return (level - before) / (after - before) >= 0.5


def _large(shift: Shift, p: Params) -> bool:
    return abs(shift.after - shift.before) >= p["by"] * max(abs(shift.before), abs(shift.after))


def _aspects(names: Iterable[str]) -> set[str]:
    return {ASPECTS[name] for name in names}


def _standing(look: Look, memory: Memory) -> set[str]:
    """The aspects with a metric that is nearer to its level after the jump than to the one before."""
    out = set()
    for name, aspect in ASPECTS.items():
        series = look.series(name)
        if f"{name} before" not in memory or series is None:
            continue
        if _nearer(median(series.values[-2 * LAST :]), memory[f"{name} before"], memory[f"{name} after"]):
            out.add(aspect)
    return out

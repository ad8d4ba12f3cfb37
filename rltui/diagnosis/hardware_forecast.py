"""What of the machine runs out, and when, if it goes on as now. Same test and error bars as `forecast`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import floor
from typing import Concatenate, ParamSpec

import numpy as np

from rltui.diagnosis.catalogue import rules
from rltui.diagnosis.forecast import SPANS, around, crossing, foretold
from rltui.diagnosis.measured import Measured, name
from rltui.diagnosis.model import Forecast
from rltui.diagnosis.signal import num
from rltui.diagnosis.trends import WINDOW
from rltui.hardware.base import Gpu
from rltui.run.checkpoints import Checkpoint
from rltui.run.table import Series

P = ParamSpec("P")


def hardware_forecasts(seen: Measured) -> tuple[Forecast, ...]:
    """Everything of the machine that can be foretold. Reads no clock."""
    if not len(seen.seen):
        return ()
    kill = rules()["host-ram-creep"].params["kill"].value
    found = [host_memory(seen, kill), disk_full(seen), *(gpu_memory(seen, gpu) for gpu in seen.gpus)]
    return tuple(f for f in found if f is not None)


def soonest(found: Sequence[Forecast]) -> tuple[Forecast, ...]:
    """Of each kind the one that comes first, with how many more there are."""
    out = []
    for what in dict.fromkeys(f.what for f in found):
        same = sorted((f for f in found if f.what == what), key=lambda f: f.at)
        more = f"; {len(same) - 1} more later" if len(same) > 1 else ""
        out.append(replace(same[0], text=same[0].text + more))
    return tuple(out)


def _once(
    ask: Callable[Concatenate[Measured, P], Forecast | None],
) -> Callable[Concatenate[Measured, P], Forecast | None]:
    """Asked by rules and for the screen alike, worked out once a look."""

    def answer(seen: Measured, /, *of: P.args, **named: P.kwargs) -> Forecast | None:
        key = (ask.__name__, *of)
        if key not in seen.foretold:
            seen.foretold[key] = ask(seen, *of, **named)
        return seen.foretold[key]

    return answer


@_once
def host_memory(seen: Measured, share: float) -> Forecast | None:
    """Step at which the host's memory reaches `share` of its limit, where Ray begins to kill."""
    series, total = seen.ram, seen.host.ram_total_gb if seen.host is not None else None
    if series is None or total is None:
        return None
    return _reaches("host memory", series, share * total, seen, "host memory", f"{num(share * 100)} % of the limit")


@_once
def gpu_memory(seen: Measured, gpu: Gpu) -> Forecast | None:
    """Step at which the peak of a GPU's memory reaches what it has."""
    series, total = seen.gpu_memory(gpu), capacity(seen, gpu)
    if total is None:
        return None
    return _reaches("GPU memory", series, total, seen, f"memory of {name(gpu)}", "all it has", name(gpu))


@_once
def disk_full(seen: Measured) -> Forecast | None:
    """Step at which the disk of the checkpoints is full: as its free space falls, else by checkpoints of the usual
    size at the usual distance. None where old ones are cleared away or where it lasts to the end of the plan."""
    if len(seen.free):
        falling = _reaches("disk", seen.free, 0.0, seen, "free disk", "nothing")
        if falling is not None:
            return falling
    sizes, every, now = saves(seen)
    left = free_now(seen)
    if not left or not sizes or every is None or now is None:
        return None
    middle = float(np.median(sizes))
    at, low, high = (float(now + every * floor(left / size + 1)) for size in (middle, max(sizes), min(sizes)))
    if seen.planned is None or at > seen.planned:
        return None
    text = f"{num(left)} GB free hold {floor(left / middle)} checkpoints of {num(middle)} GB"
    text += f": full at step {at:.0f} ({low:.0f} to {high:.0f})"
    return foretold("disk", "free disk", at, low, high, len(sizes), text)


def saves(seen: Measured) -> tuple[list[float], float | None, int | None]:
    """Sizes (GB) of whole checkpoints, the steps between two, the newest one's step. No distance where some were
    cleared away: then they take no more room than now."""
    whole: list[Checkpoint] = [c for c in seen.checkpoints if c.size_gb and c.complete is not False]
    steps = [c.step for c in whole]
    gaps = np.diff(steps)
    if not len(gaps) or steps[0] >= 2 * float(np.median(gaps)):  # the first ones are gone
        return [c.size_gb for c in whole if c.size_gb], None, steps[-1] if steps else None
    return [c.size_gb for c in whole if c.size_gb], float(np.median(gaps)), steps[-1]


def capacity(seen: Measured, gpu: Gpu) -> float | None:
    return next((g.memory_total_gb for g in reversed(seen.of_gpu(gpu)) if g.memory_total_gb), None)


def free_now(seen: Measured) -> float | None:
    """GB free by the newest sample that tells."""
    told = seen.recent.host["free_gb"]
    told = told[np.isfinite(told)]
    return float(told[-1]) if len(told) else None


def drift(series: Series) -> float:
    """How much higher the newer half of the newest points lies than the older one: half of what a straight line
    climbs over all of them."""
    x = series.values[-WINDOW:]
    half = len(x) // 2
    return float(x[half:].mean() - x[:half].mean()) if half else 0.0


def _moves(series: Series, level: float) -> bool:
    """Whether the level may come in sight at all, told at little cost: within three times the points that show it, a
    line must have climbed a third of the way by now. Half of that leaves room for noise."""
    return len(series) > 0 and drift(series) / (level - float(series.values[-1]) or 1.0) > 1 / (4 * SPANS)


def _reaches(
    what: str, series: Series, level: float, seen: Measured, named: str, end: str, subject: str | None = None
) -> Forecast | None:
    found = crossing(series, level, seen.planned) if _moves(series, level) else None
    if found is None:
        return None
    at, low, high, rows = found
    now = num(float(np.median(series.values[-10:])))
    text = f"{named} {now} → {num(level)} GB, {end}, {around(at, low, high, rows)}"
    return foretold(what, series.key, at, low, high, rows, text, subject)

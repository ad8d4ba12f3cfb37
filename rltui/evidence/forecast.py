"""What will come if the last rows go on as they are: the end of the run, entropy at its floor, responses at their
limit.

A forecast is not a finding: it extrapolates a trend and does not claim that the trend will hold. It is made only if the
rules' trend test finds a trend, and its error bars are those of the fitted slope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from pathlib import Path
from typing import Concatenate, Literal, ParamSpec

import numpy as np
from msgspec.structs import replace

from rltui.data_files import Record, kept, read
from rltui.evidence.beside_rows import Measured, name
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import Forecast
from rltui.evidence.signal import num
from rltui.evidence.trends import WINDOW, theil_sen, trend
from rltui.hardware.base import Gpu
from rltui.plots.numbers import duration
from rltui.run.checkpoints import Checkpoint
from rltui.run.sums import mean, median
from rltui.run.table import Floats, Series

BLOCKS = 12  # means that are fitted: neighbouring rows are correlated, blocks are nearly independent
SLOWER = 1 / 3  # share of the slope of all rows, below which the newest ones are level
LEAST_NEWEST = 20
SPANS = 3.0  # a trend is extrapolated over at most this many times the rows that show it


class KnownForecast(Record):
    """What is known of a kind of forecast; see `Forecast`."""

    unit: Literal["s", "step"]
    would_change: str


@kept
def _known() -> dict[str, KnownForecast]:
    return read(Path(__file__).with_name("data") / "forecasts.json", dict[str, KnownForecast])


def foretold(
    what: str, metric: str, at: float, low: float, high: float | None, rows: int, text: str, subject: str | None = None
) -> Forecast:
    """A forecast with what is known of its kind."""
    known = _known()[what]
    return Forecast(what, metric, at, low, high, rows, text, known.unit, known.would_change, subject)


def forecasts(look: Look, floor: float | None, guard: Guard) -> tuple[Forecast, ...]:
    """All forecasts from these rows. `floor`: the entropy below which nothing is explored, None if it is not known.
    Reads no clock."""
    found = [
        guard.ask("forecast of the end", None, end_of_run, look),
        guard.ask("forecast of entropy", None, entropy_floor, look, floor),
        guard.ask("forecast of length", None, length_limit, look),
    ]
    return tuple(f for f in found if f is not None)


def end_of_run(look: Look) -> Forecast | None:
    """Time to the planned end (`facts.pace`); None without a plan, steps left, or enough rows to show its error."""
    pace = look.facts.pace
    if pace is None or pace.left_s is None or pace.low_s is None or pace.high_s is None:
        return None
    left = pace.steps_left or 0
    text = (
        f"{left} step{'s' if left > 1 else ''} left, {duration(pace.left_s)} (±{duration(pace.high_s - pace.left_s)}) "
    )
    text += f"at the pace of the last {pace.rows} rows"
    return foretold("end", "time_per_step_s", pace.left_s, pace.low_s, pace.high_s, pace.rows, text)


def entropy_floor(look: Look, floor: float | None) -> Forecast | None:
    """The step at which entropy reaches `floor` nats. Entropy decays, so its logarithm is extrapolated."""
    series = look.series("entropy")
    if floor is None or series is None or look.weighed("entropy") or not (series.values > 0).all():
        return None
    logs = Series(series.key, series.steps, np.log(series.values), series.rows, series.times)
    found = crossing(logs, float(np.log(floor)), look.settings.planned_steps)
    if found is None:
        return None
    at, low, high, rows = found
    text = f"entropy {num(median(series.values[-10:]))} → {num(floor)} nats {around(at, low, high, rows)}"
    return foretold("entropy", "entropy", at, low, high, rows, text)


def length_limit(look: Look) -> Forecast | None:
    """The step at which the mean response is as long as the limit allows; most answers are cut well before."""
    series, limit = look.series("response_length_mean"), look.settings.length_cap
    if series is None or limit is None:
        return None
    found = crossing(series, limit, look.settings.planned_steps)
    if found is None:
        return None
    at, low, high, rows = found
    now = num(median(series.values[-10:]))
    text = f"mean response {now} → {num(limit)} tokens, the limit, {around(at, low, high, rows)}"
    return foretold("length", "response_length_mean", at, low, high, rows, text)


def crossing(series: Series, level: float, planned: int | None) -> tuple[float, float, float | None, int] | None:
    """The step (estimate, earliest, latest, rows it rests on) at which the fitted line meets the level. None if there
    is no trend towards it, or if it lies beyond the plan or three times the rows that show the trend."""
    x, t = series.values[-WINDOW:], series.steps[-WINDOW:].astype(np.float64)
    seen = trend(x)
    if seen.direction == 0:
        return None
    middle, now = float(t.mean()), float(t[-1])
    ahead = level - float(x.mean())
    if seen.direction * ahead <= 0 or seen.direction * (level - median(x[-10:])) <= 0:  # it is there already
        return None
    slope, slow, fast = theil_sen(t, x, BLOCKS)
    if slope * seen.direction <= 0 or _levelled(t, x, slope):
        return None
    if seen.direction < 0:
        slow, fast = fast, slow
    at, low = middle + ahead / slope, middle + ahead / fast
    high = middle + ahead / slow if slow * seen.direction > 0 else None
    horizon = now + SPANS * (now - float(t[0]))
    if at <= now or at > (horizon if planned is None else min(horizon, planned)):
        return None
    return at, max(now, low), high, len(x)


def _levelled(t: Floats, x: Floats, slope: float) -> bool:
    """Whether the newest quarter of the rows moves much more slowly than all of them: the line is then no
    longer valid."""
    newest = max(LEAST_NEWEST, len(x) // 4)
    return len(x) > newest and theil_sen(t[-newest:], x[-newest:], BLOCKS)[0] / slope < SLOWER


def around(at: float, low: float, high: float | None, rows: int) -> str:
    until = f"{low:.0f} to {high:.0f}" if high is not None else f"{low:.0f} or much later"
    return f"at about step {at:.0f} ({until}), if it goes on as over the last {rows} rows"


P = ParamSpec("P")


def hardware_forecasts(seen: Measured, kill: float | None, guard: Guard) -> tuple[Forecast, ...]:
    """All forecasts about the machine. `kill`: the share of the host's memory at which processes are killed. Reads no
    clock."""
    if not len(seen.seen):
        return ()
    found = [
        guard.ask("forecast of host memory", None, host_memory, seen, kill) if kill is not None else None,
        guard.ask("forecast of disk", None, disk_full, seen),
        *(guard.ask("forecast of GPU memory", None, gpu_memory, seen, gpu) for gpu in seen.gpus),
    ]
    return tuple(f for f in found if f is not None)


def soonest(found: Sequence[Forecast]) -> tuple[Forecast, ...]:
    """The first forecast of each kind, with the number of further ones."""
    out = []
    for what in dict.fromkeys(f.what for f in found):
        same = sorted((f for f in found if f.what == what), key=lambda f: f.at)
        more = f", and {len(same) - 1} more later" if len(same) > 1 else ""
        out.append(replace(same[0], text=same[0].text + more))
    return tuple(out)


def _once(
    ask: Callable[Concatenate[Measured, P], Forecast | None],
) -> Callable[Concatenate[Measured, P], Forecast | None]:
    """Computes a forecast once per look, as both rules and the screen ask for it."""

    def answer(seen: Measured, /, *of: P.args, **named: P.kwargs) -> Forecast | None:
        key = (ask.__name__, *of)
        if key not in seen.foretold:
            seen.foretold[key] = ask(seen, *of, **named)
        return seen.foretold[key]

    return answer


@_once
def host_memory(seen: Measured, share: float) -> Forecast | None:
    """The step at which the host's memory reaches `share` of its limit, at which Ray begins to kill."""
    series, total = seen.ram, seen.host.ram_total_gb if seen.host is not None else None
    if series is None or total is None:
        return None
    return _reaches("host memory", series, share * total, seen, "host memory", f"{num(share * 100)} % of the limit")


@_once
def gpu_memory(seen: Measured, gpu: Gpu) -> Forecast | None:
    """The step at which the peak of a GPU's memory reaches its capacity."""
    series, total = seen.gpu_memory(gpu), capacity(seen, gpu)
    if total is None:
        return None
    return _reaches("GPU memory", series, total, seen, f"memory of {name(gpu)}", "all it has", name(gpu))


@_once
def disk_full(seen: Measured) -> Forecast | None:
    """The step at which the disk of the checkpoints is full: as its free space falls, else by checkpoints of the usual
    size at the usual distance. None if old ones are cleared away or if the space lasts to the end of the plan."""
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
    """Sizes (GB) of complete checkpoints, the steps between two, and the newest one's step. The distance is None if
    some were cleared away: they then never take more room than now."""
    whole: list[Checkpoint] = [c for c in seen.checkpoints if c.size_gb and c.complete is not False]
    steps = [c.step for c in whole]
    gaps = np.diff(steps)
    if not len(gaps) or steps[0] >= 2 * float(np.median(gaps)):  # the first ones are gone
        return [c.size_gb for c in whole if c.size_gb], None, steps[-1] if steps else None
    return [c.size_gb for c in whole if c.size_gb], float(np.median(gaps)), steps[-1]


def capacity(seen: Measured, gpu: Gpu) -> float | None:
    return next((g.memory_total_gb for g in reversed(seen.of_gpu(gpu)) if g.memory_total_gb), None)


def free_now(seen: Measured) -> float | None:
    """GB free according to the newest sample that has the number."""
    told = seen.recent.host["free_gb"]
    told = told[np.isfinite(told)]
    return float(told[-1]) if len(told) else None


def drift(series: Series) -> float:
    """How much higher the newer half of the newest points lies than the older one: half of what a straight line climbs
    over all of them."""
    x = series.values[-WINDOW:]
    half = len(x) // 2
    return mean(x[half:]) - mean(x[:half]) if half else 0.0


def _moves(series: Series, level: float) -> bool:
    """Whether the level may come within reach at all, checked at little cost: it must be reached within three times the
    points that show it, so a line must have climbed a third of the way by now. Half of that leaves room for noise."""
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

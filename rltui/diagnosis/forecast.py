"""What comes if it goes on as over the last rows: end of the run, entropy at its floor, responses at their limit.

A forecast is no finding: it continues a course, it does not say that the course will hold. It speaks only where the
trend test of the rules sees a course, and its error bars are those of the fitted slope.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from math import sqrt

import numpy as np

from rltui.diagnosis.catalogue import Rule
from rltui.diagnosis.look import Look
from rltui.diagnosis.model import Forecast
from rltui.diagnosis.signal import num
from rltui.diagnosis.trends import WINDOW, standard_error, theil_sen, trend
from rltui.run.medians import median
from rltui.run.table import Series

BLOCKS = 12  # means that are fitted: neighbouring rows are alike, blocks are nearly independent
MIDDLE_90 = 1.645  # sd of a normal distribution
SPANS = 3.0  # a course is continued over at most so many times the rows that show it
PACE_ROWS = 50  # newest steps that tell the pace
LEAST_PACE = 5


@cache
def _known() -> dict[str, dict[str, str]]:
    data: dict[str, dict[str, str]] = json.loads(
        files("rltui.diagnosis").joinpath("data/forecasts.json").read_text(encoding="utf-8")
    )
    return data


def foretold(
    what: str, metric: str, at: float, low: float, high: float | None, rows: int, text: str, subject: str | None = None
) -> Forecast:
    """A forecast with what is known of its kind."""
    return Forecast(what, metric, at, low, high, rows, text, **_known()[what], subject=subject)


def forecasts(look: Look, catalogue: Mapping[str, Rule]) -> tuple[Forecast, ...]:
    """Everything that can be foretold from these rows. Reads no clock."""
    floor = catalogue["entropy-collapse"].params["floor"].value
    found = [end_of_run(look), entropy_floor(look, floor), length_limit(look)]
    return tuple(f for f in found if f is not None)


def end_of_run(look: Look) -> Forecast | None:
    """Seconds to the planned end at the recent pace; None without a plan, a step time or steps left."""
    seconds = look.series("time_per_step_s")
    planned = look.settings.planned_steps
    left = 0 if planned is None else planned - look.step
    if seconds is None or left <= 0 or len(seconds) < LEAST_PACE:
        return None
    recent = seconds.values[-PACE_ROWS:]
    pace = float(recent.mean())  # not the median: checkpoints and validations come again
    error = MIDDLE_90 * sqrt(standard_error(recent) ** 2 + float(recent.var()) / left) * left
    at, low, high = left * pace, max(0.0, left * pace - error), left * pace + error
    text = f"{left} step{'s' if left > 1 else ''} left, {_time(at)} (±{_time(error)}) "
    text += f"at the pace of the last {len(recent)} steps"
    return foretold("end", "time_per_step_s", at, low, high, len(recent), text)


def entropy_floor(look: Look, floor: float) -> Forecast | None:
    """Step at which entropy reaches `floor` nats; it decays, so its logarithm is continued."""
    series = look.series("entropy")
    if series is None or not (series.values > 0).all():
        return None
    logs = Series(series.key, series.steps, np.log(series.values), series.rows, series.times)
    found = crossing(logs, float(np.log(floor)), look.settings.planned_steps)
    if found is None:
        return None
    at, low, high, rows = found
    text = f"entropy {num(median(series.values[-10:]))} → {num(floor)} nats {around(at, low, high, rows)}"
    return foretold("entropy", "entropy", at, low, high, rows, text)


def length_limit(look: Look) -> Forecast | None:
    """Step at which the mean response is as long as the limit allows; most answers are cut well before."""
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
    """Step (estimate, earliest, latest, rows it rests on) at which the fitted line meets the level; None where there
    is no trend towards it, or where it lies beyond the plan or three times the rows that show the trend."""
    x, t = series.values[-WINDOW:], series.steps[-WINDOW:].astype(np.float64)
    seen = trend(x)
    if seen.direction == 0:
        return None
    middle, now = float(t.mean()), float(t[-1])
    ahead = level - float(x.mean())
    if seen.direction * ahead <= 0:
        return None
    slope, slow, fast = theil_sen(t, x, BLOCKS)
    if slope * seen.direction <= 0:
        return None
    if seen.direction < 0:
        slow, fast = fast, slow
    at, low = middle + ahead / slope, middle + ahead / fast
    high = middle + ahead / slow if slow * seen.direction > 0 else None
    horizon = now + SPANS * (now - float(t[0]))
    if at <= now or at > (horizon if planned is None else min(horizon, planned)):
        return None
    return at, max(now, low), high, len(x)


def around(at: float, low: float, high: float | None, rows: int) -> str:
    until = f"{low:.0f} to {high:.0f}" if high is not None else f"{low:.0f} or much later"
    return f"at about step {at:.0f} ({until}), if it goes on as over the last {rows} rows"


def _time(seconds: float) -> str:
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 90:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes < 48 * 60 else f"{minutes / 1440:.1f} days"

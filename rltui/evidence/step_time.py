"""Why a step was slow, which part waits for which, and which phases take a different share of the step than before."""

from __future__ import annotations

from math import log

import numpy as np
from msgspec import Struct

from rltui.evidence.look import Look
from rltui.evidence.signal import num
from rltui.frameworks.load import phases
from rltui.plots.numbers import percent
from rltui.run.sums import median, sd
from rltui.run.table import Floats

BEFORE = 50  # rows before a step that show what is usual
LEAST = 10
SLOW = 1.3  # times the usual: below this is the spread of ordinary steps
MOSTLY = 0.7  # share of a slowdown, on a log scale, that one of the two explains
NOW = 20  # newest rows that show the present state
MARGIN = 0.05  # of the step, beyond what was ever usual: less is not worth reporting
DOUBT = 2.0  # standard errors between two windows of steps
MOST_LOG = 700.0  # beyond it numbers break
SELDOM = 0.5  # share of the extra time in a phase that most steps do not run: that phase is the reason
WAITS = 0.1  # share of the step: more waiting is worth reporting


class SlowStep(Struct, frozen=True):
    """Why the step took `ratio` times the usual seconds. `tokens` and `rate`: tokens and tokens/s relative to the usual
    ones (None: length is not logged). `phase` took `phase_share` of the extra seconds (None: phases are not logged)."""

    step: int
    seconds: float
    usual: float
    ratio: float
    tokens: float | None
    rate: float | None
    phase: str | None
    phase_share: float | None
    text: str


class Waits(Struct, frozen=True):
    """Shares of the step for which trainer and sampler wait for each other; None: not logged."""

    trainer: float | None
    sampler: float | None
    text: str
    metrics: tuple[str, ...] = ()  # the metrics that show it


class OwnShare(Struct, frozen=True):
    """The share of the step that a phase takes now, compared with the middle 80 % of this run's earlier steps."""

    phase: str
    share: float
    low: float
    high: float
    status: str  # "usual" | "high" | "low"


def typical(seconds: Floats) -> tuple[float, float]:
    """Mean and spread of the logarithms of these times."""
    logs = np.log(seconds[seconds > 0])
    return (float(np.add.reduce(logs)) / len(logs), sd(logs)) if len(logs) else (0.0, 0.0)


def slow_step(look: Look, step: int) -> SlowStep | None:
    """Why a step was slow: longer responses or fewer tokens a second, and the phase that grew. None for a step of usual
    time, or if too little is known of the steps before."""
    seconds = look.series("time_per_step_s")
    if seconds is None:
        return None
    at = int(np.searchsorted(seconds.steps, step))
    if at >= len(seconds) or int(seconds.steps[at]) != step or at < LEAST:
        return None
    row, now = int(seconds.rows[at]), float(seconds.values[at])
    usual = median(seconds.values[max(0, at - BEFORE) : at])
    if usual <= 0 or now < SLOW * usual:
        return None
    ratio = now / usual
    name = "total_tokens_step" if look.series("total_tokens_step") is not None else "response_length_mean"
    tokens = _against(look, name, row)
    rate = None if tokens is None else tokens / ratio
    phase, share = _grew(look, row, now - usual)
    seldom = phase is not None and share is not None and share >= SELDOM and not _usually_runs(look, phase, row)
    why = f"most steps have no {phases()[phase].label}" if phase and seldom else _why(tokens, rate, ratio)
    text = f"{num(now)} s, {num(ratio)} times the usual {num(usual)} s: {why}"
    if phase is not None and share is not None:
        text += f", with {percent(share)} of the extra time in {phases()[phase].label}"
    return SlowStep(step, now, usual, ratio, tokens, rate, phase, share, text)


def _why(tokens: float | None, rate: float | None, ratio: float) -> str:
    if tokens is None or rate is None or tokens <= 0:
        return "nobody can tell longer responses from fewer tokens/s, as no length is logged"
    longer, slower = f"{num(tokens)} times the tokens", f"{num(rate)} times the usual rate"
    explained = log(tokens) / log(ratio)
    if explained >= MOSTLY:
        return f"longer responses ({longer})"
    return f"fewer tokens/s ({slower})" if explained <= 1 - MOSTLY else f"longer responses ({longer}) at {slower}"


def _against(look: Look, name: str, row: int) -> float | None:
    """The value at a row relative to the median of the rows before it."""
    series = look.series(name)
    if series is None:
        return None
    at = int(np.searchsorted(series.rows, row))
    if at >= len(series) or int(series.rows[at]) != row or at < LEAST:
        return None
    usual = median(series.values[max(0, at - BEFORE) : at])
    return float(series.values[at]) / usual if usual > 0 else None


def _grew(look: Look, row: int, extra: float) -> tuple[str | None, float | None]:
    """The phase that took most of the extra seconds, and its share of them."""
    grown: dict[str, float] = {}
    for name in phases():
        series = look.series(f"phase:{name}") if name not in ("step", "other") else None
        if series is None:
            continue
        at = int(np.searchsorted(series.rows, row))
        if at < len(series) and int(series.rows[at]) == row:
            usual = median(series.values[max(0, at - BEFORE) : at]) if _usually_runs(look, name, row) else 0.0
            grown[name] = float(series.values[at]) - usual
    worst = max(grown, key=lambda n: grown[n], default=None)
    if worst is None or grown[worst] <= 0.3 * extra:
        return None, None
    return worst, min(1.0, grown[worst] / extra)


def _usually_runs(look: Look, phase: str, row: int) -> bool:
    """Whether most of the steps before a row ran the phase."""
    series = look.series(f"phase:{phase}")
    at = 0 if series is None else int(np.searchsorted(series.rows, row))
    if series is None or at < LEAST:
        return False
    values, past = series.values[max(0, at - BEFORE) : at], series.rows[max(0, at - BEFORE) : at]
    return row - int(past[0]) < 2 * len(past) and median(values) > 0.0


def waits(look: Look) -> Waits | None:
    """Which part waits for which, over the last rows; None if the run logs no waiting, as synchronous ones do not."""
    idle = look.values("trainer_idle_ratio")
    trainer, by = (
        (median(idle[-NOW:]), "trainer_idle_ratio") if len(idle) else _waited(look, look.dialect.waits.trainer)
    )
    sampler, sampler_by = _waited(look, look.dialect.waits.sampler)
    if trainer is None and sampler is None:
        return None
    parts = []
    if trainer is not None:
        parts.append(f"the trainer waits {percent(trainer)} of the step for rollouts")
    if sampler is not None:
        parts.append(f"rollouts wait {percent(sampler)} of it for weights")
    text = ", ".join(parts)
    most = max(trainer or 0.0, sampler or 0.0)
    if most < WAITS:
        text += ": neither holds the other up"
    else:
        text += f": {'generation' if (trainer or 0.0) >= (sampler or 0.0) else 'training'} is the bottleneck"
    return Waits(trainer, sampler, text, tuple(one for one in (by, sampler_by) if one))


def _waited(look: Look, keys: tuple[str, ...]) -> tuple[float | None, str]:
    """The share of the step that one of them waits, and the timer that shows it."""
    seconds = look.values("time_per_step_s")[-NOW:]
    for key in keys:
        waited = look.values(key)[-NOW:]
        if len(waited) and len(seconds) and median(seconds) > 0:
            return min(1.0, median(waited) / median(seconds)), key
    return None, ""


def own_shares(look: Look) -> tuple[OwnShare, ...]:
    """Every timed phase against its own earlier share; empty without enough steps or a timer of the step."""
    timed = (own_share(name, phase_share(look, name)) for name in phases() if name not in ("step", "other"))
    return tuple(share for share in timed if share is not None)


def own_share(phase: str, share: Floats) -> OwnShare | None:
    """The newest steps of a share by row against those before; None if there are too few."""
    if len(share) < 2 * NOW + LEAST:
        return None
    past = np.sort(share[LEAST:-NOW])
    low, high = float(past[len(past) // 10]), float(past[-1 - len(past) // 10])
    now = median(share[-NOW:])
    status = "high" if now > high + MARGIN else "low" if now < low - MARGIN else "usual"
    return OwnShare(phase, now, low, high, status)


def grown(share: Floats, now: float, by: float) -> bool:
    """Whether `own_share` may find `now` by this much above its band. It counts, which costs less than sorting."""
    past = share[LEAST:-NOW]
    return 10 * int(np.count_nonzero(past < now - 0.999 * by)) >= 9 * len(past)


def phase_share(look: Look, name: str) -> Floats:
    """Share of the step by row, over the newest rows (at most 500) that time both."""
    phase, step = look.series(f"phase:{name}"), look.series("time_per_step_s")
    if phase is None or step is None:
        return np.zeros(0)
    part, whole = phase.values[-500:], step.values[-500:]
    if len(phase) != len(step) or phase.rows[0] != step.rows[0] or phase.rows[-1] != step.rows[-1]:
        both = np.intersect1d(phase.rows[-500:], step.rows[-500:], assume_unique=True, return_indices=True)
        part, whole = part[both[1]], whole[both[2]]
    timed = whole > 0
    share: Floats = part[timed] / whole[timed]
    return share

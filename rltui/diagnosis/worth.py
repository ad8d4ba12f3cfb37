"""What is worth keeping, and what continuing is worth: the best checkpoint, and the expected gain up to the planned end
against the time and GPU hours left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from rltui.evidence.above_start import beats_start, least_gain, shows_gain
from rltui.evidence.effects import ROUNDING
from rltui.evidence.forecast import end_of_run
from rltui.evidence.look import Look
from rltui.evidence.model import BestCheckpoint, Finding
from rltui.evidence.ranking import Ranking, best_saved, peak, usable
from rltui.evidence.signal import num
from rltui.evidence.trends import WINDOW, theil_sen
from rltui.plots.numbers import duration, percent
from rltui.prose import capital
from rltui.rules.page import Rule
from rltui.rules.traits import Trait
from rltui.run.run import Checkpoint

LEAST = 4  # points that show a slope
RISK = {"info": 0.05, "warning": 0.3, "critical": 0.8}
"""The chance that the rest of the run loses rather than gains, by the worst open root. Engineering judgement."""


def best_checkpoint(
    r: Ranking | None,
    saved: Sequence[Checkpoint],
    last_step: int,
    broken_at: int | None,
    of_all: Ranking | None = None,
) -> BestCheckpoint | None:
    """The saved state whose smoothed score is best. None if nothing ranks the steps.

    Only states before `broken_at`, the onset of the worst fault, count. Without a usable checkpoint the best step is
    named: `on_disk` is False if some are saved but none is of use, and None if none is known. If the ranking `of_all`
    steps (None: that is `r`) would have named a later one, the result says so.
    """
    if r is None:
        return None
    of_all = of_all or r
    kept = usable(saved, last_step, broken_at)
    if not kept:
        at = peak(r, broken_at)
        before = broken_at if int(r.steps[at]) != int(of_all.steps[peak(of_all)]) else None
        return _told(r, at, int(r.steps[at]), None, False if saved else None, before)
    top = best_saved(r, kept)
    before = broken_at if best_saved(of_all, usable(saved, last_step, None)).step != top.step else None
    return _told(r, r.nearest(top.step), top.step, top.path, top.complete, before)


def _told(r: Ranking, at: int, step: int, path: str | None, on_disk: bool | None, before: int | None) -> BestCheckpoint:
    value, against = float(r.value[at]), ""
    least, shown, beats = least_gain(r), shows_gain(r, at), beats_start(r, at)
    if not beats:
        near = value >= 2 * r.start - least  # below the start by no more than would show a gain above it
        against = "not distinguishable from the start" if near else "no better than the start"
        if least >= 1.0 and r.value.min() >= 0.0 and r.value.max() <= 1.0:
            against += ", whose noise would hide even 1.0"
        elif least > r.start:
            against += f", where a mean of {num(least)} or more would show a gain"
    first = 0 if r.held_out else r.width // 2  # its mean holds rows that are no start: else there would be two starts
    if not beats and at <= first:
        against = "which is the start"
    unknown = ""
    if r.untrained is not None and r.above is not None and r.followed is not None:
        better = shown and r.untrained.moved > 0  # than an evaluation that was better than the start
        above, followed = bool(r.above[at]), bool(r.followed[at])
        beats, against = better or (above and followed), "" if better or above else "by train reward no better than it"
        unknown = "" if better else _unknown(r, r.untrained.moved, above, followed, step)
    limit = "" if before is None else f"of the steps before {before}, where the fault began"
    other = "which alone shows no gain, while the train reward had risen by then" if beats and not shown else ""
    no_start = "validation before training is not known" if unknown else ""
    basis = ", ".join(part for part in (r.basis, no_start or (other if r.held_out else ""), limit, against) if part)
    se = r.value_se if r.value_se > ROUNDING * abs(value) else None  # values that are all alike tell none
    logged = float(r.logged[at]) if r.logged is not None and int(r.steps[at]) == step else None
    return BestCheckpoint(step, path, on_disk, r.key, value, se, basis, beats, against, r.sets, before, unknown, logged)


def _unknown(r: Ranking, moved: int, above: bool, followed: bool, step: int) -> str:
    way = "risen" if moved > 0 else "fallen"
    counts = " that counts" if r.later else ""
    text = f"Validation before training is not known: by the first evaluation{counts}, that of step {int(r.steps[0])}, "
    text += f"the train reward had {way}"
    if not above:
        return f"{text}, and at step {step} it is not above its start"
    return text if followed else f"{text}, and what it gained since does not show in validation"


class Worth(Struct, frozen=True):
    """What the next `ahead` steps (the steps left, at most as many as show the slope) are likely to bring.

    `gain` is in the metric's own unit, already discounted by `risk`; `low` and `high` are its middle 90 %. It is 0 if
    the metric falls or stands still. `hours`: wall time of all steps left; None without a step time.
    """

    metric: str
    gain: float
    low: float
    high: float
    risk: float
    steps: int
    ahead: int
    hours: float | None
    gpu_hours: float | None
    text: str


def worth(
    look: Look, active: Sequence[Finding], catalogue: Mapping[str, Rule], gpus: int | None = None
) -> Worth | None:
    """The outlook; None without a plan or with too few points. `gpus`: how many the run uses; None: unknown."""
    left = look.facts.clock.steps_left
    if not left:
        return None
    name = "val_score" if len(look.values("val_score")) >= LEAST else look.reward
    series = look.series(name)
    if series is None or len(series) < LEAST:
        return None
    recent = series.values[-max(LEAST, min(WINDOW, len(series) // 3)) :]
    steps = series.steps[-len(recent) :].astype(np.float64)
    slope, slow, fast = theil_sen(steps, recent)
    learning = [f.severity for f in active if f.root is None and Trait.COST_ONLY not in catalogue[f.id].traits]
    risk = max((RISK[s] for s in learning), default=RISK["info"])
    ahead = min(left, max(1, int(steps[-1] - steps[0])))
    room = _room(look, name, float(recent.mean()))
    gain, low, high = (min(room, max(0.0, s * ahead)) * (1.0 - risk) for s in (slope, slow, fast))
    end = end_of_run(look)
    hours = None if end is None else end.at / 3600
    gpu_hours = None if hours is None or gpus is None else hours * gpus
    all_left = f"{left} step{'s' if left > 1 else ''}"
    costs = f"all {left} cost" if left > 1 else "it costs"
    span = all_left if ahead == left else f"the next {ahead} of {left} steps"
    text = f"going on for {span} may bring {series.key} +{num(gain)} ({num(low)} to {num(high)})"
    if gain == 0 and fast < 0:
        text = f"going on for {all_left} brings nothing, as {series.key} falls at its recent course"
    elif gain == 0:
        text = f"going on for {all_left} brings {series.key} nothing at its recent course"
        text += f", at {percent(risk)} risk of a decline"
    else:
        text += f", with {percent(risk)} taken off for the risk of a decline"
    if name != "val_score":
        text += ", by train reward only as validation is not known"
    if gpu_hours is not None:
        text += f". {capital(costs)} {num(gpu_hours)} GPU hours"
    elif hours is not None:
        text += f". {capital(costs)} {duration(hours * 3600)}"
    return Worth(name, gain, low, high, risk, left, ahead, hours, gpu_hours, text)


def _room(look: Look, name: str, now: float) -> float:
    """How far the metric can still rise: up to the ceiling of the train reward, or without bound if that is unknown."""
    ceiling = look.profile.ceiling
    return max(0.0, ceiling - now) if name == look.reward and ceiling is not None else float("inf")

"""The critic: how much of the returns it explains, and its loss."""

from __future__ import annotations

from math import sqrt

import numpy as np
from msgspec import Struct

from rltui.evidence.look import Look
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import first_turn
from rltui.rules.base import Memory, Params, held, losing, loud, paying, rule, tail
from rltui.rules.gradient import recent_spikes
from rltui.rules.traits import Trait
from rltui.run.table import Floats, Ints, Series

BLOCK = 20
"""Rows of a level."""
TURN_ROWS = 400
"""Rows from the best level on in which the beginning of a decay is looked for."""
SIZES = (
    ("score_mean", ""),
    ("reward_mean", ""),
    ("reward_std", ""),
    ("score_max", "score_min"),
    ("reward_max", "reward_min"),
)
"""What shows how large rewards are: a metric, or the difference of two. Returns are left out: with a lambda below 1
they contain the critic's own values."""


@rule("critic-uninformative", Look)
def critic_uninformative(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Explained variance near or below 0 after the critic's warm-up. A gaining reward excuses a critic that is slow to
    learn, but not one that explained its returns and no longer does. `memory` keeps the step since which it does not.
    """
    series = look.series("vf_explained_var")
    if series is None or len(series) < p["warmup"]:
        return []
    explained = series.values
    now = tail(explained, 20)
    eased = now >= p["notice"]
    if eased:
        memory.clear()
        if not held(look, "critic-uninformative"):
            return []
    level = EASED if eased else NOTICE
    best, since = _best_before(look, series, p["good"])
    lost = not eased and since is not None and not _errs_as_before(look, since, best, now)
    if lost:
        memory["since"] = min(memory.get("since", np.inf), float(since or 0))
    still = len(explained) >= p["long"] and look.trend("vf_explained_var").direction <= 0
    useless = now <= (p["little"] if still else p["warn"])
    stands = _stands(look, p["warmup"])
    if useless and (lost or stands or not paying(look, "critic-uninformative")):
        level = CRITICAL if now < p["crit"] and losing(look) else WARNING
    worth = "helps little" if now > 0 else "is no better than a constant" if now == 0 else "only adds noise"
    text = (
        f"The critic explains {num(now)} of the variance of the returns (a constant: 0, all: 1): its baseline {worth}."
    )
    if lost:
        text += f" At its best it explained {num(best)}."
    if stands:
        text += " Its values average the same number to the last digit in every row: it is not trained."
    proofs = (("vf_explained_var", "median of its newest rows"),)
    onset = int(memory["since"]) if "since" in memory else None
    marks = (Mark.COSTS,) if useless else ()
    return [Signal(level, text, proofs, moved="vf_explained_var", onset_step=onset, marks=marks)]


def _errs_as_before(look: Look, step: int, best: float, now: float) -> bool:
    """Whether the critic errs about as much as when it explained most (`best`; `now`: what it explains now). Then the
    returns vary less, as in a task that is nearly solved, and there is less to explain. A critic that lost what it knew
    of the same returns would err more, by the share that it no longer explains; half of that, on a log scale, decides.
    """
    loss = look.series("vf_loss")
    at = 0 if loss is None else int(loss.steps.searchsorted(step, "right"))
    if loss is None or at < BLOCK or best >= 1.0:
        return False
    then = tail(loss.values[:at], BLOCK)
    return tail(loss.values, BLOCK) < then * sqrt((1.0 - now) / (1.0 - best))


def _stands(look: Look, rows: float) -> bool:
    """Whether the critic's values have been the same number in all rows, over many batches."""
    values = look.logged("value_mean")
    return values is not None and len(values) >= rows and bool((values.values == values.values[0]).all())


def _best_before(look: Look, series: Series, good: float) -> tuple[float, int | None]:
    """The best level of the explained variance, and the step at which it was lost. 0 and None if it was never good."""
    levels, first = _levels(look, "vf_explained_var")
    at = int(levels.argmax()) if len(levels) > 1 else 0
    if len(levels) < 2 or levels[at] < good:
        return 0.0, None
    return float(levels[at]), _turned(series, series.values, int(first[at]))


def _levels(look: Look, name: str) -> tuple[Floats, Ints]:
    """Medians of at least `BLOCK` rows each, blocked from the newest row back but in order of time, and the point at
    which each begins."""
    blocks = look.blocks(name)
    if blocks is None:
        return np.empty(0), np.empty(0, np.int64)
    each = -(-BLOCK // blocks.size)
    count, over = divmod(len(blocks.levels), each)
    if not count:
        return np.empty(0), np.empty(0, np.int64)
    ordered = np.sort(blocks.levels[over:].reshape(count, each), axis=1)
    levels: Floats = ordered[:, (each - 1) // 2] / 2.0 + ordered[:, each // 2] / 2.0
    return levels, (over + each * np.arange(count)) * blocks.size


def _turned(series: Series, x: Floats, first: int) -> int:
    """The step at which a metric turns away from the level that begins at point `first`."""
    return int(series.steps[first + first_turn(x[first : first + TURN_ROWS])[0]])


class _Growth(Struct, frozen=True):
    """A level that has been `times` as high as before since a step, beyond what larger rewards explain."""

    times: float
    before: float
    now: float
    since: int


@rule("value-loss-explosion", Look)
def value_loss_explosion(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The value loss is many times its own earlier level, or has spikes. Spikes are a warning if they repeat and the
    reward falls. `memory` holds the spikes, and the step since which the loss has grown."""
    grown = _grown(look, p, memory)
    if grown is not None:
        return [grown]
    spikes = recent_spikes(look, "vf_loss", memory, p["z"], p["factor"])
    if not spikes:
        return []
    level = NOTICE
    if losing(look) and len(spikes) >= p["count"]:
        level = CRITICAL if loud(look, Trait.COLLAPSE) else WARNING
    text = f"The value loss jumped {len(spikes)} time{'s' if len(spikes) > 1 else ''} in the last 50 rows."
    return [Signal(level, text, (("vf_loss", ""),), onset_step=min(spikes))]


def _grown(look: Look, p: Params, memory: Memory) -> Signal | None:
    found = _growth(look, p)
    ease = p["ease"] if "since" in memory and held(look, "value-loss-explosion", WARNING) else 1.0
    if found is None or found.times < p["noted"] * ease:
        memory.pop("since", None)
        return None
    memory["since"] = min(memory.get("since", np.inf), float(found.since))
    level = WARNING if found.times >= p["grown"] * ease else NOTICE
    if found.times >= p["huge"] and losing(look):
        level = CRITICAL

    def text() -> str:
        whole = num(found.now / found.before)
        said = f"The value loss grew from {num(found.before)} to {num(found.now)}, {whole} times its level before"
        said += f" and {num(found.times)} times what larger rewards explain." if num(found.times) != whole else "."
        values, rewards = look.values("value_mean"), look.values(look.reward)
        if len(values) and len(rewards):
            said += f" The critic's values average {num(tail(values, BLOCK))}, the rewards {num(tail(rewards, BLOCK))}."
        return said

    proofs = tuple(
        (name, "") for name in ("vf_loss", "critic_grad_norm", "value_mean") if look.series(name) is not None
    )
    return Signal(level, text, proofs, moved="vf_loss", hurt=look.reward, onset_step=int(memory["since"]))


def _growth(look: Look, p: Params) -> _Growth | None:
    """The greatest growth of the value loss over one of its levels after the warm-up. The loss is a mean of squares:
    rewards twice as large explain four times the loss."""
    series, warmup = look.series("vf_loss"), int(p["warmup"])
    if series is None or len(series) < warmup + 2 * BLOCK:
        return None
    levels, first = _levels(look, "vf_loss")
    levels, first = levels[first >= warmup], first[first >= warmup]
    if len(levels) < 2 or not (levels > 0).all() or levels[-1] < p["noted"] * p["ease"] * levels.min():
        return None
    times = levels[-1] / levels[:-1] / np.maximum(1.0, _larger(look, series.steps[first]) ** 2)
    at = int(times.argmax())
    logs = np.log(np.maximum(series.values, np.finfo(float).tiny))
    return _Growth(float(times[at]), float(levels[at]), float(levels[-1]), _turned(series, logs, int(first[at])))


def _larger(look: Look, steps: Ints) -> Floats:
    """How many times as large the rewards are now as they were at each of these steps, except the last one."""
    most = np.zeros(len(steps) - 1)
    for high, low in SIZES:
        top, begins = _levels(look, high)
        bottom = _levels(look, low)[0] if low else np.zeros(len(top))
        series = look.series(high)
        if series is None or not len(top) or len(top) != len(bottom):
            continue
        size = np.abs(top - bottom)
        then = size[np.maximum(0, series.steps[begins].searchsorted(steps[:-1], "right") - 1)]
        most = np.maximum(most, np.divide(size[-1], then, out=np.zeros(len(then)), where=then > 0))
    return most

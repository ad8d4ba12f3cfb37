"""Distance from the reference, judged by the gain that it brought."""

from __future__ import annotations

from math import hypot, inf, log, sqrt

import numpy as np

from rltui.evidence import words
from rltui.evidence.clock import capped, worth
from rltui.evidence.look import Look
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.trends import CLEAR, SHORT, carried, first_turn, flat, sd_d, theil_sen, trend
from rltui.prose import sentences
from rltui.rules.base import (
    Memory,
    Params,
    begins_with_the_run,
    farmed,
    gained,
    gaining,
    held,
    leapt,
    logged_for,
    losing,
    loud,
    newest,
    reward_course,
    rule,
    side_by_side,
    since,
    tail,
    told,
    validation,
    validation_lately,
    validation_over,
)
from rltui.rules.gains import gain_ended, gain_shows, paid_until, validation_gained
from rltui.rules.gradient import recent_spikes
from rltui.rules.traits import Trait
from rltui.run.sums import median
from rltui.run.table import Floats

STRETCHES = (1.0, 1.5, 2.0, 3.0)
"""Multiples of the window: the newest rows whose pace is compared with that of the rows before."""
LEAST_DOUBLING = 20
"""Fewest rows that show an exponential course."""
LEAST_PART = 5
"""Fewest rows in a quarter of the rows before."""


@rule("kl-spike-transient", Look)
def kl_spike_transient(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Spikes of the KL. Single spikes are harmless; repeated ones with damage beside them are not."""
    spikes = recent_spikes(look, "kl_ref", memory, p["k1"], p["factor"])
    if not spikes:
        return []
    harm = losing(look) or loud(look, Trait.UNSTABLE_UPDATE)
    level = NOTICE
    if harm and len(spikes) >= p["count"]:
        level = CRITICAL if loud(look, Trait.COLLAPSE) else WARNING
    steps = ", ".join(str(step) for step in spikes)
    return [Signal(level, f"KL to the reference jumped at step {steps}.", (("kl_ref", ""),), onset_step=min(spikes))]


@rule("kl-zero-unexpected", Look)
def kl_zero_unexpected(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """KL exactly 0 in a run whose KL term acts and whose weights move."""
    logged = look.logged("kl_ref")
    rows = int(p["n"])
    if logged is None or not look.settings.kl_coef or len(logged) < rows + p["warmup"]:
        return []
    gradient, rate = look.values("grad_norm"), look.values("lr")
    if not len(gradient) or tail(gradient, rows) <= 0 or (len(rate) and not (rate[-rows:] > 0).all()):
        return []
    if not (np.abs(logged.values[-rows:]) <= p["zero"]).all():  # NaN is not zero
        return []
    text = f"KL has been exactly 0 for {rows} rows although its coefficient is {num(look.settings.kl_coef)}."
    onset = int(logged.steps[since(np.abs(logged.values) <= p["zero"])])
    return [Signal(WARNING, text, (("kl_ref", "0"), ("grad_norm", "above 0")), onset_step=onset)]


def _per_token(look: Look) -> Floats:
    """KL in nats per token. A sum over the sequence is divided by the mean length."""
    if look.profile.kl_per_token:
        return look.values("kl_ref")
    kl, length = side_by_side(look, "kl_ref", "response_length_mean")
    return kl / np.maximum(length, 1.0)


@rule("kl-up-reward-flat", Look)
def kl_up_reward_flat(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """KL rises over a window in which neither reward nor validation gains. `memory` keeps the step where it began."""
    kl = _per_token(look)
    reward = look.values(look.reward)
    rows = int(
        max(SHORT, worth(p["window_rows"], len(kl)), p["window_share"] * len(kl))
    )  # fewer rows cannot show that there is no gain
    if len(kl) < rows + capped(p["warmup"], len(kl)) or len(reward) < rows:
        return []
    window = min(rows, 200)
    level = tail(kl, 10)
    if level < p["min_kl"]:
        return []
    if level < p["min_kl_young"] and len(kl) < p["young_rows"] and not _ever_gained(look, p):
        return []
    first = tail(kl[: len(kl) - rows + 10], 10)
    known = held(look, "kl-up-reward-flat")
    if not known and level < p["rise"] * first:
        return []
    course = trend(kl, window).direction
    if course < 0 or not (course or known):
        return []  # a KL that stays far away still counts if reported before; one that comes back is over
    way = look.trend(look.reward, window)
    held_out = validation_over(look, rows)
    gain = way.direction > 0 or gaining(look, rows, p["reward_se"]) or (held_out is not None and held_out >= 1.0)
    gain = gain or _gains_slowly(look, rows, p["reward_se"]) or _may_go_on(look, rows, p["reward_se"])
    still = flat(way, p["flat"]) or (way.direction <= 0 and look.facts.errors(look.reward, rows) < 1.0)
    if gain or not still:
        return []
    worse = validation_lately(look) < 0 or loud(look, Trait.VALIDATION_FALLS)
    falls = look.facts.errors(look.reward, rows) <= -2.0
    reward_did = "fell" if falls else "did not gain"
    summary = f"KL to the reference rose from {num(first)} to {num(level)} over the last {rows} rows "
    summary += f"(medians at both ends), in which the reward {reward_did}."
    if course <= 0 or level <= first:
        summary = f"KL to the reference stands at {num(level)}, and the reward {reward_did} over the last {rows} rows."
    proofs = [("kl_ref", "")]
    proofs.append((look.reward, f"fitted change {num(way.total)} against a noise of {num(way.noise)}"))
    if look.series("val_score") is not None:
        proofs.append(("val_score", "falls" if worse else "no gain"))
    level_now = CRITICAL if worse else WARNING
    if _ever_gained(look, p):  # the reward rose before, and the KL too
        began = max(_set_out(look, rows), paid_until(look) or 0)
        if known:  # the window moves with the run; a steady rise in it has no new beginning
            began = min(began, int(memory.get("began", began)))
        memory["began"] = float(began)
        return [Signal(level_now, summary, tuple(proofs), onset_step=began)]
    return [Signal(level_now, summary, tuple(proofs), moved="kl_ref")]


def _ever_gained(look: Look, p: Params) -> bool:
    """Whether the reward is or was above its start."""
    return look.facts.errors(look.reward) >= p["reward_se"] or paid_until(look) is not None


def _set_out(look: Look, rows: int) -> int:
    """The step within the newest `rows` rows at which KL began to rise. The first of them if it rose all along."""
    kl = look.series("kl_ref")
    if kl is None:
        return look.step
    newest = kl.values[-rows:]
    at, clear = first_turn(newest)
    return int(kl.steps[len(kl) - len(newest) + (at if clear >= CLEAR else 0)])


def _gains_slowly(look: Look, rows: int, errors: float) -> bool:
    """Whether the reward gained over twice the window, and the window does not differ from the one before it: a gain
    too slow to show in one of them has not ended."""
    found = look.facts.metric(look.reward)
    if found is None or len(found.series) < 2 * rows or farmed(look):
        return False
    now, both = found.over(rows), found.over(2 * rows)
    if now is None or both is None or both.errors < errors:
        return False
    return both.value - 2 * now.value < errors * hypot(both.se, 2 * now.se)


def _may_go_on(look: Look, rows: int, errors: float) -> bool:
    """Whether the reward gained before, and half of that pace is within the error of each newest stretch. A slow or
    noisy run is not flat just because its newest rows are too few to show a gain. A longer stretch shows what a short
    one cannot."""
    found = look.facts.metric(look.reward)
    if found is None or farmed(look):
        return False
    paced = False
    for times in STRETCHES:
        newest = int(times * rows)
        before, x = found.values[:-newest], found.values[-newest:]
        part = len(before) // 4
        if part < LEAST_PART:
            break
        gained = float(before[-part:].mean() - before[:part].mean())
        if gained <= errors * sd_d(before) * sqrt(2.0 / part):
            break  # a longer stretch leaves fewer rows that show the pace
        paced = True
        slope, se = _slope(x)
        if slope + errors * se < gained / (len(before) - part) / 2.0:
            return False
    return paced


def _slope(x: Floats) -> tuple[float, float]:
    """Least-squares slope per row and its standard error, widened by the noise that carries over from row to row."""
    t = np.arange(len(x)) - (len(x) - 1) / 2.0
    slope = float(t @ x / (t @ t))
    rest = x - x.mean() - slope * t
    squares = float(rest @ rest)
    if squares == 0.0:
        return slope, 0.0
    rho = carried(rest, squares)
    return slope, sqrt(squares / (len(x) - 2) / float(t @ t) * (1.0 + rho) / (1.0 - rho))


@rule("kl-runaway", Look)
def kl_runaway(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """KL is high without a gain that pays for it, or it doubles too fast."""
    kl = _per_token(look)
    if not len(kl) or not logged_for(look, "kl_ref", p["warmup"]):
        return []
    level = tail(kl, 10)
    eased = level <= p["notice"]
    if (eased and not held(look, "kl-runaway")) or not _left_its_start(look, kl, level, p):
        return []
    window = int(p["window"])
    held_out = validation(look)
    verified = held_out is not None and held_out >= p["gain_se"]
    fallen = loud(look, Trait.COLLAPSE)
    grown = not fallen or _grown_when_it_fell(look, level, p)  # else the gain paid for it until something else broke
    rose = gained(look, p["gain_se"]) or (farmed(look) and look.facts.errors(look.reward) >= p["gain_se"])
    ever = (rose and not fallen) or not grown  # another rule reports a gamed reward
    unpaid = not ever and not verified
    collapsed = fallen and grown and level > p["warn"]

    def doubling() -> float | None:
        late = kl[-min(window, max(LEAST_DOUBLING, len(kl) // 2)) :]  # a power law has another slope at its start
        return _doubling(late, _soonest(look, len(kl), p))

    grew = _grew_since(look, kl, level, p) if look.profile.kl_unit_known else None  # every KL doubles at first
    ended = grew is not None and gain_ended(look, grew)
    extreme = _extreme(look, p) if look.profile.kl_unit_known else inf
    borne_out = verified and validation_lately(look) >= 0  # no harm now, however far the policy is
    unpaid_for_long = not ever and len(kl) >= window  # fewer rows cannot show that there is no gain
    out = NOTICE
    if (
        (level > extreme and not borne_out)
        or (ended and level > p["high"] and not leapt(kl, level))
        or (unpaid and (level > p["high"] or doubling() is not None))
        or collapsed
    ):
        out = CRITICAL
    elif not verified and (
        (level > p["high"] and look.profile.kl_unit_known) or (unpaid_for_long and level > p["warn"])
    ):
        lately = ever and gaining(look, window, p["gain_se"])
        late = min(200, max(LEAST_DOUBLING, len(kl) // 2))  # the rise from 0 at the start does not count
        rise = trend(kl, window if ever else late)  # a KL that was paid for is compared over as many rows
        if not lately and rise.direction > 0 and (not ever or rise.total >= p["rise"] * level):
            out = WARNING
    if (
        (level > extreme and borne_out)
        or (ended and level > p["warn"])
        or (grew is not None and level > p["high"] and not gain_shows(look, grew))
    ):
        out = max(out, WARNING)
    if _unjudged(look, level, extreme):
        out = min(
            out, next(one for one in (CRITICAL, WARNING, NOTICE) if one == NOTICE or held(look, "kl-runaway", one))
        )
    if out >= WARNING:
        memory["told_at"] = level
    elif held(look, "kl-runaway", WARNING) and not verified and level >= p["stays"] * memory.get("told_at", inf):
        out = WARNING if trend(kl, 200).direction > 0 else out  # a new gain of the reward does not undo the KL

    def summary() -> str:
        unit = "nats per token" if look.profile.kl_unit_known else "nats, per token or per response"
        text = f"KL to the reference is at {num(level)} {unit} ({newest(look, 'kl_ref', 10)})"
        if (fast := doubling()) is not None:
            text += f", doubling every {num(fast)} rows"
        course = words.course(look.facts, "val_score") if verified else reward_course(look)
        return sentences(text, course)

    proofs = [("kl_ref", f"median of the newest rows {num(level)}")]
    if look.series(look.reward) is not None:
        proofs.append(told(look))
    worst, paid = EASED if eased else out, paid_until(look)
    return [Signal(worst, summary, tuple(proofs), moved="kl_ref", hurt=look.reward, best_step=paid)]


def _extreme(look: Look, p: Params) -> float:
    """The KL in nats per token from which on a policy writes what its reference would not have written. A policy that
    only becomes sure among the reference's answers moves by about the entropy of the start: the mean of -log of the
    probability that the reference gave its own draws."""
    entropy = look.values("entropy")
    if not len(entropy) or not begins_with_the_run(look, p["first_step"]):
        return p["extreme"]
    return max(p["extreme"], p["entropies"] * median(entropy[: int(p["first_rows"])]))


def _unjudged(look: Look, level: float, extreme: float) -> bool:
    """Whether the gain for the distance is unknown: the newest KL is not finite, so its level is an old one, or the
    reward is no longer measured as before. Neither turns an old distance into a new fault."""
    logged = look.logged("kl_ref")
    gone = logged is not None and not np.isfinite(logged.values[-1])
    return gone or (loud(look, Trait.MEASUREMENT) and level <= extreme)


def _grew_since(look: Look, kl: Floats, level: float, p: Params) -> int | None:
    """The step since which KL doubled twice, if that took few rows and validation did not gain meanwhile. An earlier
    gain pays for the distance at that time, not for a distance that grows by itself. Otherwise None."""
    series = look.series("kl_ref")
    began = since(kl > level / 4.0)
    if series is None or not began > 0 or len(kl) - began > worth(p["quadrupled_rows"], len(kl)):
        return None
    step = int(series.steps[len(series) - len(kl) + began])
    return None if validation_gained(look, step) else step


def _left_its_start(look: Look, kl: Floats, level: float, p: Params) -> bool:
    """Whether the KL is above its own start. True also if the log begins in the middle of a run, as the start is then
    unknown. A KL that stays at the level of the first step did not run away: the reference is another model than the
    one that training started from."""
    began = begins_with_the_run(look, p["first_step"])
    return not began or level >= p["grown"] * float(kl[: int(p["first_rows"])].min())


def _grown_when_it_fell(look: Look, level: float, p: Params) -> bool:
    """Whether the KL is above its level at the best reward, and was so when half of the reward's loss had happened. It
    must also have been far by then, or at the best: a policy that falls for another reason drifts as well."""
    reward, series, rows = look.facts.metric(look.reward), look.series("kl_ref"), int(p["doubling_rows"])
    best = None if reward is None else reward.peak
    if reward is None or series is None or best is None:
        return True
    steps = reward.series.steps
    at = int(steps.searchsorted(best.step))
    lost = reward.values[at:] < (best.value + reward.now.value) / 2.0
    fell = int(steps[at + int(lost.argmax())]) if lost.any() else int(steps[-1])
    upto, then = (int(series.steps.searchsorted(step, "right")) for step in (best.step, fell))
    kl = _per_token(look)
    before, after = kl[max(0, upto - rows) : upto], kl[max(upto, then - rows // 4) : then + rows]
    if not len(before) or not len(after):
        return True
    far = not look.profile.kl_unit_known or median(after) >= p["high"] or median(before) >= p["warn"]
    return far and min(level, median(after)) >= p["grown"] * median(before)


def _soonest(look: Look, rows: int, p: Params) -> float:
    """The number of rows within which a KL that runs away doubles. KL begins at 0, and early in a run it doubles within
    few rows: a KL that grows with the square of the steps doubles in .41 of all its rows, however harmless it is."""
    whole = begins_with_the_run(look, p["first_step"])
    return min(p["doubling_rows"], p["doubling_share"] * rows) if whole else p["doubling_rows"]


def _doubling(kl: Floats, limit: float) -> float | None:
    """Rows in which KL doubles. None if that takes longer than `limit`, or if there is no trend."""
    kl = kl[kl > 1e-3]
    if len(kl) < limit or len(kl) < LEAST_DOUBLING:
        return None
    logs = np.log(kl)
    if trend(logs).direction <= 0:
        return None
    slope, _, _ = theil_sen(np.arange(len(logs), dtype=np.float64), logs)
    return log(2.0) / slope if slope > log(2.0) / limit else None

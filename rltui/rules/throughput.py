"""Step time and its phases."""

from __future__ import annotations

from math import exp, log, sqrt

import numpy as np

from rltui.evidence.clock import capped
from rltui.evidence.effects import NOISE_POINTS, chance, median_error, noise
from rltui.evidence.look import Look
from rltui.evidence.metric import FIRST
from rltui.evidence.model import Mark
from rltui.evidence.signal import CRITICAL, EASED, NOTICE, WARNING, Signal, num
from rltui.evidence.step_time import DOUBT, MOST_LOG, grown, own_share, phase_share, typical, waits
from rltui.frameworks.load import phases
from rltui.plots.numbers import percent
from rltui.prose import sentence
from rltui.rules.base import Memory, Params, held, logged_for, rule, since, tail
from rltui.run.sums import median


@rule("step-time-regression", Look)
def step_time_regression(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Steps are slower than this run's best, and not because responses are longer.

    `memory` keeps the best median of step time and of step time per token of response. As the best of many, it is below
    the usual median by chance, the more so the fewer rows each median has; the limits are raised by that much. If there
    are two kinds of steps, short and long, the median leaps between them, so the mean must be as much higher.
    """
    seconds = look.values("time_per_step_s")
    if not logged_for(look, "time_per_step_s", p["warmup"] + p["window"]):
        return []
    window = capped(p["window"], len(seconds))
    now = median(seconds[-window:])
    best = memory["best"] = min(memory.get("best", now), now)
    if best <= 0:
        return []
    newest = seconds[-NOISE_POINTS:]
    timed = newest if newest.min() > 0 else seconds[seconds > 0][-NOISE_POINTS:]
    often = chance(len(seconds), window)
    mean, spread = typical(seconds[-window:])
    if mean <= memory.get("mean", mean):
        memory["mean"], memory["spread"] = mean, spread
    wide = sqrt((spread**2 + memory["spread"] ** 2) / window)
    luck = often * max(median_error(window, noise(np.log(timed)), 0.0), wide)

    def past(times: float, limit: float) -> bool:
        return log(times) >= log(limit) + luck

    length = look.values("response_length_mean")
    per_token = None
    if len(length) == len(seconds) and length[-window:].min() > 0:
        rate = median(seconds[-window:] / length[-window:])
        memory["rate"] = min(memory.get("rate", rate), rate)
        per_token = rate / memory["rate"] if memory["rate"] > 0 else None
    ratio = now / best
    slowed = min(ratio, exp(min(MOST_LOG, mean - memory["mean"])))
    unexplained = slowed if per_token is None else min(slowed, per_token)
    eased = not past(slowed, p["notice"])
    if eased and not held(look, "step-time-regression"):
        return []
    first = seconds[capped(p["warmup"], len(seconds)) :][:window]
    start, (usual, around) = median(first), typical(first)
    doubt = DOUBT * sqrt((spread**2 + around**2) / window)
    level = EASED if eased else NOTICE
    slower = (
        now >= p["notice"] * start and mean - usual >= log(p["notice"]) + doubt
    )  # if not, the fast steps between were the exception
    if slower and past(unexplained, p["critical"]):
        level = CRITICAL
    elif slower and past(unexplained, p["warn"]):
        level = WARNING

    def summary() -> str:
        text = f"A step takes {num(now)} s (median of the last {window} rows), {num(ratio)} times its best of "
        explained = level == NOTICE and per_token is not None and per_token < p["notice"] and per_token**2 <= ratio
        return f"{text}{num(best)} s." + (" Longer responses explain it." if explained else "")

    costs = not eased and slower and (past(unexplained, p["notice"]) or past(ratio, p["doubled"]))
    proofs = [("time_per_step_s", f"{num(ratio)} times its best median")]
    if per_token is not None:
        proofs.append(("response_length_mean", f"time per token {num(per_token)} times its best"))
    marks = (Mark.COSTS,) if costs else ()
    return [Signal(level, summary, tuple(proofs), moved="time_per_step_s", marks=marks)]


LOG_PROBS = ("old_log_prob", "ref_log_prob")
"""Log-probs of the policy and of the reference, which count together."""
LOADING = ("data_load", "data_prep")
"""Waiting for data: nothing is computed meanwhile."""


@rule("phase-bottleneck", Look)
def phase_bottleneck(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A phase that takes much more of the step than it used to or, if it always did, more than is usual.

    The usual shares are those of synchronous training. If trainer and sampler work in parallel, they mean nothing, and
    shares that sum to more than the step are not judged.
    """
    seconds = look.values("time_per_step_s")
    if len(seconds) < p["rows"]:
        return []
    limits = {"rollout": p["gen"], "update_actor": p["update"], "reward": p["reward"], "weight_sync": p["sync"]}
    limits |= dict.fromkeys(LOADING, p["load"])
    every = {n: x for n in (*limits, *LOG_PROBS) if len(x := phase_share(look, n)) >= p["rows"]}
    now = {name: tail(x, 20) for name, x in every.items()}
    if not now or sum(now.values()) > 1.0 + p["gap"]:
        return []
    beside = waits(look)
    out, together = [], set[str]()
    for share in (own_share(name, x) for name, x in every.items() if grown(x, now[name], p["grown"])):
        if share is not None and share.share - share.high > p["grown"]:
            text = f"{phases()[share.phase].label} takes {percent(share.share)} of the step"
            text += f", and earlier steps took {percent(share.low)} to {percent(share.high)}."
            out.append((share.share - share.high, share.phase, text))
    merged = {n: s for n, s in now.items() if n in limits}
    logged = [n for n in LOG_PROBS if n in now]  # a trainer may need only one of them
    if logged:
        merged[logged[0]], limits[logged[0]] = sum(now[n] for n in logged), p["logp"]
    if beside is None and not out:
        for name, share_now in merged.items():
            if share_now > limits[name]:
                both = name in LOG_PROBS and len(logged) > 1
                label = "log-probs and reference take" if both else f"{phases()[name].label} takes"
                first = sum(median(every[n][:FIRST]) for n in (logged if both else [name]))
                since = "as from the start" if first > limits[name] else f"{percent(first)} at the start"
                text = f"{label} {percent(share_now)} of the step, {since}"
                text += f" (usual in synchronous training: up to {percent(limits[name])})."
                out.append((share_now - limits[name], name, text))
                together |= {text} if both else set()
    if beside is not None and max(beside.trainer or 0.0, beside.sampler or 0.0) > p["wait"]:
        text = sentence(beside.text)
        proofs = tuple((metric, "") for metric in beside.metrics)
        return [Signal(NOTICE, text, proofs, onset_step=int(look.steps[0]))]
    if not out:
        return []
    _, name, text = max(out)
    told = logged if text in together else [name]
    told.sort(key=lambda n: -now[n])  # the larger one first
    proofs = tuple((f"phase:{n}", f"{percent(now[n])} of the step") for n in told)
    marks = (Mark.COSTS,) if told[0] in LOADING else ()
    return [Signal(NOTICE, text, proofs, moved=f"phase:{told[0]}", marks=marks)]


OFTEN = 2
"""With fewer steps from save to save, the usual step includes a save."""


@rule("checkpoint-slow", Look)
def checkpoint_slow(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The time spent on saving, as a share of all time between saves."""
    saves, seconds = look.series("phase:save_checkpoint"), look.values("time_per_step_s")
    if saves is None or len(seconds) < 20:
        return []
    at = saves.values[-1000:] > 0
    rows = saves.rows[-1000:][at]
    if len(rows) < p["saves"]:
        return []
    every = float(rows[-1] - rows[0]) / (len(rows) - 1)
    took = tail(saves.values[-1000:][at], 5)
    usual = every * tail(seconds, 20)
    between = max(
        usual if every < OFTEN else usual + took, 1e-9
    )  # most steps save nothing, so their median has no save
    share = took / between
    if share <= p["notice"]:
        return []
    began = since(saves.values[-1000:][at] > p["notice"] * between)
    text = f"A checkpoint takes {num(took)} s every {every:.0f} steps: {percent(share)} of the time"
    text += ". Half as often would do." if share > p["warn"] else "."
    step = int(saves.steps[-1000:][at][began])
    marks = (Mark.COSTS,) if share > p["warn"] else ()
    return [Signal(NOTICE, text, (("phase:save_checkpoint", ""),), onset_step=step, marks=marks)]


@rule("rollout-straggler", Look)
def rollout_straggler(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """The longest response is far longer than the mean one, and generation is most of the step."""
    longest, mean = look.values("response_length_max"), look.values("response_length_mean")
    seconds, rollout = look.values("time_per_step_s"), look.values("phase:rollout")
    if min(len(longest), len(mean), len(seconds), len(rollout)) < 20:
        return []
    ratio, share = tail(longest, 20) / max(1.0, tail(mean, 20)), tail(rollout, 20) / max(1e-9, tail(seconds, 20))
    if ratio <= p["lenratio"] or not p["share"] < share <= 1.0:
        return []
    text = f"The longest response is {num(ratio)} times the mean one and generation is {percent(share)} of the step."
    return [Signal(NOTICE, text, (("response_length_max", ""), ("phase:rollout", "")), onset_step=int(look.steps[0]))]

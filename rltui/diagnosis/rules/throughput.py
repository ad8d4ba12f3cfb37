"""Step time."""

from __future__ import annotations

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params, tail
from rltui.diagnosis.signal import CRITICAL, NOTICE, WARNING, Signal, num, percent


def step_time_regression(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Steps slower than this run's best, and not because responses are longer.

    `memory` keeps the best median of step time and of step time per token of response.
    """
    seconds = look.values("time_per_step_s")
    window = int(p["window"])
    if len(seconds) < p["warmup"] + window:
        return []
    now = tail(seconds, window)
    best = memory["best"] = min(memory.get("best", now), now)
    length = look.values("response_length_mean")
    per_token = None
    if len(length) == len(seconds) and length[-window:].min() > 0:
        rate = tail(seconds[-window:] / length[-window:], window)
        memory["rate"] = min(memory.get("rate", rate), rate)
        per_token = rate / memory["rate"] if memory["rate"] > 0 else None
    if best <= 0:
        return []
    ratio = now / best
    unexplained = ratio if per_token is None else min(ratio, per_token)
    if ratio < p["notice"]:
        return []
    level = NOTICE
    if unexplained >= p["critical"]:
        level = CRITICAL
    elif unexplained >= p["warn"]:
        level = WARNING
    summary = f"A step takes {num(now)} s, {num(ratio)} times its best of {num(best)} s"
    summary += (
        "; longer responses explain it."
        if level == NOTICE and per_token is not None and per_token < p["notice"]
        else "."
    )
    proofs = [("time_per_step_s", f"{num(ratio)} times its best 20 rows")]
    if per_token is not None:
        proofs.append(("response_length_mean", f"time per token {num(per_token)} times its best"))
    return [Signal(level, summary, tuple(proofs), moved="time_per_step_s")]


PHASES = ("rollout", "log_probs", "update_actor", "reward", "weight_sync")


def phase_bottleneck(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """A phase beyond its usual share, or, with enough own history, far beyond what it used to take."""
    seconds = look.values("time_per_step_s")
    if len(seconds) < p["rows"]:
        return []
    whole = tail(seconds, 20)
    limits = dict(zip(PHASES, (p["gen"], p["logp"], p["update"], p["reward"], p["sync"]), strict=True))
    shares = {}
    for name in PHASES:
        x = look.values(f"phase:{name}")
        if len(x) >= p["rows"] and whole > 0:
            shares[name] = tail(x, 20) / whole
    if not shares or sum(shares.values()) > 1.0 + p["gap"]:
        return []  # phases beside each other: their shares say nothing about the step
    name = max(shares, key=lambda n: shares[n] - limits[n])
    if shares[name] <= limits[name]:
        return []
    x = look.values(f"phase:{name}")
    early = tail(x[: int(p["rows"])], 20) / tail(seconds[: int(p["rows"])], 20)
    text = f"{name} takes {percent(shares[name])} of the step (usual up to {percent(limits[name])})"
    text += f"; at the start it was {percent(early)}." if abs(shares[name] - early) > 0.1 else ", as from the start."
    return [Signal(NOTICE, text, ((f"phase:{name}", ""), ("time_per_step_s", "")), moved=f"phase:{name}")]


def checkpoint_slow(look: Look, p: Params, memory: Memory) -> list[Signal]:
    """Time spent on saving, of all time between the saves."""
    saves, seconds = look.series("phase:save_checkpoint"), look.values("time_per_step_s")
    if saves is None or len(seconds) < 20:
        return []
    at = saves.values[-1000:] > 0
    rows = saves.rows[-1000:][at]
    if len(rows) < p["saves"]:
        return []
    every = float(rows[-1] - rows[0]) / (len(rows) - 1)
    took = tail(saves.values[-1000:][at], 5)
    share = took / max(1e-9, every * tail(seconds, 20))
    if share <= p["notice"]:
        return []
    text = f"A checkpoint takes {num(took)} s every {num(every)} steps: {percent(share)} of the time"
    text += "; half as often would do." if share > p["warn"] else "."
    return [Signal(NOTICE, text, (("phase:save_checkpoint", ""),), onset_step=int(saves.steps[-1000:][at][0]))]


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

"""Step time."""

from __future__ import annotations

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory, Params, tail
from rltui.diagnosis.signal import CRITICAL, NOTICE, WARNING, Signal, num


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

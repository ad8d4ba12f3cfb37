"""Spikes of a positive metric, found once each as the rows come."""

from __future__ import annotations

from rltui.diagnosis.look import Look
from rltui.diagnosis.rules.base import Memory
from rltui.diagnosis.trends import log_spikes

WINDOW = 50  # rows: the past that a spike stands out of, and how long it counts
KEPT = 3


def recent_spikes(look: Look, name: str, memory: Memory, z: float, factor: float) -> list[int]:
    """Steps of the newest spikes (at most `KEPT`) of the last rows. `memory` keeps them and the rows seen."""
    series = look.series(name)
    if series is None or len(series) < WINDOW:
        return []
    done = int(memory.get("done", 0))
    start = max(0, min(done, len(series)) - WINDOW)
    recent = series.values[start:]
    live = recent > 0
    at = live.nonzero()[0]
    fresh = int((at < done - start).sum())
    found = [start + int(at[i]) for i in log_spikes(recent[live], fresh, z, factor, 0.1)]
    kept = [int(memory[f"at {k}"]) for k in range(KEPT) if f"at {k}" in memory]
    for k, row in enumerate((kept + found)[-KEPT:]):
        memory[f"at {k}"] = float(row)
    memory["done"] = float(len(series))
    return [int(series.steps[row]) for row in (kept + found)[-KEPT:] if row >= len(series) - WINDOW]

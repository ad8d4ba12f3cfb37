"""What else happened around a step: lines of the log, the GPUs then."""

from __future__ import annotations

from bisect import bisect_left

from rltui.plots.numbers import number
from rltui.tui.panes.log import clock, events, said
from rltui.tui.view import View

NEAR_STEPS = 10
NEAR_S = 60.0
"""Notable lines within so many steps, or seconds where they name no step, belong to an onset."""
MARKS = ("step:{} ", "'step': {},", '"step": {},', " {}/", "step {} ", "step={} ")
"""How a line of a log names its step."""


def line_of(view: View, step: int) -> tuple[int, bool] | None:
    """Index of the first log line of a step, and whether that is known (by its time or by what it says) or only told
    by the order of rows and lines; None without a log."""
    lines = view.recording.log if view.recording else ()
    if not lines:
        return None
    when = view.time_of(step)
    stamped = [(line.time, i) for i, line in enumerate(lines) if line.time is not None]
    if when is not None and len(stamped) > 1 and stamped[0][0] <= when <= stamped[-1][0]:
        return stamped[bisect_left(stamped, (when, -1))][1], True
    marks = tuple(mark.format(step) for mark in MARKS)
    named = next((i for i, line in enumerate(lines) if any(mark in line.text for mark in marks)), None)
    if named is not None:
        return named, True
    first, last = view.span
    return round((len(lines) - 1) * min(1.0, max(0.0, (step - first) / max(1, last - first)))), False


def log_lines(view: View, step: int, most: int) -> list[tuple[str, str]]:
    """(when, text) of the notable lines near a step, the nearest ones; without any, the raw lines of that minute."""
    when = view.time_of(step)
    near = []
    for note in events(view):
        if note.step is not None and abs(note.step - step) <= NEAR_STEPS:
            near.append((abs(note.step - step), f"step {note.step}  {note.kind}", said(note)))
        elif note.step is None and note.time is not None and when is not None and abs(note.time - when) <= NEAR_S:
            near.append((0, f"{clock(note.time)}  {note.kind}", said(note)))
    if near:
        return [(head, text) for _, head, text in sorted(near, key=lambda found: found[0])[:most]]
    found = line_of(view, step)
    if found is None or not found[1] or view.recording is None:
        return []
    start = max(0, found[0] - most // 2)
    return [
        (clock(line.time) or (f"line {line.line}" if line.line else ""), line.text)
        for line in view.recording.log[start : start + most]
    ]


def gpus(view: View, step: int) -> list[str]:
    """`GPU 3: 71.2 GB, 312 W, 98 %` of each GPU in the sample nearest to a step, at most a minute away."""
    when = view.time_of(step)
    samples = view.recording.hardware if view.recording else ()
    if when is None or not samples:
        return []
    sample = min(samples, key=lambda sample: abs(sample.time - when))
    if abs(sample.time - when) > NEAR_S:
        return []
    told = []
    for gpu in sample.gpus:
        parts = (
            f"{number(gpu.memory_used_gb)} GB" if gpu.memory_used_gb is not None else "",
            f"{number(gpu.power_w)} W" if gpu.power_w is not None else "",
            f"{number(100 * gpu.util, decimals=0)} %" if gpu.util is not None else "",
        )
        told.append(f"GPU {gpu.index}: {', '.join(part for part in parts if part) or 'no answer'}")
    return told

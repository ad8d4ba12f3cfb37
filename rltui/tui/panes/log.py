"""Pane 6: the events of the run. Also what else happened around a step: lines of the log, and the GPUs."""

from __future__ import annotations

import re
from bisect import bisect_left
from datetime import datetime
from typing import TYPE_CHECKING

from rltui.plots.numbers import number
from rltui.tui.rows import Row, cut, put, scrolled, title
from rltui.tui.view import View

if TYPE_CHECKING:
    from rltui.evidence.model import Forecast
    from rltui.report.recording import Note


ROLES = {"traceback": "crit", "oom": "crit", "killed": "crit", "fault": "crit", "warning": "warn"}
GLYPHS = {"crit": "✗ ", "warn": "! "}
STAMP = re.compile(
    r"(?:\[?(?:\b(?:TRACE|DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b|\b(?:\d{2,4}-)?\d{2}-\d{2}\b"
    r"|T?\b\d{2}:\d{2}:\d{2}(?:[.,]\d+)?Z?|(?<=\[)[0-9a-f]{16,}(?=\]))\]?[\s:,|-]*)+(?=\S)"
)
"""Date, time, level and request number at the beginning of a line."""
SAVED = re.compile(r"\b[\w-]*(?:step|checkpoint|iter|epoch)[_-]?\d+\b")
"""The folder of a checkpoint."""
QUIET = ("progress", "phase", "validation", "overflow")


def clock(time: float | None) -> str:
    """Local time of day, blank if the log has none."""
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time).strftime("%H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def events(view: View) -> list[Note]:
    """Notable lines, oldest first. With a step cursor, only those up to it."""
    if view.recording is None:
        return []
    notes = [note for note in view.recording.notes if note.kind not in QUIET]
    if view.cursor is not None:
        notes = [note for note in notes if note.by(view.cursor)]
    return notes


def coming(view: View) -> list[Forecast]:
    """The forecasts for a run that goes on like this, except for its end, which the header shows."""
    return [f for f in view.outlook.forecasts if f.what != "end"] if view.outlook else []


def _event(note: Note, width: int) -> Row:
    role = ROLES.get(note.kind, "fg")
    when = clock(note.time) or (f"{note.step}" if note.step is not None else "")
    kind = f"{GLYPHS.get(role, '  ')}{note.kind}"
    return [
        put(f" {when}", 8, "dim"),
        put(kind, 14, role if role != "fg" else "dim"),
        (cut(said(note), max(0, width - 22)), "fg"),
    ]


def said(note: Note) -> str:
    """The line without its time and level, which the pane shows beside it. For a checkpoint, only its folder."""
    saved = SAVED.findall(note.text) if note.kind == "checkpoint" else []
    stamp = STAMP.match(note.text)
    return str(saved[-1]) if saved else note.text[stamp.end() :] if stamp else note.text


def draw(view: View, width: int, height: int, *, focus: bool, back: int = 0) -> list[Row]:
    """Rows of the pane. `back`: how many rows the list is scrolled up from its end."""
    found, ahead = events(view), coming(view)
    right: Row = [(f"{len(found)} event{'s' if len(found) > 1 else ''}", "dim")] if found else []
    rows = [title(width, "6", "Log and events", right or None, focus)]
    if view.recording is None or height < 2:
        return rows
    if not found and not ahead:
        why = "nothing notable in the log" if view.recording.log else "this source has no text log"
        return [*rows, [(f" {why}", "dim")]]
    told = [_event(note, width) for note in found]
    body = [row for i, row in enumerate(told) if not i or row != told[i - 1]] + [
        [put(" ahead", 8, "dim"), put(f"→ {forecast.what}", 14, "dim"), (cut(forecast.text, max(0, width - 22)), "fg")]
        for forecast in ahead
    ]
    shown, _ = scrolled(body, height - 1, max(0, len(body) - 1 - back), max(0, len(body) - height + 1 - back))
    return rows + shown


NEAR_STEPS = 10
NEAR_S = 60.0
"""Notable lines belong to an onset if they are within `NEAR_STEPS` of it, or `NEAR_S` if they name no step."""
MARKS = ("step:{} ", "'step': {},", '"step": {},', " {}/", "step {} ", "step={} ")
"""How log lines name their step."""


def log_line_of(view: View, step: int) -> tuple[int, bool] | None:
    """Index of the first log line of a step, and whether that is certain (from its time or text) or only estimated from
    the share of steps before it. None without a log."""
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
    """(when, text) of the notable lines nearest to a step. If there are none, the raw lines around the step."""
    when = view.time_of(step)
    near = []
    for note in events(view):
        if note.step is not None and abs(note.step - step) <= NEAR_STEPS:
            near.append((abs(note.step - step), f"step {note.step}  {note.kind}", said(note)))
        elif note.step is None and note.time is not None and when is not None and abs(note.time - when) <= NEAR_S:
            near.append((0, f"{clock(note.time)}  {note.kind}", said(note)))
    if near:
        return [(head, text) for _, head, text in sorted(near, key=lambda found: found[0])[:most]]
    found = log_line_of(view, step)
    if found is None or not found[1] or view.recording is None:
        return []
    start = max(0, found[0] - most // 2)
    return [
        (clock(line.time) or (f"line {line.line}" if line.line else ""), line.text)
        for line in view.recording.log[start : start + most]
    ]


def gpus_at(view: View, step: int) -> list[str]:
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

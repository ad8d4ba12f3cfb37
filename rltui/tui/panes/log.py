"""Pane 6: the events of the run."""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING

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
"""Date, time, level and the number of a request at the head of a line."""
SAVED = re.compile(r"\b[\w-]*(?:step|checkpoint|iter|epoch)[_-]?\d+\b")
"""The folder of a checkpoint."""
QUIET = ("progress", "phase", "validation")


def clock(time: float | None) -> str:
    """Local time of day, blank where the log has none."""
    if time is None:
        return ""
    try:
        return datetime.fromtimestamp(time).strftime("%H:%M")
    except (OverflowError, OSError, ValueError):
        return ""


def events(view: View) -> list[Note]:
    """Notable lines, oldest first; with a step cursor those up to it."""
    if view.recording is None:
        return []
    notes = [note for note in view.recording.notes if note.kind not in QUIET]
    if view.cursor is not None:
        notes = [note for note in notes if note.by(view.cursor)]
    return notes


def coming(view: View) -> list[Forecast]:
    """What comes if it goes on so; the end of the run stands in the header."""
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
    """The line without its own time and level, which stand beside it; of a checkpoint its folder."""
    saved = SAVED.findall(note.text) if note.kind == "checkpoint" else []
    stamp = STAMP.match(note.text)
    return str(saved[-1]) if saved else note.text[stamp.end() :] if stamp else note.text


def draw(view: View, width: int, height: int, *, focus: bool, back: int = 0) -> list[Row]:
    """`back`: how many rows the list is scrolled up from its end."""
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

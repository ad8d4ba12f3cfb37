"""An event as a line for people."""

from __future__ import annotations

from datetime import datetime

from rltui.events.changes import Event
from rltui.report.answer import QUESTIONS


def line(event: Event) -> str:
    """Time, run, step, what, and the words."""
    at = "-" if event.step is None else str(event.step)
    of = "" if event.total is None else f"/{event.total}"
    what = f"{event.severity} {event.kind}" if event.severity not in (None, "info") else event.kind
    name = f"{event.finding}" + (f" [{event.subject}]" if event.subject else "") if event.finding else event.state
    since = f" since step {event.onset_step}" if event.onset_step is not None else ""
    quote = f' "{event.quote}"' if event.quote else ""
    again = "  (told again: the watch was killed while it told this)" if event.again else ""
    verdict = f"  ({event.badge or event.decision}){again}"
    return f"{hour(event.time)}  {event.run}  step {at}{of}  {what}  {name}{since}: {event.text}{quote}{verdict}"


def lines(event: Event) -> str:
    """The same, and below it why, what to do and what to keep, of an event of the run."""
    told = event.answer or {}
    return "\n".join(
        [line(event), *(f"{word}: {told[name]}" for name, word in QUESTIONS.items() if name in TOLD & told.keys())]
    )


TOLD = frozenset({"why", "do", "keep"})


def hour(time: float) -> str:
    """Date and time of day here."""
    return datetime.fromtimestamp(time).strftime("%Y-%m-%d %H:%M:%S")

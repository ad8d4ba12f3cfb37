"""One run under watch, read in its own thread: its reports become events, check-in entries and the record.

The verdict that --until waits for has to last, so that no job is ended because of a single look.
"""

from __future__ import annotations

import socket
import time as clock
from collections.abc import Callable, Collection
from threading import Event as Flag
from typing import Any, Literal

from msgspec import Struct, field

from rltui.discovery.found import Found
from rltui.events.changes import Changes, Event, SeenSoFar, event, iso
from rltui.events.record import EventRecord, Recorder
from rltui.evidence.guard import error_text
from rltui.evidence.model import Decision
from rltui.hardware.sampler import Sampler
from rltui.plots.numbers import duration
from rltui.prose import joined
from rltui.report.build import build
from rltui.report.checkin import entry
from rltui.report.model import Report
from rltui.report.summaries import SummaryCache
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.session.live import LiveRun

Until = Literal["continue-watch", "stop", "end"]

STOP: tuple[Decision, ...] = ("stop-use-best", "pause-and-fix", "abort-now")
MEETS: dict[Until, tuple[Decision, ...]] = {"continue-watch": ("continue-watch", *STOP), "stop": STOP, "end": ()}
WAIT_S = 1.0
HARDWARE_EVERY_S = 10.0
"""GPU power is read only to distinguish a hung run from a slow one."""
SAMPLES_S = 20.0
"""The longest time in seconds that the first events wait for the run's samples, so that findings from samples are
included."""


LASTING_ROWS = 5
"""Rows that the verdict has to last: as many as a finding on the reward has to hold before it opens."""
LASTING_S = 60.0
"""Time that it has to last, for runs with many rows a second."""


class Lasting(Struct):
    """Whether the verdict of one run has lasted. `rows` and `seconds`: how long it must be one of `wanted`, counted
    from the first report that has it. A verdict that rests only on a measurement fault does not count."""

    wanted: Collection[Decision]
    rows: int = LASTING_ROWS
    seconds: float = LASTING_S
    _since: tuple[int, float] | None = None

    def take(self, report: Report, now: float) -> str:
        """Takes the next report. Returns in words how long the verdict has lasted, or "" if not long enough. `now`: a
        clock in seconds that never goes back. If the run has ended, no row will come, so its last verdict counts."""
        verdict, rows = report.verdict, report.run.steps.rows
        measured = having(Trait.MEASUREMENT)
        blamed = set(verdict.because)
        if verdict.decision not in self.wanted or (blamed and blamed <= measured):
            self._since = None
            return ""
        first, began = self._since = self._since or (rows, now)
        if report.run.over:
            return f"the run has {'ended' if report.run.state == 'finished' else 'crashed'}"
        comes = report.run.state != "stalled"
        if now - began < self.seconds or (comes and rows - first < self.rows):
            return ""
        return f"for {max(0, rows - first)} rows and {duration(now - began)}"


class News(Struct, frozen=True):
    """News from a run's thread. `entry`: the check-in entry. `seen`: what was reported so far. `met`: it meets --until.
    `over`: nothing more will come. `worst`: rank of the worst finding so far. `problem`: what went wrong. `fault`: the
    fault of rltui that ended the reading of the run."""

    index: int
    events: tuple[Event, ...] = ()
    entry: str = ""
    seen: dict[str, Any] = field(default_factory=dict)
    met: bool = False
    over: bool = False
    worst: int = 0
    problem: str = ""
    fault: Exception | None = None


class Following(Struct):
    """Follows one run until `stop`, and gives what is new to `put`. `seen`: what an earlier watch reported of it."""

    index: int
    found: Found
    key_map: dict[str, str]
    heartbeat_s: float | None
    entries: bool
    seen: SeenSoFar | None
    record: EventRecord | None
    put: Callable[[News], None]
    stop: Flag
    lasting: Lasting

    def run(self) -> None:
        changes, met = Changes(self.seen), False
        try:
            local = self.found.place.name == ""
            sampler = Sampler(socket.gethostname(), None, HARDWARE_EVERY_S) if local else None
            live = LiveRun(self.found, key_map=self.key_map, sampler=sampler)
        except Exception as error:
            self._broken("cannot be followed", error, changes)
            return

        recorder = Recorder(self.record) if self.record is not None else None
        resumed, beat, last = changes.seen.began, clock.monotonic(), None
        cache = SummaryCache()
        began = clock.monotonic()
        try:
            while not self.stop.is_set() and not met:
                frame = live.next_frame(WAIT_S)
                events: list[Event] = []
                problem = ""
                waits = frame is not None and frame.run.samples.pending and clock.monotonic() - began < SAMPLES_S
                if frame is not None and frame.loading.done and not waits:
                    last = report = build(frame, cache=cache)
                    if resumed:
                        resumed = False
                        if changes.seen.step is not None:
                            words = f"the watch goes on. It told what happened up to step {changes.seen.step}"
                            events.append(changes.count(event(report, "resumed", words)))
                    events += changes.of(report)
                    problem = joined((_recorded(recorder, report), _failed(report)))
                lasted = self.lasting.take(last, clock.monotonic()) if last is not None else ""
                met = bool(lasted)
                if last is not None and met and not changes.seen.met:
                    changes.seen.met = True
                    words = f"{last.verdict.decision} is what --until waits for: {lasted}"
                    events.append(changes.count(event(last, "met", words)))
                if last is not None and self.heartbeat_s is not None and clock.monotonic() - beat >= self.heartbeat_s:
                    beat = clock.monotonic()
                    events.append(changes.count(event(last, "heartbeat", _age(last), time=clock.time())))
                if frame is not None or events or met:
                    self.put(self._news(last, changes, events, met, problem))
        except Exception as error:
            self._broken("reading stopped", error, changes)
        finally:
            if recorder is not None:
                recorder.close()
            live.close()

    def _news(self, report: Report | None, changes: Changes, events: list[Event], met: bool, problem: str) -> News:
        text = ""
        if self.entries and report is not None and any(one.kind != "resumed" for one in events):
            text = entry(report, iso(clock.time()))
        seen = changes.seen
        return News(self.index, tuple(events), text, seen.as_dict(), met, seen.ended, seen.worst, problem)

    def _broken(self, what: str, error: Exception, changes: Changes) -> None:
        text = f"{self.found.candidate.id}: {what}, by a fault of rltui: {error_text(error)}"
        seen = changes.seen
        self.put(News(self.index, seen=seen.as_dict(), over=True, worst=seen.worst, problem=text, fault=error))


def _recorded(recorder: Recorder | None, report: Report) -> str:
    """Adds the report to the record. Returns what went wrong, or ""."""
    if recorder is None:
        return ""
    try:
        recorder.take(report)
    except OSError as error:
        return f"the record cannot be kept ({error.strerror})"
    return ""


def _failed(report: Report) -> str:
    """The checks that failed, and the diagnosis itself if it did."""
    told = ", ".join(f"{one.rule}: {one.error}" for one in report.checks_failed)
    return f"{report.run.id}: checks failed, by a fault of rltui: {told}" if told else ""


def _age(report: Report) -> str:
    """The age of the newest row: `newest row 12 s ago`."""
    newest = report.recording.run.as_of
    return "watching" if newest is None else f"newest row {duration(max(0.0, clock.time() - newest))} ago"

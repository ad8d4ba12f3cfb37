"""Follows the runs, prints a line an event, and knows when to end and with which exit code."""

from __future__ import annotations

import json
import queue
import signal
import socket
import sys
import time as clock
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Event as Flag
from threading import Thread
from types import FrameType
from typing import Literal, TextIO

from rltui.diagnosis.model import SEVERITY_RANK, Decision
from rltui.hardware.sampler import Sampler
from rltui.report.build import build
from rltui.report.checkin import append_checkin
from rltui.session import Frame
from rltui.session.live import LiveRun
from rltui.session.locate import Found
from rltui.watch.command import Command
from rltui.watch.events import Changes, Event, iso

Until = Literal["continue-watch", "stop", "end"]

STOP: tuple[Decision, ...] = ("stop-use-best", "pause-and-fix", "abort-now")
MEETS: dict[Until, tuple[Decision, ...]] = {"continue-watch": ("continue-watch", *STOP), "stop": STOP, "end": ()}
FAIL = {"never": 3, "critical": 2, "warning": 1}
SEVERITIES = {rank: name for name, rank in SEVERITY_RANK.items()}
WAIT_S = 1.0
HARDWARE_EVERY_S = 10.0
"""GPU power is only asked for to tell hung from slow."""


@dataclass(frozen=True, slots=True)
class Options:
    """As on the command line. `command`: the words of --exec; `timeout_s`: None for none."""

    as_json: bool = False
    until: Until = "end"
    fail_on: str = "critical"
    command: tuple[str, ...] = ()
    append: str | None = None
    timeout_s: float | None = None


@dataclass(frozen=True, slots=True)
class _News:
    """From a run's thread: events, whether the run meets --until, whether nothing more will come, what went wrong."""

    index: int
    events: tuple[Event, ...]
    met: bool
    over: bool
    worst: int
    problem: str = ""


class Watch:
    """Watches runs until --until, --timeout or a signal. Each run is read by a thread of its own."""

    def __init__(self, found: Sequence[Found], options: Options, key_map: dict[str, str], out: TextIO) -> None:
        self._found = found
        self._options = options
        self._key_map = key_map
        self._out = out
        self._news: queue.Queue[_News] = queue.Queue()
        self._stop = Flag()
        self._asked = ""
        self._over = [False] * len(found)
        self._worst = [0] * len(found)

    def run(self) -> int:
        """Returns the exit code: 1 where a finding at or above --fail-on was open while we watched, else 0. A signal
        or the end of the time changes nothing in that."""
        command = Command(list(self._options.command), self._tell) if self._options.command else None
        sampler = Sampler(socket.gethostname(), None, HARDWARE_EVERY_S)
        threads = [
            Thread(target=self._follow, args=(i, sampler), name=f"rltui-watch-{i}", daemon=True)
            for i in range(len(self._found))
        ]
        for thread in threads:
            thread.start()
        reason = self._listen(command)
        self._stop.set()
        for thread in threads:
            thread.join(2 * WAIT_S)
        while not self._news.empty():
            self._take(self._news.get_nowait(), command)
        if command is not None:
            command.close()
        code = 1 if max(self._worst) >= FAIL[self._options.fail_on] else 0
        self._print_done(reason, code)
        return code

    def stop(self, reason: str) -> None:
        """Ends the watch soon, as its time-out would; from a signal handler or another thread."""
        self._asked = reason

    # -- the main thread -------------------------------------------------------------------------------------------

    def _listen(self, command: Command | None) -> str:
        """Prints what comes until there is a reason to end, and returns it."""
        limit = self._options.timeout_s
        ends = clock.monotonic() + limit if limit is not None else None
        while not self._asked:
            left = WAIT_S if ends is None else min(WAIT_S, ends - clock.monotonic())
            if left <= 0:
                return f"the time is over ({limit:g} s)"
            try:
                news = self._news.get(timeout=left)
            except queue.Empty:
                continue
            if self._take(news, command):
                return f"{self._found[news.index].candidate.id} meets --until {self._options.until}"
            if all(self._over):
                return "every run has ended"
        return self._asked

    def _take(self, news: _News, command: Command | None) -> bool:
        """Tells the news; true where they end the watch."""
        for event in news.events:
            self._print(json.dumps(event.as_dict(), ensure_ascii=False) if self._options.as_json else line(event))
            if command is not None and event.kind != "summary":
                command.run(event)
        if news.problem:
            self._tell(news.problem)
        self._over[news.index] = news.over
        self._worst[news.index] = max(self._worst[news.index], news.worst)
        return news.met

    def _print(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()

    def _print_done(self, reason: str, code: int) -> None:
        worst = SEVERITIES[max(self._worst)]
        if self._options.as_json:
            now = iso(clock.time())
            done = {
                "schema": "rltui.event/1",
                "event": "done",
                "time": now,
                "text": reason,
                "worst": worst,
                "code": code,
            }
            self._print(json.dumps(done))
        else:
            self._print(f"{_hour(clock.time())}  done: {reason}; worst finding seen: {worst}")

    @staticmethod
    def _tell(problem: str) -> None:
        print(f"rltui: {problem}", file=sys.stderr, flush=True)

    # -- a run's thread --------------------------------------------------------------------------------------------

    def _follow(self, index: int, sampler: Sampler) -> None:
        found = self._found[index]
        met = over = False
        changes = Changes()
        try:
            local = found.place.name == ""
            live = LiveRun(found, key_map=self._key_map, sampler=sampler if local else None)
        except Exception as error:
            self._news.put(_News(index, (), False, True, 0, f"{found.candidate.id}: {type(error).__name__}: {error}"))
            return
        try:
            while not self._stop.is_set() and not met:
                frame = live.next_frame(WAIT_S)
                if frame is None or not frame.loading.done:
                    continue
                events = changes.of(frame)
                was_over, over = over, changes.seen.ended
                met = frame.diagnosis.verdict.decision in MEETS[self._options.until]
                if events or met or over != was_over:
                    problem = self._append(frame) if events else ""
                    self._news.put(_News(index, tuple(events), met, over, changes.seen.worst, problem))
        except Exception as error:
            text = f"{found.candidate.id}: reading stopped: {type(error).__name__}: {error}"
            self._news.put(_News(index, (), False, True, changes.seen.worst, text))
        finally:
            live.close()

    def _append(self, frame: Frame) -> str:
        """Adds a check-in entry where one is wanted; returns what went wrong."""
        if self._options.append is None:
            return ""
        try:
            append_checkin(self._options.append, build(frame, now=frame.now))
        except OSError as error:
            return f"--append {self._options.append}: {error.strerror}"
        return ""


def watch(found: Sequence[Found], options: Options, key_map: dict[str, str]) -> int:
    """Watches the runs and prints to standard output; returns the exit code (see `Watch.run`). SIGINT, SIGTERM and
    SIGHUP end it cleanly."""
    watching = Watch(found, options, key_map, sys.stdout)

    def ended(number: int, _: FrameType | None) -> None:
        watching.stop(signal.Signals(number).name)

    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, ended) for number in wanted}
    try:
        return watching.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def line(event: Event) -> str:
    """One event for people: time, run, step, what, and the words."""
    at = "-" if event.step is None else str(event.step)
    of = "" if event.total is None else f"/{event.total}"
    what = f"{event.severity} {event.kind}" if event.severity not in (None, "info") else event.kind
    name = f"{event.finding}" + (f" [{event.subject}]" if event.subject else "") if event.finding else event.state
    since = f" since step {event.onset_step}" if event.onset_step is not None else ""
    quote = f' "{event.quote}"' if event.quote else ""
    verdict = f"  ({event.decision})"
    return f"{_hour(event.time)}  {event.run}  step {at}{of}  {what}  {name}{since}: {event.text}{quote}{verdict}"


def _hour(time: float) -> str:
    """Date and time of day here."""
    return datetime.fromtimestamp(time).strftime("%Y-%m-%d %H:%M:%S")

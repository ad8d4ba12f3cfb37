"""Follows the runs, prints a line for each event, and decides when to end and with which exit code."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import time as clock
from collections.abc import Sequence
from hashlib import sha256
from threading import Event as Flag
from threading import Thread
from types import FrameType
from typing import TextIO

from msgspec import Struct

from rltui import settings
from rltui.discovery.found import Found
from rltui.events.alerts import BELL, Gate, headline, notification
from rltui.events.changes import Event, hour, in_line, iso
from rltui.events.record import EventRecord
from rltui.events.store import folder, forget_old, run_identity
from rltui.evidence.model import SEVERITY_RANK
from rltui.report.checkin import append_text
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.settings.model import AlertSettings
from rltui.text import shown
from rltui.watch.follow import LASTING_ROWS, LASTING_S, MEETS, WAIT_S, Following, Lasting, News, Until
from rltui.watch.hooks import Command, Webhook
from rltui.watch.ledger import Ledger, again, has_grown, mark


class Terminal:
    """Writes to the controlling terminal and never waits for it. Raises OSError if there is none."""

    def __init__(self, own: AlertSettings) -> None:
        self._own = own
        self._handle = os.open("/dev/tty", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)

    def send(self, event: Event) -> None:
        text = notification(headline(event), self._own.notify, os.environ) + (BELL if self._own.bell else "")
        with contextlib.suppress(OSError):  # if the terminal is stopped or gone, the event is still printed
            os.write(self._handle, text.encode())

    def close(self) -> None:
        os.close(self._handle)


CRASHED = 3
"""The exit code after a fault of rltui (`cli.crash`)."""
FAIL = {"never": 3, "critical": 2, "warning": 1}
SEVERITIES = {rank: name for name, rank in SEVERITY_RANK.items()}
SILENT = ("summary", "resumed", "heartbeat")
"""No command runs on these events, nor on a measurement fault, unless --exec-on names their kind."""


class Options(Struct, frozen=True):
    """The options of the command line. `until_rows`, `until_s`: how long the verdict of --until must last. `command`:
    the words of --exec. `exec_on`: the kinds of events that it runs on, () for all but `SILENT`. `timeout_s`,
    `heartbeat_s`: None for none. `notify`: "osc" and addresses. `keep`: save what was reported, so that the same watch
    continues where it stopped if it is started again. `fresh`: do not continue there this time."""

    as_json: bool = False
    until: Until = "end"
    until_rows: int = LASTING_ROWS
    until_s: float = LASTING_S
    fail_on: str = "critical"
    command: tuple[str, ...] = ()
    exec_on: tuple[str, ...] = ()
    append: str | None = None
    timeout_s: float | None = None
    heartbeat_s: float | None = None
    notify: tuple[str, ...] = ()
    keep: bool = False
    fresh: bool = False

    def sinks(self) -> str:
        """A name for the destinations of this watch's events, which distinguishes it from other watches of
        the same run."""
        where = os.path.abspath(self.append) if self.append is not None else None
        told = [self.as_json, self.command, self.exec_on, where, self.notify]
        return sha256(json.dumps(told).encode()).hexdigest()[:12]


class Watch:
    """Watches runs until --until, --timeout or a signal. Each run has its own thread."""

    def __init__(self, found: Sequence[Found], options: Options, key_map: dict[str, str], out: TextIO) -> None:
        self._found = found
        self._options = options
        self._key_map = key_map
        self._out = out
        self._news: queue.Queue[News] = queue.Queue()
        self._stop = Flag()
        self._asked = ""
        self._over = [False] * len(found)
        self._worst = [0] * len(found)
        self._faults: dict[int, Exception] = {}  # by the number of the run
        self._problems: set[str] = set()
        self._gate = Gate(settings.load().alerts)
        self._state_dir = settings.state_dir(os.environ)
        self._ledgers = [Ledger(self._ledger_path(one)) for one in found]
        self._command: Command | None = None
        self._webhooks: dict[str, Webhook] = {}
        self._terminal: Terminal | None = None

    def run(self) -> int:
        """Returns the exit code: 1 if a finding at or above --fail-on was open during the watch, else 0. A signal or a
        time-out does not change that. Raises the first fault of rltui that ended the reading of a run."""
        self._open()
        threads = [
            Thread(target=self._following(i).run, name=f"rltui-watch-{i}", daemon=True) for i in range(len(self._found))
        ]
        for thread in threads:
            thread.start()
        reason = self._listen()
        self._stop.set()
        for thread in threads:
            thread.join(2 * WAIT_S)
        while not self._news.empty():
            self._take(self._news.get_nowait())
        if self._command is not None:
            self._command.close()
        for webhook in self._webhooks.values():
            webhook.close()
        if self._terminal is not None:
            self._terminal.close()
        for ledger in self._ledgers:
            ledger.close()
        fault = next(iter(self._faults.values()), None)
        code = CRASHED if fault is not None else 1 if max(self._worst) >= FAIL[self._options.fail_on] else 0
        self._print_done(reason, code)
        if fault is not None:
            raise fault
        return code

    def stop(self, reason: str) -> None:
        """Ends the watch soon, as its time-out does. For a signal handler or another thread."""
        self._asked = reason

    # -- beginning -----------------------------------------------------------------------------------------------

    def _ledger_path(self, found: Found) -> str | None:
        run = run_identity(found, self._state_dir)
        if not self._options.keep or run is None:
            return None
        return os.path.join(folder(self._state_dir, run, "watch"), f"{self._options.sinks()}.json")

    def _open(self) -> None:
        """Opens ledgers, command and webhooks. Then does the commands and posts that an earlier watch left, and reports
        the events that it was reporting when it was killed."""
        options = self._options
        forget_old(self._state_dir, clock.time())
        for ledger, found in zip(self._ledgers, self._found, strict=True):
            if not ledger.open(self._options.fresh):
                self._tell(f"{found.candidate.id}: another watch like this one is running, so this one saves nothing")
        if options.command:
            self._command = Command(list(options.command), self._tell, lambda event: self._done("exec", event))
        for target in options.notify:
            if target == "osc":
                self._terminal = Terminal(self._gate.own)
            else:
                channel = _channel(target)
                self._webhooks[channel] = Webhook(target, self._tell, lambda e, c=channel: self._done(c, e))  # type: ignore[misc]
        for ledger in self._ledgers:
            for channel in ("exec", *self._webhooks):
                for event in ledger.pending(channel):
                    self._deliver(channel, again(event))
            cut_off = ledger.interrupted()
            if cut_off is None:
                continue
            events, entry, marks = cut_off
            printed = has_grown(marks.get("out"), self._out_mark())
            if printed is not True:
                self._print_all([event if printed is False else again(event) for event in events])
            appended = has_grown(marks.get("append"), mark(options.append) if options.append is not None else None)
            if entry and appended is False:
                self._append(entry)
            ledger.end()

    def _following(self, index: int) -> Following:
        found, options = self._found[index], self._options
        run = run_identity(found, self._state_dir)
        own = settings.load().away
        return Following(
            index,
            found,
            self._key_map,
            options.heartbeat_s,
            options.append is not None,
            self._ledgers[index].seen(),
            EventRecord(self._state_dir, run) if own.enabled and run is not None else None,
            self._news.put,
            self._stop,
            Lasting(MEETS[options.until], options.until_rows, options.until_s),
        )

    # -- the main thread -----------------------------------------------------------------------------------------

    def _listen(self) -> str:
        """Reports the news until there is a reason to end. Returns the reason."""
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
            if self._take(news):
                return f"{self._found[news.index].candidate.id} meets --until {self._options.until}"
            if all(self._over):
                read_none = len(self._faults) == len(self._over)
                return "no run can be read any longer" if read_none else "every run has ended"
        return self._asked

    def _take(self, news: News) -> bool:
        """Reports the news. True if they end the watch."""
        ledger = self._ledgers[news.index]
        if news.events:
            calls = [event for event in news.events if self._gate.lets(event, clock.time())]
            to = dict.fromkeys(self._webhooks, calls)
            if self._command is not None:
                to["exec"] = [event for event in news.events if self._runs_on(event)]
            append = mark(self._options.append) if self._options.append is not None else None
            ledger.begin(news.seen, news.events, news.entry, {"out": self._out_mark(), "append": append}, to)
            self._print_all(news.events)
            if news.entry:
                self._append(news.entry)
            for channel, events in to.items():
                for event in events:
                    self._deliver(channel, event)
            if self._terminal is not None:
                for event in calls:
                    self._terminal.send(event)
            ledger.end()
        else:
            ledger.stands(news.seen)
        for problem in (news.problem, ledger.problem):
            if problem and problem not in self._problems:
                self._problems.add(problem)
                self._tell(problem)
        self._over[news.index] = news.over
        if news.fault is not None:
            self._faults[news.index] = news.fault
        self._worst[news.index] = max(self._worst[news.index], news.worst)
        return news.met

    def _runs_on(self, event: Event) -> bool:
        wanted = self._options.exec_on
        if wanted:
            return event.kind in wanted
        return event.kind not in SILENT and event.finding not in having(Trait.MEASUREMENT)

    def _deliver(self, channel: str, event: Event) -> None:
        if channel == "exec" and self._command is not None:
            self._command.run(event)
        elif channel in self._webhooks:
            self._webhooks[channel].send(event)

    def _done(self, channel: str, event: Event) -> None:
        """Saves that a command or a post has ended. Called from its thread."""
        for ledger in self._ledgers:
            ledger.done(channel, event)

    def _append(self, entry: str) -> None:
        assert self._options.append is not None
        try:
            append_text(self._options.append, entry)
        except OSError as error:
            self._tell(f"--append {self._options.append}: {error.strerror}")

    def _print_all(self, events: Sequence[Event]) -> None:
        """Prints all lines in one write."""
        as_json = self._options.as_json
        texts = [json.dumps(e.as_dict(), ensure_ascii=False) if as_json else in_line(e) for e in events]
        self._print("\n".join(texts))

    def _print(self, text: str) -> None:
        self._out.write(shown(text) + "\n")
        self._out.flush()

    def _out_mark(self) -> list[int] | None:
        try:
            return mark(self._out.fileno())
        except (OSError, ValueError):  # it is not a file of the operating system
            return None

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
            self._print(f"{hour(clock.time())}  done: {reason} (worst finding seen: {worst})")

    @staticmethod
    def _tell(problem: str) -> None:
        print(f"rltui: {shown(problem)}", file=sys.stderr, flush=True)


def _channel(url: str) -> str:
    """A name for an address that does not reveal the address."""
    return f"webhook-{sha256(url.encode()).hexdigest()[:12]}"


def watch(found: Sequence[Found], options: Options, key_map: dict[str, str]) -> int:
    """Watches the runs and prints to standard output. Returns the exit code (see `Watch.run`). SIGINT, SIGTERM and
    SIGHUP end it cleanly, except those that are already ignored, as with nohup, or in a shell with `&`."""
    watching = Watch(found, options, key_map, sys.stdout)

    def ended(number: int, _: FrameType | None) -> None:
        watching.stop(signal.Signals(number).name)

    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    wanted = [number for number in every if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, ended) for number in wanted}
    try:
        return watching.run()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

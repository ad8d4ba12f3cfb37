"""The thread that owns the session: it gets the frames and builds the reports, so that the UI thread only draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Condition, Event, Thread
from typing import TYPE_CHECKING, Protocol, TypeVar

from rltui.tui import panes
from rltui.tui.away import Chronicle
from rltui.tui.messages import (
    Choice,
    DigestMade,
    FirstValuesRead,
    InsightArrived,
    MarksRead,
    PageRead,
    PastArrived,
    ReportArrived,
    RolloutsRead,
    RunAwaited,
    RunsFound,
    SourceFailed,
    Written,
)

if TYPE_CHECKING:
    from textual.app import App
    from textual.message import Message
    from textual.message_pump import MessagePump

    from rltui.report.model import Report
    from rltui.report.names import FirstValues
    from rltui.report.rollouts_page import Query, RolloutBrowser
    from rltui.report.summaries import SummaryCache
    from rltui.session import Frame
    from rltui.session.run_reader import RunReader

POLL_S = 1.0
"""The most seconds that a source sleeps before it checks whether the screen was closed."""
LOOK_EVERY_S = 1.0
"""Seconds between two searches for a run, while there is none yet."""
FIRST_DRAWN_S = 0.5
"""The most seconds that reading waits until the first values are on the screen."""
LAST_WRITE_S = 1.0
"""The most seconds that quitting waits for a file that the user has just asked for."""


T = TypeVar("T")


class FrameSource(Protocol):
    """A run that is open. One thread asks for frames; `close`, `pause` and `ask` may come from another."""

    def next_frame(self, timeout_s: float) -> Frame | None:
        """Waits for news, at most `timeout_s` seconds. None if there is nothing new."""

    def close(self) -> None:
        """Makes a waiting `next_frame` end soon."""

    def ask(self, question: Callable[[RunReader], T]) -> T:
        """The answer to a question about the run, which does not change meanwhile."""


class Opener(Protocol):
    """Finds runs and opens one. Only the worker's threads call it."""

    def first_values(self) -> FirstValues | None:
        """The newest values, if there is just one run and they can be read quickly. None otherwise."""

    def find(self) -> Sequence[Choice]:
        """What can be opened, newest first. Raises an exception with a text for the user if there is nothing."""

    def open(self, index: int) -> FrameSource:
        """Opens one of the runs that `find` returned."""


class Worker:
    """Finds, opens and follows a run in a daemon thread, until `stop`. A second thread answers questions about it."""

    def __init__(self, app: App[None], opener: Opener) -> None:
        self.app = app
        self.opener = opener
        self._stop = Event()
        self.fault: Exception | None = None  # the first error in rltui itself
        self._source: FrameSource | None = None
        self._choices: tuple[Choice, ...] = ()
        self.there: Callable[[], bool] = lambda: True  # whether the user is there
        self.was_read: Callable[[int], None] = lambda opening: (
            None
        )  # called when a run was read to its end, with the number of its opening
        self.first_shown: Callable[[], None] = lambda: None  # called when the first values are on the screen
        self._chronicle: Chronicle | None = None
        self._newest: Frame | None = None
        self._last_rows: int | None = None  # numbers cover only the last this many rows; None: all
        self._opening = 0  # number of the newest opening; loops of older ones end
        self._asked = Condition()
        self._questions: dict[str, Callable[[FrameSource], Message | None]] = {}
        self._answering = False
        self._writes: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._writer: Thread | None = None
        self._rollouts: tuple[tuple[tuple[str, ...], int], RolloutBrowser] | None = None  # by files and revision

    def find(self) -> None:
        """Looks for runs. If there is only one, opens it at once."""
        self._thread(lambda: self._find(open_single=True))

    def list_runs(self) -> None:
        """Looks for runs again and lets the user choose."""
        self._thread(lambda: self._find(open_single=False))

    def open(self, index: int) -> None:
        """Opens a run in place of the one that is open."""
        self._thread(lambda: self._open(index))

    def number_of(self, path: str) -> int | None:
        """The number with which `open` opens the run at a path; None if it was not found."""
        for number, choice in enumerate(self._choices):
            if choice.path == path or choice.path.endswith(f":{path}"):  # a remote run is host:path
                return number
        return None

    def number_of_name(self, name: str) -> int | None:
        """The number with which `open` opens the first run of this name; None if there is none."""
        return next((number for number, choice in enumerate(self._choices) if choice.name == name), None)

    def past(self, step: int) -> None:
        """Asks for the report as it stood at a step. A newer request replaces one that waits."""
        last = self._last_rows
        self._ask("past", lambda source: PastArrived(step, source.ask(lambda run: _past_report(run, step, last))))

    def narrow(self, last_rows: int | None) -> None:
        """Builds reports whose numbers cover only the last rows (None: all). The diagnosis covers the whole run."""
        self._last_rows = last_rows
        frame = self._newest
        if frame is not None:
            self._ask("narrow", lambda _: ReportArrived(self._report(frame)) if frame is self._newest else None)

    def insight(self, around: int, at: int | None, until: int | None) -> None:
        """Asks what moved first around a step, in the rows up to step `until` (None: all). `at`: the step cursor."""
        self._ask("insight", lambda source: InsightArrived(around, at, source.ask(lambda o: o.insight(around, until))))

    def write(self, what: str, write: Callable[[], str]) -> None:
        """Calls `write`, which returns the path that it wrote, and reports the path to the app. One thread writes in
        the order of the requests, so the newer of two writes to one file counts."""

        def work() -> None:
            try:
                self._post(Written(what, write()))
            except (OSError, ValueError) as error:
                self._post(Written(what, "", f"{what} not written: {error}"))

        self._writes.put(work)
        if self._writer is None:
            self._writer = self._thread(self._write_in_order)

    def page(self, word: str, read: Callable[[str], str]) -> None:
        """Reads a page of text."""

        def work() -> None:
            try:
                self._post(PageRead(word, read(word)))
            except (OSError, ValueError) as error:
                self._post(PageRead(word, f"{error}"))

        self._thread(work)

    def marks(self, run_path: str, state_dir: str, place: str) -> None:
        """Reads the user's marks for a run on a machine ("" for this one)."""

        def work() -> None:
            from rltui.report.user_marks import first_time, load_marks

            self._post(MarksRead(load_marks(run_path, state_dir, place), first_time(state_dir)))

        self._thread(work)

    def rollouts(self, asker: MessagePump, files: tuple[str, ...], revision: int, query: Query) -> None:
        """Reads a page of rollouts and sends it to `asker`. A newer request replaces one that waits. `revision` is the
        run's: after new rows the worker looks at the files again."""

        def work(source: FrameSource) -> Message | None:
            from rltui.report.rollouts_page import RolloutBrowser
            from rltui.session.rollouts import rollouts_of

            try:
                if self._rollouts is None or self._rollouts[0] != (files, revision):
                    index = source.ask(lambda opened: rollouts_of(opened, files))
                    framework = source.ask(lambda opened: opened.run.framework)
                    self._rollouts = (files, revision), RolloutBrowser(index, framework)
                read = RolloutsRead(self._rollouts[1].page(query))
            except Exception as error:
                read = RolloutsRead(None, f"the rollouts could not be read: {type(error).__name__}")
            if not self._stop.is_set():
                asker.post_message(read)
            return None

        self._ask("rollouts", work)

    def whole(self, report: Report, step: int | None) -> Report:
        """The report with its outlook, or the report as it stood at a step. Queries the run on the caller's thread, so
        the UI thread must not call it. Raises ValueError if no run is open."""
        from rltui.report.build import build, with_outlook

        if self._source is None:
            raise ValueError("no run is open")
        if step is not None:
            return build(self._source.ask(lambda run: run.with_insight(run.past_frame(step))))
        insight = self._source.ask(
            lambda run: run.onset_insight(report.findings, report.verdict.decision, report.at_step)
        )
        return with_outlook(report, insight)

    def pause(self, on: bool) -> None:
        """Pauses a replay, or the reading of a history, while the screen is paused."""
        pause = getattr(self._source, "pause", None)
        if pause is not None:
            pause(on)

    def digest(self) -> None:
        """Asks what happened while the user was away."""
        chronicle = self._chronicle
        if chronicle is not None:
            chronicle.returned()
            self._thread(lambda: self._post(DigestMade(chronicle.digest())))

    def stop(self) -> None:
        """Asks the threads to end. Waits only for the writer, and not for long, so that quitting is never slow."""
        self._stop.set()
        if self._chronicle is not None:
            self._chronicle.close()
        if self._source is not None:
            self._source.close()
        with self._asked:
            self._asked.notify_all()
        if self._writer is not None:
            self._writes.put(None)
            self._writer.join(LAST_WRITE_S)

    def _thread(self, work: Callable[[], None]) -> Thread:
        thread = Thread(target=work, name="rltui-session", daemon=True)
        thread.start()
        return thread

    def _write_in_order(self) -> None:
        while (work := self._writes.get()) is not None:
            work()

    def _post(self, message: Message) -> None:
        if not self._stop.is_set():
            self.app.post_message(message)

    def _show_first_values(self) -> None:
        try:
            values = self.opener.first_values()
        except Exception:
            return  # `find` meets the same error and reports it
        if values is not None:
            drawn = Event()
            self._post(FirstValuesRead(values))
            self.app.call_after_refresh(drawn.set)
            drawn.wait(FIRST_DRAWN_S)  # the imports that come next would slow the drawing

    def _find(self, open_single: bool) -> None:
        if open_single:
            self._show_first_values()
        panes.load()
        from rltui.discovery.found import NothingYet  # loaded by then

        while True:
            try:
                choices = self._choices = tuple(self.opener.find())
                break
            except Exception as error:
                opened = self._source is not None
                if opened or not isinstance(error, NothingYet):
                    self._post(SourceFailed(f"{error}" or type(error).__name__, opened=opened))
                    return
                self._post(RunAwaited(f"{error}"))
            if self._stop.wait(LOOK_EVERY_S):
                return
        if len(choices) == 1 and open_single:
            self._open(0)
        else:
            self._post(RunsFound(choices))

    def _open(self, index: int) -> None:
        self._opening += 1
        opening, before = self._opening, self._source
        self._newest, self._last_rows = None, None
        self._rollouts = None
        if before is not None:
            before.close()
        try:
            self._source = source = self.opener.open(index)
        except Exception as error:
            self._post(SourceFailed(f"{error}" or type(error).__name__, opened=before is not None))
            return
        from rltui.report.summaries import SummaryCache  # it loads numpy, which the screen need not wait for

        cache, shown, told = SummaryCache(), Event(), False
        found = getattr(source, "found", None)  # a replay has none, because it reports no news
        chronicle = self._chronicle = Chronicle(found, self.there) if found is not None else None
        try:
            while not self._stop.is_set() and opening == self._opening:
                frame = source.next_frame(POLL_S)
                if frame is not None and opening == self._opening:
                    self._newest = frame
                    try:
                        report = self._report(frame, cache)
                        self._post(ReportArrived(report))
                        for message in chronicle.take(report) if chronicle is not None else ():
                            self._post(message)
                    except Exception as error:  # the next row may work
                        self._failed("this row is not shown", error)
                    if not shown.is_set():  # reading on at once would slow the drawing of the first values
                        self.app.call_after_refresh(shown.set)
                        shown.wait(FIRST_DRAWN_S)
                        shown.set()
                        self.first_shown()
                    if frame.loading.done and not told:
                        told = True
                        self.was_read(opening)
        except Exception as error:
            if opening == self._opening:
                self._failed("reading stopped", error)
        finally:
            if chronicle is not None:
                chronicle.close()
            source.close()

    def _failed(self, what: str, error: Exception) -> None:
        """Reports an error in rltui itself: on the screen now, and like any other error when the screen is left."""
        from rltui.evidence.guard import error_text  # not before the first paint

        self.fault = self.fault or error
        self._post(SourceFailed(f"{what}, by a fault of rltui: {error_text(error)}", opened=True))

    def _report(self, frame: Frame, cache: SummaryCache | None = None) -> Report:
        from rltui.report.build import build

        if self._last_rows is not None:
            frame, cache = frame.narrowed(last_rows=self._last_rows), None
        return build(frame, cache=cache)

    def _ask(self, kind: str, question: Callable[[FrameSource], Message | None]) -> None:
        with self._asked:
            self._questions[kind] = question
            self._asked.notify()
            if not self._answering:
                self._answering = True
                self._thread(self._answer)

    def _answer(self) -> None:
        while not self._stop.is_set():
            with self._asked:
                self._asked.wait_for(lambda: self._questions or self._stop.is_set())
                question = self._questions.pop(next(iter(self._questions)), None) if self._questions else None
            source = self._source
            if question is None or source is None:
                continue
            try:
                answer = question(source)
            except Exception as error:  # it is reported, and the next question is still answered
                self._post(SourceFailed(f"no answer: {type(error).__name__}: {error}", opened=True))
                continue
            if answer is not None and source is self._source:
                self._post(answer)


def _past_report(opened: RunReader, step: int, last_rows: int | None) -> Report:
    from rltui.report.build import build

    frame = opened.past_frame(step)
    return build(frame if last_rows is None else frame.narrowed(last_rows=last_rows))

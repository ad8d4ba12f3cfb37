"""One open run: reads and follows its files, and keeps history, config, notes and diagnosis up to date."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rltui import cooperate
from rltui.discovery.found import Found
from rltui.evidence.guard import Guard, error_text
from rltui.hardware.base import HardwareSample
from rltui.hardware.recorded import Recorded
from rltui.readers.formats import alike
from rltui.records import cached
from rltui.run.phases import NO_PHASES
from rltui.run.run import Run, RunState
from rltui.session.choice import choose
from rltui.session.ends import ALL, QUIET_S, Extent
from rltui.session.frame import Frame, Loading, snapshot
from rltui.session.intake import Intake
from rltui.session.known import NOT_KNOWN, Known, known
from rltui.session.surroundings import Surroundings
from rltui.settings import SettingsError
from rltui.sources import memory
from rltui.sources.base import FileStat

if TYPE_CHECKING:
    from rltui.diagnosis.engine import Engine
    from rltui.diagnosis.insight import Insight
    from rltui.evidence.model import Decision, Diagnosis, Finding
    from rltui.run.table import Series
    from rltui.session.container_feeds import AnyFeed
    from rltui.session.samples import Asked, RunSamples

LONG = 4 << 20
"""If the history is larger than this, its end is read first."""
AT_ONCE = 1 << 20
"""Bytes read at once while a screen must react to keys, or if the run is on another machine."""
AT_ONCE_UNSEEN = 4 * AT_ONCE
"""Bytes read at once if no screen waits: saves a sixth of the CPU time for about 20 MB more memory."""
REST_S = 0.5
"""A file with nothing new for this long is quiet: rows that its reader held back are shown."""
MACHINE_EVERY_S = 30.0
"""Without new rows, the machine is judged this often."""


class RunReader:
    """Reads all files of one run, then follows them. One thread owns it; frames may be passed to other threads. If only
    the ends are read, there is no diagnosis, and `known` returns what is known."""

    def __init__(
        self,
        found: Found,
        *,
        follow: bool = False,
        key_map: dict[str, str] | None = None,
        until_step: int | None = None,
        samples: Callable[[], tuple[HardwareSample, ...]] = tuple,
        extent: Extent | None = ALL,
        window: int | None = None,
    ) -> None:
        candidate = found.candidate
        self.place = found.place
        self.follow = follow
        self.run = Run(candidate.name, candidate.root)
        self.run.followed = follow
        self.run.scheduled = found.job is not None and found.job.state == "RUNNING"
        self.run.key_map = dict(key_map or {})
        self._around = Surroundings(self.run, found)
        self._guard = Guard()
        self._samples = samples
        self._window = window
        self._diagnosis: Diagnosis | None = None
        self._judged: Diagnosis | None = None  # the newest diagnosis that did not fail
        self.fault: Exception | None = None  # the error that stopped the diagnosis
        self._revision = 0
        self._series: tuple[int, Mapping[str, Series]] | None = None  # the columns as of a revision
        self._stands: object = None
        self._done = False
        self._until_step = until_step
        self.short_of: int | None = None
        """The newest step of a run that never reached `until_step`; else None."""
        self._read_bytes = 0
        self.cancelled = False  # set by another thread: reading ends at the next block
        self._extent = extent
        self._recorded = Recorded()
        self._judged_at = 0.0
        self._stirred: dict[str, float] = {}  # file -> when it last brought something; removed when it is quiet
        self.feeds, self._ignored = choose(found, extent)
        for feed in self.feeds:
            self.run.history.add_part(feed.part)
        self._number_attempts(found)
        self._unread = [feed for feed in self.feeds if not feed.gap]
        self._intake = Intake(self.run, self.feeds)
        if extent is ALL:
            self._guard.ask("checkpoint directories", None, self._around.find_checkpoints)
        self._guard.ask("config files", None, self._around.read_configs)

    @property
    def long(self) -> bool:
        """Whether reading the history takes long enough to be noticed."""
        return sum(feed.size for feed in self.feeds) >= LONG

    def admit(self, found: Found) -> bool:
        """Adds files and checkpoints that appeared in the run's directory, and files that turned out to have another
        format. True if there are any."""
        known = {feed.path: feed for feed in self.feeds}
        chosen, self._ignored = choose(found)
        new = [feed for feed in chosen if feed.path not in known or not alike(feed.format, known[feed.path].format)]
        left_out = {source.path for source in self._ignored}
        before = self.run.checkpoints
        self._guard.ask("files beside the logs", None, self._around.found_again, found)
        for feed in new:
            if (old := known.get(feed.path)) is not None:
                self._leave(old)
            self.run.history.add_part(feed.part)
        self.feeds += new
        self._number_attempts(found)
        for old in [feed for feed in self.feeds if feed.path in left_out]:  # an older copy of a new file
            self._leave(old)
        self._intake.feeds_changed()
        self._guard.ask("search for rollouts", None, self._around.look_for_dumps, True)
        if new or self.run.checkpoints != before:
            self._identify()
            return True
        self._want_samples()
        return False

    def _leave(self, feed: AnyFeed) -> None:
        feed.close()
        self.feeds.remove(feed)
        self.run.history.remove_part(feed.part)

    def _number_attempts(self, found: Found) -> None:
        number = {path: n for n, paths in enumerate(found.candidate.attempts, 1) for path in paths}
        for feed in self.feeds:
            feed.part.attempt = number.get(feed.path, 0)

    # -- reading -------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Reads every file to its end."""
        most = AT_ONCE_UNSEEN if self.place.link() is None else AT_ONCE
        while not self.cancelled and not self.read_block(most).done:
            pass

    def read_block(self, most: int = AT_ONCE) -> Loading:
        """Reads the next block of the history, at most `most` bytes. `done`: every file was read to its end."""
        if not self._read_bytes and self.long:
            memory.keep()
        cooperate.give_way()
        while self._unread:
            feed = self._unread[0]
            batch, _ = self._intake.read(feed, most)
            self._read_bytes += batch.bytes_read
            if not batch.more:
                self._stirred[feed.path] = clock.monotonic()
                if not self.follow or clock.time() - feed.mtime > QUIET_S:
                    self._intake.finish(feed)
                self._unread.pop(0)
            if batch.bytes_read or batch.more:
                break
        if not self._unread and not self._done:
            self._done = self._intake.is_news = True
            if self.long:
                memory.give_back()
            self._cut_to_step()
            self._identify()
            if self.follow:
                self.run.listen()
        return self.loading()

    def loading(self) -> Loading:
        what = os.path.basename(self._unread[0].path) if self._unread else ""
        return Loading(self._read_bytes, max(self._read_bytes, sum(f.size for f in self.feeds)), what, self._done)

    def _cut_to_step(self) -> None:
        """Drops what came after `until_step`."""
        if self._until_step is None:
            return
        self._identify()  # names show which rows of two files are the same
        steps = self.run.history.table.steps
        newest = int(steps.max()) if len(steps) else None
        self.short_of = newest if newest is not None and newest < self._until_step else None
        self.run.history.cut(self._until_step)
        self.run.forget_after(self._until_step)

    def poll(self) -> bool:
        """Reads what is new. True if anything changed."""
        changed = False
        for feed in self.feeds:
            more = True
            while more and not self.cancelled:
                batch, news = self._intake.read(feed)
                changed |= news
                if batch.bytes_read:
                    self._stirred[feed.path] = clock.monotonic()
                more = batch.more and batch.bytes_read > 0  # over a slow or broken link the rest comes later
        if changed:
            self._identify()
            self.run.heard(clock.time())
        return changed

    def rest(self) -> bool:
        """Takes the rows that readers hold back from files that have become quiet. True if there are any."""
        quiet = clock.monotonic() - REST_S
        resting = [feed for feed in self.feeds if self._stirred.get(feed.path, quiet) < quiet]
        for feed in resting:
            del self._stirred[feed.path]
        held = [self._intake.rest(feed) for feed in resting]
        self._stirred |= {feed.path: clock.monotonic() for feed in resting if feed.waits}
        changed = any(held)
        if changed:
            self._identify()
            if self.run.pulse.heard:
                self.run.heard(clock.time())
            else:
                self.run.listen()  # these rows were there before, so they are not a sign of life
        return changed

    def aged(self, now: float) -> bool:
        """Called while nothing is read. True if the run's state has changed since the last diagnosis, or if the
        diagnosis is `MACHINE_EVERY_S` old and there are hardware samples."""
        if not self._done or not self.follow:
            return False
        stands = _standing(self.run.state(now))
        measured = now - self._judged_at >= MACHINE_EVERY_S and bool(self._samples())
        if stands == self._stands and not measured:
            return False
        self._stands, self._diagnosis = stands, None
        self._revision += 1
        return True

    def sampled(self) -> bool:
        """Takes the rollout samples that the other thread has read. True if they are new."""
        latest = self._sampled.latest if "_sampled" in self.__dict__ else None
        if latest is None or latest is self.run.samples:
            return False
        self.run.samples, self._diagnosis = latest, None
        self._revision += 1
        return True

    def wait(self, timeout_s: float) -> bool:
        """Blocks until a file of the run may have changed, for at most `timeout_s`."""
        files = [path for f in self.feeds for path in f.watched]
        return self.place.wait([*files, *self._around.dirs], timeout_s)

    def close(self) -> None:
        for feed in self.feeds:
            feed.close()
        if "_sampled" in self.__dict__:
            self._sampled.close()

    # -- what was read -------------------------------------------------------------------------------------------

    def _identify(self) -> None:
        """Updates framework, names and source notes after new records."""
        self._intake.identify()
        counting_first = sorted(self.feeds, key=lambda f: f.part.rank, reverse=True)
        self.run.sources = [self._intake.told(f) for f in counting_first] + self._ignored
        self._revision += 1
        self._diagnosis = None
        if self._done and self._extent is ALL:
            self._guard.ask("search for rollouts", None, self._around.look_for_dumps, False)
        self._want_samples()

    def _want_samples(self) -> None:
        """Asks a separate thread to read the samples of a followed run."""
        if self.follow and self._done and self._extent is ALL:
            self._sampled.want(self._asked(None))

    @cached
    def _sampled(self) -> RunSamples:
        from rltui.session.samples import RunSamples  # after the first values are on the screen

        return RunSamples(self.place, self.run)

    def _asked(self, step: int | None) -> Asked:
        return self._sampled.asked(self.dumps(), self.feeds, step)

    def dumps(self) -> list[FileStat]:
        """The files that hold rollouts."""
        return self._around.dumps()

    def _read_samples(self, step: int | None) -> None:
        """Reads the samples by which a run that is not followed is judged at a step."""
        if self.follow or self._extent is not ALL:
            return
        samples = self._sampled.read(self._asked(step))
        self.run.samples = samples if self._until_step is None else replace(samples, nameless=None)

    @cached
    def _engine(self) -> Engine:
        from rltui import settings  # after the first values are on the screen
        from rltui.diagnosis.engine import Engine
        from rltui.rules.catalogue import adjusted

        return Engine(self._window, adjusted(settings.load()))

    # -- what others see -----------------------------------------------------------------------------------------

    def known(self, now: float) -> Known:
        """What is known about the run at `now`, seconds since the epoch."""
        return known(self.run, self.feeds, now, self._done)

    def diagnosis(self, state: RunState | None = None) -> Diagnosis:
        """The diagnosis of all rows read so far. During the first read it is a placeholder that says so. `state`: the
        run's current state, if known."""
        from rltui.evidence.model import stuck, unread  # imported here, as a list of runs needs no diagnosis

        if not self._done or self._extent is not ALL:
            return unread()
        if state is not None and _standing(state) != self._stands:
            self._diagnosis = None  # the diagnosis was made for another state
        if self._diagnosis is None:
            state = state or self.run.state(clock.time())
            self._stands = _standing(state)
            self.run.hardware = self._hardware()
            self._judged_at = clock.time()
            self._guard.ask("samples of rollouts", None, self._read_samples, self._until_step)
            try:
                self._diagnosis = self._judged = self._engine.advance(self.run, state=state)
                self.fault = None
            except SettingsError:  # the user must correct it: it is not a bug in rltui
                raise
            except Exception as error:  # what was read is still shown
                self.fault, self._diagnosis = error, stuck(self._judged, error_text(error))
        return self._diagnosis

    def _hardware(self) -> tuple[HardwareSample, ...]:
        """Hardware samples. For a run that writes now, those sampled now. For any other run, those recorded with it, as
        it may have run elsewhere; if nothing was recorded, those sampled now."""
        recorded = self._recorded.of(self.run.recorded_hardware)
        return recorded if recorded and not self.run.pulse.heard else self._samples() or recorded

    def past_frame(self, step: int) -> Frame:
        """The run as it was at a step, without any later row, note or sample."""
        rows = self._rows_until(step)
        whole = self.frame()
        self._guard.ask("samples of rollouts", None, self._read_samples, step)
        phases = self._guard.ask("phase times", NO_PHASES, self.run.phases, rows)
        return whole.until(step, self._engine.at(self.run, rows), phases)

    def insight(self, around: int, at: int | None = None) -> Insight:
        """Answers about step `around` from the rows up to step `at` (None: all). This is too slow to do at every
        row."""
        rows = self._rows_until(at)
        seen = self.diagnosis() if at is None else self._engine.at(self.run, rows)
        return self._insight(around, rows, seen.findings, seen.verdict.decision)

    def _rows_until(self, at: int | None) -> int:
        """The number of rows up to step `at` (None: all)."""
        table = self.run.history.table
        return table.n if at is None else int(table.steps.searchsorted(at, "right"))

    def _insight(self, around: int, rows: int, findings: tuple[Finding, ...], decision: Decision) -> Insight:
        told = self._engine.insight(self.run, rows, around, findings, decision)
        if rows < self.run.history.table.n or self.run.state(clock.time()).state == "running":
            return told
        return replace(told, forecasts=tuple(f for f in told.forecasts if f.what != "end"))  # the run may not continue

    def with_insight(self, frame: Frame) -> Frame:
        """The frame with what a full report adds to the diagnosis: answers about the onset of its worst finding."""
        seen = frame.diagnosis
        insight = self.onset_insight(seen.findings, seen.verdict.decision, seen.at_step)
        return replace(frame, insight=insight, failed=self._guard.told())

    def onset_insight(self, findings: tuple[Finding, ...], decision: Decision, at: int | None) -> Insight | None:
        """The insight about the onset of the worst of these findings, for this decision at step `at`. None before the
        first row or if the diagnosis failed."""
        from rltui.diagnosis.insight import worst

        asked = worst(findings)
        around = asked.onset_step if asked is not None and asked.onset_step is not None else at
        if around is None or self.fault is not None:
            return None
        return self._guard.ask("insight", None, self._insight, around, self._rows_until(at), findings, decision)

    def _columns(self) -> Mapping[str, Series]:
        """The run's columns. They are the same object until something new is read, so that what was drawn from it stays
        valid."""
        if not self._done or self._series is None or self._series[0] != self._revision:
            self._series = self._revision, self.run.columns()
        return self._series[1]

    def frame(self, now: float | None = None) -> Frame:
        """The current state as one immutable message. `now`: the moment for which it is judged (default: the clock's
        time)."""
        aged_at = clock.time() if now is None and self.follow else now
        now = clock.time() if now is None else now
        told = self.known(now)
        state = told.state or NOT_KNOWN
        diagnosis = self.diagnosis(state)  # reads samples, so it comes first
        return Frame(
            run=replace(
                snapshot(self.run, state, self._guard.ask("phase times", NO_PHASES, self.run.phases)),
                framework=told.framework,
                algorithm=told.algorithm,
                planned_steps=told.planned_steps,
            ),
            diagnosis=diagnosis,
            series=self._columns(),
            log=tuple(self._intake.log),
            notes=tuple(note for note in dict.fromkeys(self.run.notes) if note not in self._intake.repeated),
            hardware=self._hardware(),
            loading=self.loading(),
            now=now,
            aged_at=aged_at,
            live=self.follow,
            revision=self._revision,
            rollout_files=self._around.rollout_files,
            stall=state.card if self.follow and self._done else None,
            place=self.place.name,
            link=self.place.link(),
            failed=self._guard.told(),
        )


def _standing(state: RunState) -> tuple[object, ...]:
    return state.state, state.card.verdict if state.card is not None else None, state.sure, state.broke_off

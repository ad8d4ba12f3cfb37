"""A run that is being watched. It hands out a frame each time there is something new to show. A replay hands out the
frame after each row, without anything later."""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable
from threading import Event, Lock
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from rltui.discovery.found import Found
from rltui.evidence.model import unread
from rltui.hardware.base import HardwareSample
from rltui.hardware.processes import Belonging, ProcessWatch
from rltui.hardware.sampler import Sampler
from rltui.run.run import Run
from rltui.session.ends import NEWEST
from rltui.session.frame import Frame
from rltui.session.locate import look_again, short_ones
from rltui.session.run_reader import RunReader

if TYPE_CHECKING:
    from rltui.session.remote_hardware import RemoteSampler

PAINT_EVERY_S = 0.25
"""While the history is read, a frame is made this often: progress shows, and reading is hardly slower."""

HARDWARE_EVERY_S = 2.0
"""Without new rows, new hardware samples make a frame this often."""

REST_EVERY_S = 10.0
"""Replaces `HARDWARE_EVERY_S` if the run is over or its log merely ends. The machine is then checked this often too."""

REST_AFTER_S = 60.0
"""`REST_EVERY_S` holds only after nothing was written for this long."""

GLANCE_EVERY_S = 5.0
"""The ends of the files are read again this often while a history loads slowly (a slow link)."""

LOOK_AGAIN_S = 30.0
"""The run's directory is searched for new files this often."""

LOOK_AGAIN_AT_ONCE_S = 2.0
"""Replaces `LOOK_AGAIN_S` if something woke us and no known file had changed."""

WAITING_EVERY_S = 30.0
"""A slow or hung run gets a new frame this often, as its evidence grows."""


T = TypeVar("T")
FRAMES_PER_S = 8.0
"""The eye cannot follow more frames a second, so a faster replay skips rows."""


class LiveRun:
    """Reads and follows one run on the caller's thread. Only `close`, `ask` and `pause` are thread-safe."""

    def __init__(
        self,
        found: Found,
        *,
        key_map: dict[str, str] | None = None,
        sampler: Sampler | RemoteSampler | None = None,
    ) -> None:
        remote = None
        if found.place.name or found.job is not None:
            from rltui.session.remote_hardware import remote_sampler

            remote = remote_sampler(found)
        self._sampler = sampler = remote or sampler
        self._found = found
        self.found = found  # as it was opened
        self._key_map = key_map
        self._glanced: Frame | None = None
        self._glanced_at = 0.0
        self._formats: dict[str, str | None] = {}
        self._looked = clock.monotonic()
        self.opened = RunReader(found, follow=True, key_map=key_map, samples=self._samples)
        local = found.place.name == ""
        files = [path for feed in self.opened.feeds for path in feed.watched]
        self._processes = ProcessWatch(files, found.candidate.root) if local else None
        directories = _directories(files, self.opened.run)
        if remote is not None:
            remote.attend(directories)
        elif isinstance(sampler, Sampler) and local:
            sampler.attend(Belonging(found.candidate.root, self._pids), directories)
        self._sent_hardware = self._sent = self._felt = 0.0
        self._waiting = self._resting = False
        self._closed = False
        self._still = Lock()
        self._reads = Event()  # set while the reading of the history may continue
        self._reads.set()

    def ask(self, question: Callable[[RunReader], T]) -> T:
        """Asks the run a question from another thread. The question runs while `next_frame` only waits."""
        with self._still:
            return question(self.opened)

    def next_frame(self, timeout_s: float) -> Frame | None:
        """Reads what is new, and waits at most `timeout_s` for it; None if there is nothing new to show."""
        if self._closed:
            return None
        if self._holds():
            self._reads.wait(timeout_s)
            if self._holds() and clock.monotonic() - self._glanced_at <= GLANCE_EVERY_S:
                return None
        with self._still:
            if not self.opened.loading().done:
                return self._loading()
            changed = self.opened.poll()
            if changed:
                return self._news(True)
        woken = self.opened.wait(timeout_s)
        with self._still:
            changed = woken and self.opened.poll()
            changed = self.opened.rest() or changed
            changed = self._look_again((woken and not changed) or self._may_be_otherwise()) or changed
            return self._news(changed)

    def pause(self, on: bool) -> None:
        """Pauses the reading of a long history, or resumes it, from another thread. The ends of the files are still
        read."""
        if on:
            self._reads.clear()
        else:
            self._reads.set()

    def _holds(self) -> bool:
        return not self._reads.is_set() and self._glanced is not None and not self.opened.loading().done

    def _news(self, changed: bool) -> Frame | None:
        """The frame after checking the files; None if nothing is new."""
        latest = self._sampler.latest() if self._sampler is not None else None
        now = self._now()
        pause = REST_EVERY_S if self._resting else HARDWARE_EVERY_S
        if changed or not self._resting or clock.monotonic() - self._felt >= REST_EVERY_S:
            self._feel(latest)
        changed = self.opened.sampled() or changed
        changed = self.opened.aged(now) or changed
        if changed or (latest is not None and latest.time - self._sent_hardware >= pause):
            self._sent_hardware = latest.time if latest is not None else 0.0
            return self._frame(now)
        if now - self._sent >= WAITING_EVERY_S and self._waiting:
            return self._frame(now)
        return None

    def _loading(self) -> Frame:
        """The next frame while the history is read: first the ends of the files, then the progress, then the whole
        history."""
        if self.opened.long and clock.monotonic() - self._glanced_at > GLANCE_EVERY_S:
            glance = RunReader(self._found, follow=True, key_map=self._key_map, samples=self._samples, extent=NEWEST)
            glance.load()
            first = self._glanced is None
            self._glanced, self._glanced_at = glance.frame(), clock.monotonic()
            if first or self._holds():
                return self._progress(self._glanced)
        if self._sampler is not None:
            self._sampler.start()  # after the first values: its imports would delay them
        until = clock.monotonic() + PAINT_EVERY_S
        while not self._closed and not self.opened.read_block().done and clock.monotonic() < until:
            pass
        if self.opened.loading().done or self._glanced is None:
            return self.opened.frame()
        return self._progress(self._glanced)

    def _progress(self, glanced: Frame) -> Frame:
        return replace(glanced, loading=self.opened.loading(), diagnosis=unread(), now=clock.time())

    def _may_be_otherwise(self) -> bool:
        """Whether a file that was too short to show its format for sure has grown since it was examined."""
        short = short_ones(self._found)
        return any(feed.size > short.get(feed.path, feed.size) for feed in self.opened.feeds)

    def _look_again(self, woken: bool) -> bool:
        """Adds files that appeared in the run's directory. True if there are any."""
        since = clock.monotonic() - self._looked
        if since < (LOOK_AGAIN_AT_ONCE_S if woken else LOOK_AGAIN_S):
            return False
        self._looked = clock.monotonic()
        found = look_again(self._found, self._formats)
        if found is None:
            return False
        self._found = found
        return self.opened.admit(found) and (self.opened.poll() or True)

    def _frame(self, now: float) -> Frame:
        frame = self.opened.frame(now)
        self._sent, self._waiting = now, frame.stall is not None and frame.stall.verdict in ("slow", "hung")
        ended = frame.stall is not None and (frame.stall.over or frame.stall.verdict == "unknown")
        self._resting = ended and now - (self.opened.run.pulse.output_at or 0.0) >= REST_AFTER_S
        if isinstance(self._sampler, Sampler):
            self._sampler.rest(REST_EVERY_S if self._resting else 0.0)
        return frame

    def _feel(self, latest: HardwareSample | None) -> None:
        """Takes the newest facts about processes and GPUs."""
        self._felt = clock.monotonic()
        pulse = self.opened.run.pulse
        if self._processes is not None:
            pulse.feel(self._processes.look(), clock.time())
        if latest is not None:
            pulse.gpus = latest.gpus

    def _pids(self) -> list[int]:
        """The run's known processes. The sampler's thread calls this."""
        return [fact.pid for fact in self.opened.run.pulse.processes]

    def _now(self) -> float:
        """The moment for which the run is judged. While a remote machine cannot be reached, it is the moment when the
        connection was lost: later silence shows nothing about the run."""
        link = self.opened.place.link()
        return clock.time() if link is None or link.state == "connected" else link.since

    def _samples(self) -> tuple[HardwareSample, ...]:
        return () if self._sampler is None else tuple(self._sampler.history().samples)

    def close(self) -> None:
        """Makes a running `next_frame` return soon; safe from another thread."""
        self._closed = self.opened.cancelled = True
        self._reads.set()
        if self._sampler is not None:
            self._sampler.stop()


def _directories(files: list[str], run: Run) -> dict[str, str]:
    """Purpose -> directory of the run, for the file systems whose free space matters."""
    saved = [os.path.dirname(checkpoint.path) for checkpoint in run.checkpoints[-1:]]
    places = {"checkpoints": saved, "log": [os.path.dirname(path) for path in files[:1]]}
    return {what: paths[0] for what, paths in places.items() if paths}


class Replay:
    """Replays a run at `speed` rows a second on the caller's thread. Only `close`, `pause` and `ask` are
    thread-safe."""

    def __init__(self, found: Found, *, key_map: dict[str, str] | None = None, speed: float) -> None:
        self.opened = RunReader(found, key_map=key_map)
        self.speed = speed
        self._row = 0.0
        self._at = 0.0
        self._ended = False
        self._paused = Event()
        self._closed = Event()
        self._still = Lock()

    def ask(self, question: Callable[[RunReader], T]) -> T:
        """See `LiveRun.ask`."""
        with self._still:
            return question(self.opened)

    def pause(self, on: bool) -> None:
        """Pauses or resumes the replay."""
        if on:
            self._paused.set()
        else:
            self._paused.clear()

    def next_frame(self, timeout_s: float) -> Frame | None:
        """The next frame; None if no frame is due within `timeout_s` seconds, for example when paused or at the end."""
        if not self.opened.loading().done:
            with self._still:
                self.opened.load()
        now = clock.monotonic()
        if self._ended or self._paused.is_set():
            self._closed.wait(timeout_s)
            self._at = clock.monotonic()
            return None
        due = self._at + max(1.0 / self.speed, 1.0 / FRAMES_PER_S)
        if now < due and self._closed.wait(due - now):
            return None
        now = clock.monotonic()
        self._row += max(1.0, (now - self._at) * self.speed) if self._at else 1.0
        self._at = now
        with self._still:
            steps = self.opened.run.history.table.steps
            if int(self._row) >= len(steps):
                self._ended = True
                return self.opened.frame()
            return self.opened.past_frame(int(steps[int(self._row) - 1]))

    def close(self) -> None:
        """Makes a running `next_frame` return soon; safe from another thread."""
        self._closed.set()
        self.opened.cancelled = True

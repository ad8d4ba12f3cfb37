"""A run under watch: hands out a frame whenever there is something new to show."""

from __future__ import annotations

import time as clock

from rltui.hardware.base import HardwareSample
from rltui.hardware.process import ProcessWatch
from rltui.hardware.sampler import Sampler
from rltui.session.frame import Frame
from rltui.session.locate import Found
from rltui.session.opened import OpenedRun

PAINT_EVERY_S = 0.25
"""While the history is read a frame goes out this often: progress is seen, the reading is not slowed by painting."""

HARDWARE_EVERY_S = 2.0
"""New hardware samples alone bring a frame this often."""

WAITING_EVERY_S = 30.0
"""A run that is slow or hung brings one this often: its evidence grows."""


class LiveRun:
    """Reads and follows one run on the caller's thread. Not thread-safe but for `close`."""

    def __init__(
        self,
        found: Found,
        *,
        key_map: dict[str, str] | None = None,
        sampler: Sampler | None = None,
    ) -> None:
        self._sampler = sampler
        self.opened = OpenedRun(found, follow=True, key_map=key_map, samples=self._samples)
        if sampler is not None:
            sampler.start()
        local = found.place.name == ""
        files = [path for feed in self.opened.feeds for path in feed.watched]
        self._processes = ProcessWatch(files, found.candidate.root) if local else None
        self._sent_hardware = self._sent = 0.0
        self._waiting = False
        self._closed = False

    def next_frame(self, timeout_s: float) -> Frame | None:
        """Reads what is new, waiting at most `timeout_s` for it; None when there is nothing new to show."""
        if self._closed:
            return None
        if not self.opened.loading().done:
            until = clock.monotonic() + PAINT_EVERY_S
            while not self._closed and not self.opened.read_block().done and clock.monotonic() < until:
                pass
            return self.opened.frame()
        changed = self.opened.poll()
        if not changed and self.opened.wait(timeout_s):
            changed = self.opened.poll()
        latest = self._sampler.latest() if self._sampler is not None else None
        now = self._now()
        self._feel(latest)
        changed = self.opened.aged(now) or changed
        if changed or (latest is not None and latest.time - self._sent_hardware >= HARDWARE_EVERY_S):
            self._sent_hardware = latest.time if latest is not None else 0.0
            return self._frame(now)
        if now - self._sent >= WAITING_EVERY_S and self._waiting:
            return self._frame(now)
        return None

    def _frame(self, now: float) -> Frame:
        frame = self.opened.frame(now)
        self._sent, self._waiting = now, frame.stall is not None and frame.stall.verdict in ("slow", "hung")
        return frame

    def _feel(self, latest: HardwareSample | None) -> None:
        """Takes the newest facts of processes and GPUs."""
        pulse = self.opened.run.pulse
        if self._processes is not None:
            pulse.processes = self._processes.look()
        if latest is not None:
            pulse.gpus = latest.gpus

    def _now(self) -> float:
        """The time by which the run is judged. While a remote machine is out of reach its silence is not the run's."""
        link = self.opened.place.link()
        return clock.time() if link is None or link.state == "connected" else link.since

    def _samples(self) -> tuple[HardwareSample, ...]:
        return () if self._sampler is None else tuple(self._sampler.history().samples)

    def close(self) -> None:
        """Ends a running `next_frame` soon; safe from another thread."""
        self._closed = True
        if self._sampler is not None:
            self._sampler.stop()

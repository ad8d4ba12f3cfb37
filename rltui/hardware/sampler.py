"""Samples this machine's hardware in a separate thread, so that nothing else waits for a driver that hangs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Event, Lock, Thread

from rltui.hardware.base import HardwareHistory, HardwareSample

PROCESSES_EVERY = 5  # samples: the holders of GPU memory change more slowly than power
ROLES_EVERY = 10  # samples, as a search goes through all processes of the machine
STOP_WAIT_S = 1.0  # no longer wait for a thread that hangs in the driver; it is a daemon


class Sampler:
    """Takes GPU and host samples every `interval_s` seconds. `latest` and `history` never wait for the driver.

    `disk_path`: any path on the file system whose free space is read (the run's directory), or None.
    """

    def __init__(self, node: str, disk_path: str | None, interval_s: float = 2.0) -> None:
        self.node = node
        self._disk_path = disk_path
        self._interval_s = interval_s
        self._least_s = 0.0
        self._disks: Mapping[str, str] = {}
        self._belongs: Callable[[int], bool | None] | None = None
        self._history = HardwareHistory()
        self._latest: HardwareSample | None = None
        self._lock = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def attend(self, belongs: Callable[[int], bool | None], disks: Mapping[str, str]) -> None:
        """Sets the watched run. `belongs`: whether a pid is part of it; the sampler's thread calls this. `disks`:
        purpose -> directory of the run. Call it before `start`."""
        self._belongs, self._disks = belongs, dict(disks)

    def start(self) -> None:
        """Starts sampling. Does nothing if it already runs."""
        if self._thread is None:
            self._stopped = Event()  # a new event: an old thread that still hangs in the driver must end later
            self._thread = Thread(target=self._work, args=(self._stopped,), name="hardware", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(STOP_WAIT_S)

    def rest(self, least_s: float) -> None:
        """Leaves at least `least_s` seconds between samples from the next one on. 0: the usual interval."""
        self._least_s = least_s

    def latest(self) -> HardwareSample | None:
        """The newest sample; None before the first one. The first sample holds only the host, as the driver has not
        been asked yet."""
        return self._latest

    def history(self) -> HardwareHistory:
        """A copy of the samples kept so far."""
        with self._lock:
            return HardwareHistory(self._history.limit, list(self._history.samples))

    def _work(self, stopped: Event) -> None:
        # imported here: both load native libraries, and the screen must not wait for them
        from rltui.hardware.gpu import GpuReader
        from rltui.hardware.host import HostReader

        host = HostReader(self._disk_path, self._disks, self._belongs)
        gpus = GpuReader(self.node, self._belongs)
        self._latest = HardwareSample(time.time(), host=host.read(), note="asking the NVIDIA driver")
        why_absent = gpus.open()  # takes seconds if the driver sleeps
        count = 0
        while not stopped.is_set():
            found, note = gpus.read(processes=count % PROCESSES_EVERY == 0)
            machine = host.read(processes=count % ROLES_EVERY == 0)
            sample = HardwareSample(time.time(), found, machine, why_absent or note)
            if stopped.is_set():
                break
            with self._lock:
                self._history.add(sample)
                self._latest = sample
            count += 1
            stopped.wait(max(self._interval_s, self._least_s))
        gpus.close()

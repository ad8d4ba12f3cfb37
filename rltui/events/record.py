"""The bounded record of one run in the user's state directory: its events, and the state of its machine every ten
minutes.

There is one writer at a time, the screen or a watch; the second one only reads. Findings that came and went while
nobody recorded are added by the next recorder, because the diagnosis remembers their episodes.
"""

from __future__ import annotations

import os
import time as clock
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from rltui.events.changes import Changes, Event, SeenSoFar
from rltui.events.store import Journal, Lock, folder, read_json, write_json
from rltui.hardware.base import HardwareSample
from rltui.report.model import Report

HARDWARE_EVERY_S = 600.0
SAVE_EVERY_S = 60.0


class EventRecord:
    """The files of one run, whose identity is `run`. Reading needs no lock."""

    def __init__(self, state_dir: str, run: str) -> None:
        self._folder = folder(state_dir, run)
        self._run = run
        self.journal = Journal(os.path.join(self._folder, "events.jsonl"))
        self._newest: tuple[object, int] | None = None

    def path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def look(self) -> dict[str, Any] | None:
        """What was saved of the last look."""
        return read_json(self.path("look.json"))

    def save_look(self, look: dict[str, Any]) -> None:
        """Saves the state of the run at the user's last look. Raises OSError."""
        write_json(self.path("look.json"), {"run": self._run, **look})

    def last_seq(self) -> int:
        """Number of the newest event."""
        stamp = self.journal.stamp()
        if self._newest is None or stamp != self._newest[0]:
            found = max((e["seq"] for e in self.journal.read() if isinstance(e.get("seq"), int)), default=0)
            self._newest = stamp, found
        return self._newest[1]


class Recorder:
    """Writes the record while it holds the lock."""

    def __init__(self, record: EventRecord) -> None:
        self.record = record
        self._lock = Lock(record.path("writer.lock"))
        self._changes: Changes | None = None
        self._saved = self._hardware_at = self._tried = 0.0

    def take(self, report: Report) -> list[Event]:
        """Adds what is new in this report; nothing if another writer holds the lock. Raises OSError if it
        cannot be saved."""
        if not report.recording.loading.done or not self._holds():
            return []
        assert self._changes is not None
        entries = self._changes.of(report)
        kept = [entry.as_dict() for entry in entries]
        if (hardware := self._hardware(report)) is not None:
            kept.append(hardware)
        self.record.journal.append(kept)
        if kept or clock.monotonic() - self._saved > SAVE_EVERY_S:
            self._saved = clock.monotonic()
            write_json(self.record.path("seen.json"), self._changes.seen.as_dict())
        return entries

    def close(self) -> None:
        self._lock.leave()
        self._changes = None

    def _holds(self) -> bool:
        if self._changes is not None:
            return True
        if self._tried and clock.monotonic() - self._tried < SAVE_EVERY_S:
            return False
        self._tried = clock.monotonic()
        if not self._lock.take():
            return False
        self._changes = Changes(_seen(read_json(self.record.path("seen.json")), self.record))
        return True

    def _hardware(self, report: Report) -> dict[str, Any] | None:
        """The last ten minutes of the machine in a few numbers."""
        if not report.recording.live:
            return None
        now = report.recording.now
        self._hardware_at = self._hardware_at or now
        if now - self._hardware_at < HARDWARE_EVERY_S:
            return None
        new = [sample for sample in report.recording.hardware if sample.time > self._hardware_at]
        self._hardware_at = now
        return {"hardware": now, **summarised(new)} if new else None


def summarised(samples: Sequence[HardwareSample]) -> dict[str, Any]:
    """Mean power, highest memory, temperature and RAM, least free disk; null if not reported. Units as in the names.
    `gpus`: the number of GPUs; `lost`: how many of them are silent."""
    gpus = [gpu for sample in samples for gpu in sample.gpus]
    hosts = [sample.host for sample in samples if sample.host is not None]

    def over(how: Callable[[list[float]], float], values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return round(how(known), 1) if known else None

    return {
        "gpus": len({(gpu.node, gpu.index) for gpu in gpus}),
        "lost": len({(gpu.node, gpu.index) for gpu in gpus if gpu.lost}),
        "power_w": over(fmean, [gpu.power_w for gpu in gpus]),
        "memory_gb": over(max, [gpu.memory_used_gb for gpu in gpus]),
        "memory_total_gb": over(max, [gpu.memory_total_gb for gpu in gpus]),
        "temp_c": over(max, [gpu.temp_c for gpu in gpus]),
        "ram_gb": over(max, [host.ram_used_gb for host in hosts]),
        "disk_free_gb": over(min, [host.disk_free_gb for host in hosts]),
    }


def _seen(kept: dict[str, Any] | None, record: EventRecord) -> SeenSoFar:
    """What was seen before. If the file is damaged, the numbering still continues."""
    try:
        return SeenSoFar.of_dict(kept) if kept is not None else SeenSoFar(seq=record.last_seq())
    except (KeyError, TypeError, ValueError):
        return SeenSoFar(seq=record.last_seq())

"""Signs of life of a run that is being followed, as they were seen to come."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from rltui.hardware.base import GpuSample, ProcessFact
from rltui.readers.base import Note

BEATS = 201


@dataclass(slots=True)
class Pulse:
    """Times in seconds since the epoch, by the clock of the one who listens. Filled by the session.

    `processes` and `gpus` are the newest facts of the run's machines, empty where there are none; they come from this
    machine or from an agent on another one.
    """

    moved_at: float | None = None  # a step, a counter or a phase moved
    output_at: float | None = None  # anything at all was written
    heard: bool = False  # something came while we listened: it is no dead copy
    phase: Note | None = None  # what was announced since the last step
    phase_at: float | None = None
    beats: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=BEATS))
    processes: tuple[ProcessFact, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    _step: int | None = None
    _last: tuple[object, ...] = ()

    def start(
        self, written_at: float | None, step: int | None, counters: tuple[object, ...], phase: Note | None
    ) -> None:
        """What was there before: its newest sign of life is when the files were last written."""
        self.moved_at = self.output_at = self.phase_at = written_at
        self._step, self._last, self.phase = step, counters, phase

    def hear(self, now: float, step: int | None, counters: tuple[object, ...], phase: Note | None) -> None:
        """Something new was read. `step`: the newest training step or position of the bar; `counters`: everything that
        changes when work is done, so that a bar painted again at the same place is no movement."""
        self.output_at, self.heard = now, True
        stepped = step is not None and step != self._step
        if counters != self._last or stepped:
            self.moved_at, self._last = now, counters
        if stepped and step is not None:
            if self.beats and step < self.beats[-1][0]:
                self.beats.clear()
            self.beats.append((step, now))
            self._step = step
        if phase is not self.phase:
            self.phase, self.phase_at = phase, now
        elif stepped:
            self.phase = self.phase_at = None

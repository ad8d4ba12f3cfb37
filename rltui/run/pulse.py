"""Signs of life of a run that is being followed, as they were seen to come."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field

from rltui.hardware.base import GpuSample, ProcessFact
from rltui.readers.base import Note

BEATS = 201
LINES = 1000
PHASES = 64
DURATIONS = 50
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CLOCK = re.compile(r"\d{1,4}[-/:]\d\d[-/:]\d\d(?:[ T_]\d\d:\d\d:\d\d)?(?:[.,]\d+)?")


@dataclass(slots=True)
class Pulse:
    """Times in seconds since the epoch, by the clock of the one who listens. Filled by the session.

    `processes` and `gpus` are the newest facts of the run's machines, empty where there are none; they come from this
    machine or from an agent on another one.
    """

    moved_at: float | None = None  # a step, a counter or a phase moved
    output_at: float | None = None  # anything was written that was not said before in this step
    heard: bool = False  # something came while we listened: it is no dead copy
    phase: Note | None = None  # what was announced since the last step
    phase_at: float | None = None
    durations: dict[str, deque[float]] = field(default_factory=dict)  # seconds of each phase that was seen to end
    beats: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=BEATS))
    processes: tuple[ProcessFact, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    unread: tuple[str, ...] = ()  # why files of the run cannot be read at the moment
    blind: bool = False  # none of them can
    _step: int | None = None
    _last: tuple[object, ...] = ()
    _announced: Note | None = None
    _said: set[str] = field(default_factory=set)
    _fresh: bool = False

    def start(
        self, written_at: float | None, step: int | None, counters: tuple[object, ...], phase: Note | None
    ) -> None:
        """What was there before: its newest sign of life is when the files were last written."""
        self.moved_at = self.output_at = self.phase_at = written_at
        self._step, self._last, self.phase, self._announced = step, counters, phase, phase

    def line(self, text: str) -> None:
        """A line of the log. One that repeats itself, its clock aside, is no sign of life: servers idle aloud."""
        said = _CLOCK.sub("", text)
        if said not in self._said and len(self._said) < LINES:
            self._said.add(said)
            self._fresh = True

    def hear(self, now: float, step: int | None, counters: tuple[object, ...], phase: Note | None) -> None:
        """Something new was read. `step`: the newest training step or position of the bar; `counters`: everything that
        changes when work is done, so that a bar painted again at the same place is no movement."""
        self.heard = True
        stepped = step is not None and step != self._step
        if counters != self._last or stepped:
            self.moved_at = self.output_at = now
            self._last = counters
            self._said.clear()
        elif self._fresh:
            self.output_at = now
        self._fresh = False
        if stepped and step is not None:
            if self.beats and step < self.beats[-1][0]:
                self.beats.clear()
            self.beats.append((step, now))
            self._step = step
        if phase is not None and phase is not self._announced:
            if self.phase is None or phase_key(phase) != phase_key(self.phase):
                self._end_phase(now)
                self.phase_at = now
            self.phase = self._announced = phase
        elif stepped:
            self._end_phase(now)
            self.phase = self.phase_at = None

    def _end_phase(self, now: float) -> None:
        if self.phase is not None and self.phase_at is not None:
            key = phase_key(self.phase)
            if key in self.durations or len(self.durations) < PHASES:
                self.durations.setdefault(key, deque(maxlen=DURATIONS)).append(now - self.phase_at)


def phase_key(phase: Note) -> str:
    """What the announcements of one phase have in common: the text without its numbers."""
    return f"{phase.kind} {_NUMBER.sub('0', phase.text)}"

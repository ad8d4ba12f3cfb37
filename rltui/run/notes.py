"""Notable lines of the logs, and what they say about how the run ended."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace

from rltui.readers.base import Note

KEPT = 2000
FATAL = ("traceback", "oom", "killed", "fault")


@dataclass(slots=True)
class Source:
    """What one log said last. `deadly`: errors after which no training followed in this log (yet)."""

    deadly: list[Note] = field(default_factory=list)
    ended: Note | None = None
    ended_after: list[Note] = field(default_factory=list)  # errors that stood unanswered when the end was announced
    row: int = -1  # newest training step
    bar: int = -1  # newest step of the progress bar: rows may be logged every tenth step only

    @property
    def step(self) -> int:
        """The newest step that the log tells of, -1 where it tells of none."""
        return max(self.row, self.bar)

    def clear(self) -> None:
        """Training went on: errors before were survived, an end before was not the end."""
        self.deadly, self.ended, self.ended_after = [], None, []

    def at_row(self, step: int | None) -> None:
        """A training step that is not the last one: the next one, or an earlier one after a restart."""
        if step is not None and step != self.row:
            self.row = step
            self.clear()

    def at_bar(self, step: int | None) -> None:
        """The bar moved on. A bar that starts again may count something else."""
        if step is not None:
            if step > self.bar:
                self.clear()
            self.bar = step


class Notes:
    """All notes of a run. Of the many progress lines only the newest of each source is kept."""

    def __init__(self) -> None:
        self._kept: deque[Note] = deque(maxlen=KEPT)
        self._progress: dict[str, Note] = {}
        self.sources: dict[str, Source] = {}
        self.totals: Counter[int] = Counter()
        self.newest_time: float | None = None

    def add(self, note: Note, source: str, head_step: int | None) -> None:
        """`head_step`: the newest training step of that log, for lines that do not state where they stand."""
        log = self.sources.setdefault(source, Source())
        if note.time is not None:
            self.newest_time = note.time if self.newest_time is None else max(self.newest_time, note.time)
        if note.total is not None and note.total > 0:
            self.totals[note.total] += 1
        if note.kind == "progress":
            self._progress[source] = note
            log.at_bar(note.step)
            return
        self._kept.append(note)
        if note.kind in ("start", "resume"):
            log.clear()
            log.row = log.bar = -1
            return
        if note.kind == "end":
            log.at_row(note.step if note.step is not None else head_step)
            log.ended, log.ended_after = note, list(log.deadly)
        elif note.kind in FATAL:
            log.at_row(note.step if note.step is not None else head_step)
            log.deadly.append(note)

    def advance(self, source: str, step: int | None) -> None:
        """The newest training step of a log, its rows all read."""
        log = self.sources.get(source)
        if log is not None and step is not None and step > log.row:
            log.at_row(step)

    @property
    def all(self) -> list[Note]:
        """Notable lines in the order in which they were read, the newest progress lines last."""
        return [*self._kept, *self._progress.values()]

    def planned(self, last_step: int | None) -> int | None:
        """The number of steps that progress lines count towards: the total stated most often among those that the run
        has not passed."""
        reachable = {t: n for t, n in self.totals.items() if last_step is None or t >= last_step}
        return max(reachable, key=lambda t: (reachable[t], t)) if reachable else None

    def forget_after(self, step: int) -> None:
        """As if the logs ended where the training reached `step`."""
        self._kept = deque((n for n in self._kept if n.step is None or n.step <= step), maxlen=KEPT)
        self._progress = {
            s: replace(n, step=step) if n.step is not None and n.step > step else n for s, n in self._progress.items()
        }
        self.sources = {}

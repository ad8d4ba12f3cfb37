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

    deadly: list[tuple[Note, int]] = field(default_factory=list)  # with the step at which the training stood
    ended: Note | None = None
    ended_after: list[Note] = field(default_factory=list)  # errors that stood unanswered when the end was announced
    step: int = -1
    survived: int = 0


class Notes:
    """All notes of a run. Of the many progress lines only the newest of each source is kept."""

    def __init__(self) -> None:
        self._kept: deque[Note] = deque(maxlen=KEPT)
        self._progress: dict[str, Note] = {}
        self.sources: dict[str, Source] = {}
        self.totals: Counter[int] = Counter()
        self.newest_time: float | None = None

    def add(self, note: Note, source: str, head_step: int | None) -> None:
        """`head_step`: the newest training step of that log before this line."""
        log = self.sources.setdefault(source, Source())
        self.advance(source, head_step)
        if note.time is not None:
            self.newest_time = note.time if self.newest_time is None else max(self.newest_time, note.time)
        if note.total is not None and note.total > 0:
            self.totals[note.total] += 1
        if note.kind == "progress":
            self._progress[source] = note
            self.advance(source, note.step)
            return
        self._kept.append(note)
        if note.kind in ("start", "resume"):
            log.survived += len(log.deadly)
            log.deadly, log.ended, log.ended_after, log.step = [], None, [], -1
        elif note.kind == "end":
            log.ended, log.ended_after = note, [n for n, _ in log.deadly]
        elif note.kind in FATAL:
            log.deadly.append((note, log.step))

    def advance(self, source: str, step: int | None) -> None:
        """Training reached `step` in a log: errors before it were survived, an end before it was not the end."""
        log = self.sources.get(source)
        if log is None or step is None or step <= log.step:
            return
        log.step = step
        alive = [entry for entry in log.deadly if entry[1] >= step]
        log.survived += len(log.deadly) - len(alive)
        log.deadly, log.ended, log.ended_after = alive, None, []

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

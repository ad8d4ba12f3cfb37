"""Notable lines of the logs, and what they say about how the run ended."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import dataclass, field, replace

from rltui.readers.base import Note

KEPT = 2000
_NUMBER = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.\d+)*")
FATAL = ("traceback", "oom", "killed", "fault")


@dataclass(frozen=True, slots=True)
class Standing:
    """An end or an error, and the training step at which its log stood; None where nothing tells."""

    note: Note
    step: int | None


@dataclass(slots=True)
class Source:
    """What one log says about its end, in file order, since its last launch. Errors that the training survived are
    among them: `since` leaves them out."""

    events: deque[Standing] = field(default_factory=lambda: deque(maxlen=KEPT))
    row: int | None = None  # newest training step
    bar: int | None = None  # newest step of the progress bar: rows may be logged every tenth step only

    @property
    def step(self) -> int | None:
        """The newest step that the log tells of."""
        known = [step for step in (self.row, self.bar) if step is not None]
        return max(known) if known else None

    def launch(self) -> None:
        self.events.clear()
        self.row = self.bar = None

    def reach(self, step: int | None) -> None:
        """The newest row. A step back is a restart: what was said before is of another attempt."""
        if step is not None:
            if self.row is not None and step < self.row:
                self.launch()
            self.row = step

    def since(self, step: int) -> list[Standing]:
        """What was said at this step or later, without errors of a kind that was survived before. Where a log tells
        steps, an error of unknown place came before the first of them; an end of unknown place stays an end."""
        late, survived = [], set()
        for event in self.events:
            if event.step >= step if event.step is not None else self.step is None or event.note.kind == "end":
                late.append(event)
            else:
                survived.add(_shape(event.note))
        return [event for event in late if event.note.kind == "end" or _shape(event.note) not in survived]


def _shape(note: Note) -> tuple[str, str]:
    """What two errors of one kind have in common: the text without its numbers."""
    return note.kind, _NUMBER.sub("0", note.text)[:120]


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
            log.bar = note.step if note.step is not None else log.bar
            return
        self._kept.append(note)
        if note.kind in ("start", "resume"):
            log.launch()
        elif note.kind == "end" or note.kind in FATAL:
            row = note.step if note.step is not None else head_step
            log.reach(row)
            log.events.append(Standing(note, row if row is not None else log.bar))

    def reach(self, source: str, step: int | None) -> None:
        """The newest training step of a log, its rows all read."""
        log = self.sources.get(source)
        if log is not None and step is not None and (log.row is None or step > log.row):
            log.row = step

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

"""Notable lines of the logs, and what they say about how the run ended."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator

from msgspec import Struct, field

from rltui.readers.base import ENDS, LAST_WORDS, Note, Ungraded
from rltui.run.checkpoints import Checkpoint, named_in

FIRST_KEPT = 250
LAST_KEPT = 250
"""This many first and last notes of each kind are kept: the first show how the run began, the last how it is now."""
SHAPES = 200
_NUMBER = re.compile(r"(?:0x[0-9a-f]+|\d+)(?:\.\d+)*")
_BAR = re.compile(r"^[^|]{0,60}?\d{1,3}%\|[^|]{0,1000}\|\s*\d+/\d+\s\[[^\]]*\]")
_RAISED = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
_DONE = re.compile(r"(?<![\w/.-])saved(?![\w/.-])", re.IGNORECASE)
FATAL = ("traceback", "oom", "killed", "fault")
UNDER_WAY = ("phase", "validation", "checkpoint")


class LogStanding(Struct, frozen=True):
    """An end or an error, with the training step of its log at that point; None if unknown."""

    note: Note
    step: int | None
    shape: tuple[str, str]


class Save(Struct):
    """A checkpoint that a log names. `done`: the log says that the save is done, not only begun. `whole`: whether it
    was complete when the next attempt began; None if none has begun."""

    path: str
    line: int
    done: bool
    whole: bool | None = None


class NoteSource(Struct):
    """What one log says about its run's end, in file order, since its last launch.

    If the training survived an error, only its shape is kept. If many similar errors come at one step, only the first
    is kept, so that they cannot push out others.
    """

    events: list[LogStanding] = field(default_factory=list)
    row: int | None = None  # newest training step
    laps: int = 0  # how often its steps went back
    noted: int = 0  # how many of these laps came before its newest note
    bar: int | None = None  # newest step of the progress bar: rows may be logged only every tenth step, or come late
    bar_line: int = 0  # the line where the bar was painted
    unplaced: int = 0  # the number of its records without a step
    shown: dict[str, Note] = field(default_factory=dict)  # kind -> the newest note that may still grow
    saves: dict[int, Save] = field(default_factory=dict)  # by step
    _survived: set[tuple[str, str]] = field(default_factory=set)

    @property
    def step(self) -> int | None:
        """The newest step that the log shows."""
        known = [step for step in (self.row, self.bar) if step is not None]
        return max(known) if known else None

    def launch(self, reached: int | None = None, loaded: int | None = None) -> None:
        """Begins another attempt. `reached`: the step of the newest row before it, if known. Rows may be read later
        than the notes beside them; then the saves themselves show how far the training got. `loaded`: the step that the
        attempt resumes from. Whether that checkpoint is whole shows when rows follow."""
        saved = [step for step, save in self.saves.items() if save.whole is None]
        self.row = max((step for step in (self.row, reached, *saved) if step is not None), default=None)
        for step, save in self.saves.items():
            save.whole = None if step == loaded and save.whole is None else self._whole(step, save)
        self.events.clear()
        self._survived.clear()
        self.row = self.bar = None

    def save(self, note: Note) -> bool:
        """Takes what a line says about a checkpoint. False if that is already known: each rank names each of its
        files."""
        named = named_in(note.text)
        if named is None:
            return True
        step, path = named
        done = _DONE.search(note.text) is not None
        known = self.saves.get(step)
        if known is None or known.path != path or known.whole is not None:
            self.saves[step] = Save(path, note.line, done)
            return True
        known.line, known.done = note.line, known.done or done
        return False

    def saved(self) -> Iterator[Checkpoint]:
        """The checkpoints that are whole as far as the log shows."""
        for step, save in self.saves.items():
            if self._whole(step, save):
                yield Checkpoint(step, save.path, None)

    def _whole(self, step: int, save: Save) -> bool:
        """Whether the training continued after the checkpoint, or the log says afterwards that the training ended, or
        the log says that the checkpoint is saved and shows no later error."""
        if save.whole is not None:
            return save.whole
        after = {event.note.kind for event in self.events if event.note.line > save.line}
        return (self.row is not None and self.row > step) or "end" in after or (save.done and after.isdisjoint(FATAL))

    def retract(self, note: Note) -> None:
        """Forgets a note of an error that was still being written."""
        self.events = [event for event in self.events if event.note is not note]

    def reach(self, step: int | None, laps: int) -> None:
        """Takes the newest step, and how often the steps went back. Each time is a restart, whatever step they have
        reached since: earlier notes belong to another attempt."""
        if laps > self.laps or (step is not None and self.row is not None and step < self.row):
            self.launch()
        self.laps = max(self.laps, laps)
        self.noted = self.laps
        self.row = self.row if step is None else step

    def say(self, note: Note, step: int | None) -> None:
        """Takes an end or an error, unless an error of the same shape is already known at this step."""
        event = LogStanding(note, step, _shape(note))
        if note.kind != "end" and any(e.shape == event.shape and e.step == step for e in self.events):
            return
        if len(self.events) >= SHAPES:
            early = next((i for i, e in enumerate(self.events) if e.note.kind != "end" and e.step != step), None)
            if early is None:
                return  # too many different errors at one step: the first ones count
            self._survived.add(self.events.pop(early).shape)
            if len(self._survived) > SHAPES:
                self._survived.pop()
        self.events.append(event)

    def since(self, step: int, ended: frozenset[int] = frozenset()) -> list[LogStanding]:
        """The events at this step or later, without errors of a shape that the training survived before. An earlier
        attempt ended at each of the steps `ended`, so errors there were not survived. If the log states steps, an error
        at an unknown step came before the first of them, unless all records but one came before it and their steps were
        found later. An end at an unknown step counts."""
        late, survived = [], set(self._survived)
        for event in self.events:
            stood = event.step
            if stood is not None and self.bar is not None and event.note.line > self.bar_line:
                stood = max(stood, self.bar)
            last = 0 < event.note.rows >= self.unplaced - 1
            unknown = self.step is None or event.note.kind == "end" or last
            if stood >= step if stood is not None else unknown:
                late.append(event)
            elif stood not in ended:
                survived.add(event.shape)
        return [event for event in late if event.note.kind == "end" or event.shape not in survived]


def _shape(note: Note) -> tuple[str, str]:
    """What two errors of one kind have in common: the text without its numbers. For an error without a traceback: its
    name, as the code that catches it may print other text each time."""
    name = _RAISED.search(note.text[:80]) if note.kind == "failed" else None
    return note.kind, name[0] if name is not None else _NUMBER.sub("0", note.text)[:120]


def quoted(note: Note) -> str:
    """The text of a note without the progress bar painted on the same line."""
    return _BAR.sub("", note.text).strip()


class _Kept:
    """Notes of one kind: the first ones and the last ones, each with its place among all notes."""

    def __init__(self) -> None:
        self.first: list[tuple[int, Note]] = []
        self.last: deque[tuple[int, Note]] = deque(maxlen=LAST_KEPT)

    def add(self, place: int, note: Note) -> None:
        if len(self.first) < FIRST_KEPT:
            self.first.append((place, note))
        else:
            self.last.append((place, note))

    def drop(self, note: Note) -> None:
        self.first = [item for item in self.first if item[1] is not note]
        self.last = deque((item for item in self.last if item[1] is not note), maxlen=LAST_KEPT)

    def __iter__(self) -> Iterator[tuple[int, Note]]:
        yield from self.first
        yield from self.last


class Notes:
    """All notes of a run. Only the newest line about progress and the newest about a phase are kept for each source."""

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}
        self._progress: dict[tuple[str, str], Note] = {}
        self._count = 0
        self._all: list[Note] | None = None
        self.sources: dict[str, NoteSource] = {}
        self._saved: list[Checkpoint] = []  # named by logs that are forgotten
        self.totals: Counter[int] = Counter()
        self.newest: dict[str, float] = {}  # source -> its newest time
        self._stood: dict[str, int | None] = {}  # source -> the training step of its log at that time
        self.under_way: Note | None = None  # the phase, validation or checkpoint announced last
        self.ungraded: list[tuple[str, Ungraded]] = []  # each with its source

    def add(self, note: Note, source: str, head_step: int | None) -> None:
        """Takes a note. `head_step`: the newest training step of that log, for notes that state no step."""
        log = self.sources.setdefault(source, NoteSource())
        self._all = None
        if note.time is not None:
            known = self.newest.get(source, note.time)
            if note.time >= known:
                self.newest[source], self._stood[source] = note.time, note.step if note.after is None else note.after
        if note.total is not None and note.total > 0:
            self.totals[note.total] += 1
        if note.kind in UNDER_WAY:
            self.under_way = note
        if note.kind in ("progress", "phase"):
            self._progress[source, note.kind] = note
            if note.kind == "progress" and note.step is not None:
                log.bar, log.bar_line = note.step, note.line
            return
        if note.begun:
            before, log.shown[note.kind] = log.shown.get(note.kind), note
            if before is not None and before.begun == note.begun:
                self._kept[note.kind].drop(before)
                log.retract(before)
        if note.kind == "checkpoint" and not log.save(note):
            return
        self._count += 1
        self._kept.setdefault(note.kind, _Kept()).add(self._count, note)
        if note.kind in ("start", "resume"):
            log.launch(head_step, note.step if note.kind == "resume" else None)
        elif note.kind in ENDS or note.kind in FATAL or note.kind in LAST_WORDS:
            row = note.step if note.step is not None else head_step
            log.reach(row, note.laps)
            log.say(note, row if row is not None else log.bar)

    def is_behind(self, source: str, step: int | None) -> bool:
        """Whether a log that is at this step has written rows since its newest time, so that the time shows only when
        the log began."""
        stood = self._stood.get(source)
        return step is not None and (stood is None or stood < step)

    def add_ungraded(self, said: Ungraded, source: str) -> None:
        """Takes a log line which says that answers could not be graded."""
        self.ungraded.append((source, said))

    def reach(self, source: str, step: int | None, laps: int, unplaced: int = 0) -> None:
        """Takes the newest training step of a log after all its rows were read, how often the steps went back, and how
        many records stated no step."""
        log = self.sources.get(source)
        if log is None:
            return
        log.unplaced = unplaced
        if laps > log.laps:
            log.launch()
            log.laps = laps
        if step is not None and (log.row is None or step > log.row):
            log.row = step

    @property
    def go_on(self) -> bool:
        """Whether the steps of a log went back since its newest note: another attempt is under way and has logged no
        note yet."""
        return any(log.laps > log.noted for log in self.sources.values())

    def of_kind(self, kind: str) -> list[Note]:
        """Kept notes of one kind, oldest first."""
        return [note for _, note in self._kept.get(kind, ())]

    @property
    def all(self) -> list[Note]:
        """All kept notes in the order in which they were read, the newest progress and phase lines last."""
        if self._all is None:
            ordered = sorted((item for kept in self._kept.values() for item in kept), key=lambda item: item[0])
            self._all = [*(note for _, note in ordered), *self._progress.values()]
        return self._all

    def saved(self) -> list[Checkpoint]:
        """The checkpoints that the logs say were saved, by step."""
        found = {one.step: one for one in self._saved}
        found |= {one.step: one for log in self.sources.values() for one in log.saved()}
        return [found[step] for step in sorted(found)]

    def planned(self, last_step: int | None) -> int | None:
        """The number of steps that progress lines count towards: the total stated most often among those that the run
        has not passed."""
        reachable = {t: n for t, n in self.totals.items() if last_step is None or t >= last_step}
        return max(reachable, key=lambda t: (reachable[t], t)) if reachable else None

    def forget_after(self, step: int) -> None:
        """Makes the notes as if the logs ended where the training reached `step`."""
        for kind, kept in self._kept.items():
            fresh = self._kept[kind] = _Kept()
            for place, note in kept:
                if note.by(step):
                    fresh.add(place, note)
        self._progress = {
            key: n._replace(step=step) if n.step is not None and n.step > step else n
            for key, n in self._progress.items()
        }
        self._saved = [one for one in self.saved() if one.step <= step]
        self.sources = {}
        self.ungraded = [(log, said) for log, said in self.ungraded if said.step is None or said.step <= step]
        self.under_way = None
        self._all = None

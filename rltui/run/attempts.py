"""The attempts of a run: which steps a later attempt repeated, and why an attempt ended. The reason is the first error
in its log that is not a consequence of another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import first_key, lever
from rltui.readers.base import Note
from rltui.run.history import History
from rltui.run.notes import quoted
from rltui.run.ranks import late

_SIZE = re.compile(r"([\d.]+) ?([kKMGT])i?B$")
_SCALE = {"k": 2.0**-20, "K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10}
"""Size of each unit in GiB. Logs mix powers of ten and of two. That does not matter, as growth is shown with one
decimal."""
TOGETHER = 40
"""Errors within this many lines of the first belong to it: a chain of tracebacks is seldom longer."""
GREW_GIB = 0.05
"""A smaller difference between two attempts is not growth."""

_BEFORE = re.compile(r"^(?:\[[^\]]*\]:?\s*|\(\w+(?: pid=\d+[^)]*)?\)\s*|[\w.]+\.(?:cc|cpp|h|py):\d+: )+")
"""The prefix that a launcher adds to a line: the rank, a time, a source file."""
LEAST_QUOTED, LEAST_FACT = 12, 3
"""In characters. A shorter quote says nothing. A shorter fact may occur in a line by chance."""
MOST_QUOTED = 240
"""The most characters of a quote; the line number is shown beside it."""
QUOTES = " :,='\""

Rank = Literal["high", "medium", "low", "none"]
ENDINGS = ("oom", "killed", "fault", "traceback")
"""Kinds of notes that show why an attempt ended, the clearest first."""
_TEXT = 160


def _regex(text: str) -> None:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None


class Remedy(Record):
    """What to change. `lever`: what it adjusts; each framework has its own settings for it (`levers.json`). `phases`:
    it helps only if the run ended in one of these ("": in an unknown one); empty: it helps in any."""

    text: str
    impact: Rank
    risk: Rank
    lever: str = ""
    phases: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        lever(self.lever)


class Kind(Record):
    """A way in which a run ends. `any`, `pattern` and `unless` are matched against the error's line; `any` lists the
    plainest words first. `code`: what a frame of the traceback holds; with `own`, the innermost frame outside installed
    packages must hold it. `facts`: patterns whose named groups are filled into `details`. `phases`: the phase is named
    too. `grows`: the fact that may grow from one attempt to the next. `metrics`: what may have grown before the end.
    `symptom`: any other kind is a better name. `ranks`: each rank prints how far it got. `by_hand`: somebody ended the
    run on purpose, so it is not a fault. `interrupted`: the run was ended from outside and can be resumed unchanged.
    `title` goes into "the run ended: TITLE"."""

    id: str
    title: str
    to_do: tuple[Remedy, ...]
    any: tuple[str, ...] = ()
    pattern: str = ""
    unless: str | None = None
    code: str | None = None
    own: bool = False
    facts: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    phases: bool = False
    grows: str | None = None
    metrics: tuple[str, ...] = ()
    symptom: bool = False
    ranks: bool = False
    by_hand: bool = False
    interrupted: bool = False

    def __post_init__(self) -> None:
        for pattern in (self.pattern, self.unless or "", self.code or "", *self.facts):
            _regex(pattern)
        if not self.any and self.code is None:
            raise ValueError("neither `any` nor `code`")

    def place(self, note: Note) -> int:
        """The index of the first text in `any` that the line holds. A lower index is plainer."""
        return next((i for i, text in enumerate(self.any) if text in note.text), len(self.any))


class FailedIn(Record):
    """The phase in which the run ended, recognised by the names in a frame. `part_of`: a phase that also calls this
    one."""

    name: str
    code: str
    part_of: str | None = None

    def __post_init__(self) -> None:
        _regex(self.code)


class Crashes(Record):
    crash: tuple[Kind, ...]
    phase: tuple[FailedIn, ...]

    def __post_init__(self) -> None:
        known = {"", *(phase.name for phase in self.phase)}
        unknown = {name for kind in self.crash for remedy in kind.to_do for name in remedy.phases} - known
        if unknown:
            raise ValueError(f"no phase of these: {', '.join(sorted(unknown))}")


@kept
def _crashes() -> Crashes:
    return read(Path(__file__).with_name("crashes.toml"), Crashes)


class Crash(Struct, frozen=True):
    """How an attempt ended. `note`: the line that shows it. `facts`: what that line states, in its own units. `phase`:
    where it happened (empty if unknown). `said`: the line that names it best."""

    kind: Kind
    note: Note
    facts: Mapping[str, str] = field(default_factory=dict)
    phase: str = ""
    said: Note | None = None

    @property
    def quote(self) -> str:
        return quoted(self.said or self.note)

    @property
    def untold(self) -> str:
        """The quote without what `shown` already contains."""
        text = self.quote
        if len(text) > MOST_QUOTED:
            text = f"{_BEFORE.sub('', text)[:MOST_QUOTED].rsplit(' ', 1)[0]} …"
        if not self.shown:
            return text
        text = _BEFORE.sub("", text)
        at = [text.find(value) for value in self.facts.values() if len(value) >= LEAST_FACT]
        end = min((place for place in at if place >= LEAST_QUOTED), default=len(text))
        if end == len(text):
            return text
        bracket = text.rfind("(", LEAST_QUOTED, end)
        return f"{text[: end if bracket < 0 or ')' in text[bracket:end] else bracket].rstrip(QUOTES)} …"

    @property
    def id(self) -> str:
        return self.kind.id

    @property
    def title(self) -> str:
        """'GPU memory ran out in the update'."""
        return f"{self.kind.title} {self.phase}".rstrip()

    @property
    def to_do(self) -> tuple[Remedy, ...]:
        """The fixes that help in the phase where it happened."""
        return tuple(r for r in self.kind.to_do if not r.phases or self.phase in r.phases)

    @property
    def shown(self) -> str:
        """The details that the log gives: "2.00 GiB were asked for, 1.19 GiB of 79.1 GiB were free"."""
        told = [_filled(detail, self.facts) for detail in self.kind.details]
        return ", ".join(text for text in told if text)

    @property
    def text(self) -> str:
        """The title with the details that the log gives, as one clause."""
        shown = self.shown
        return f"{self.title} ({shown})" if shown else self.title


def named_end(errors: Sequence[Note], beside: Iterable[Note] = ()) -> Crash | None:
    """The named end of these errors, which are in the order of the log: that of the first error that is not a symptom,
    else of the first symptom. None if neither the first error that is not a symptom nor one printed with it (a chain of
    tracebacks) has a name; the error is then quoted unchanged. `beside`: notes that may hold the same error from other
    ranks."""
    named = [(note, _kind(note)) for note in errors]
    causes = [(note, kind) for note, kind in named if kind is None or not kind.symptom]
    together = [(note, kind) for note, kind in causes if 0 <= note.line - causes[0][0].line <= TOGETHER]
    causes = [one for one in together if one[1] is not None] or causes
    note, kind = (causes or named)[0] if named else (None, None)
    if note is None or kind is None:
        return None
    facts: dict[str, str] = {}
    for one, its in named:
        if its is kind:
            for pattern in kind.facts:
                found = re.search(pattern, one.text)
                for key, value in (found.groupdict() if found else {}).items():
                    if value is not None:
                        facts.setdefault(key, value)
    if kind.ranks:
        alike = (one for one in beside if one.step == note.step and one.kind == note.kind and _kind(one) is kind)
        if found_late := late(one.text for one in (*errors, *alike)):
            facts = {key: value for key, value in facts.items() if key not in ("rank", "op")} | {"late": found_late}
    near = [one for one, its in together if its is kind] or [note]
    return Crash(kind, note, facts, _phase(note) if kind.phases else "", min(near, key=kind.place))


def first_first(errors: Iterable[Note]) -> list[Note]:
    """The errors in the order of the log, with symptoms last."""
    kinds = [(note, _kind(note)) for note in errors]
    return [note for note, _ in sorted(kinds, key=lambda one: one[1] is not None and one[1].symptom)]


def again(crashes: Sequence[Crash]) -> str:
    """What the last of these ends (oldest first) has in common with earlier ones: "it is the 3rd end of this kind, with
    2.0 GiB more each time". Empty if it is the first of its kind."""
    if not crashes:
        return ""
    last = crashes[-1]
    alike = [crash for crash in crashes if crash.id == last.id and crash.phase == last.phase]
    if len(alike) < 2:
        return ""
    words = f"it is the {_ordinal(len(alike))} end of this kind"
    sizes = [_gib(crash.facts.get(last.kind.grows or "")) for crash in alike]
    known = [size for size in sizes if size is not None]
    grew = [b - a for a, b in pairwise(known)]
    if len(known) == len(alike) and all(more > GREW_GIB for more in grew):
        words += f", with {sum(grew) / len(grew):.1f} GiB more each time"
    return words


def loop(crashes: Sequence[Crash]) -> str:
    """A clause about the error that ended several of these attempts (oldest first); empty if none did."""
    last, times = repeated(crashes)
    if last is None:
        return ""
    at = f", last at step {last.note.step}" if last.note.step is not None else ""
    advice = next((f": {remedy.text[:1].lower()}{remedy.text[1:]}" for remedy in last.to_do), "")
    return f"{ended_by(last, times)}{at}{advice}"


def came_again(notes: Sequence[Note], error: Note | None) -> str:
    """A clause that says how many attempts an error without a name ended; empty if it ended only one. An error counts
    again only if the run was started or resumed in between."""
    if error is None:
        return ""
    times, resumed = 0, True
    for note in notes:
        resumed |= note.kind in ("start", "resume")
        if resumed and note.kind == error.kind and note.text == error.text:
            times, resumed = times + 1, False
    return f"the same error ended {times} attempts" if times > 1 else ""


def before_again(crashes: Sequence[Crash], settings_of: Callable[[str], str | None]) -> str:
    """What to change before the run is started again, if one error ended several of these attempts: it will come back
    however well the training goes. Empty if no error did, or if no remedy is known. `settings_of`: the framework's
    settings of a lever."""
    last, times = repeated(crashes)
    if last is None or not last.to_do:
        return ""
    first = last.to_do[0]
    key = first_key(settings_of(first.lever))
    text = f"{first.text} ({key})" if key else first.text
    return f"{text[:1].lower()}{text[1:]} before it is started again: {ended_by(last, times)}."


def ended_by(last: Crash, times: int) -> str:
    """'GPU memory ran out in the update 3 times'."""
    return f"{last.title} {'twice' if times == 2 else f'{times} times'}"


def repeated(crashes: Sequence[Crash]) -> tuple[Crash | None, int]:
    """The last end of the kind that ended the most attempts (at least two), and how many it ended. Attempts that
    somebody or a queue stopped do not count."""
    own = [crash for crash in crashes if not (crash.kind.interrupted or crash.kind.by_hand)]
    titles = Counter(crash.title for crash in own)
    title, times = max(titles.items(), key=lambda one: one[1], default=("", 0))
    if times < 2:
        return None, times
    return next(crash for crash in reversed(own) if crash.title == title), times


@lru_cache(maxsize=1024)
def _kind(note: Note) -> Kind | None:
    for kind in _crashes().crash:
        if kind.any and not any(text in note.text for text in kind.any):
            continue
        if kind.unless is not None and re.search(kind.unless, note.text):
            continue
        if not re.search(kind.pattern, note.text):
            continue
        if kind.code is not None and not _in_code(kind.code, note.frames, kind.own):
            continue
        return kind
    return None


def _in_code(pattern: str, frames: tuple[str, ...], own: bool) -> bool:
    """Whether a frame matches. `frames`: the outermost first."""
    if own:
        frames = tuple(frame for frame in (innermost(frames),) if frame)
    return any(re.search(pattern, _near(frame)) for frame in frames)


def innermost(frames: Iterable[str]) -> str:
    """The innermost frame outside installed packages; empty if there is none."""
    own = [frame for frame in frames if "site-packages" not in frame and "/lib/python" not in frame]
    return own[-1] if own else ""


def _near(frame: str) -> str:
    """A frame with only the innermost folder of its file, as the names of projects and home directories say nothing."""
    return "/".join(frame.split("/")[-2:])


def _phase(note: Note) -> str:
    """The phase that the innermost matching frame names, or the phase of which it is part if the next matching frame
    names that."""
    inner: FailedIn | None = None
    for frame in (*reversed(note.frames), note.text):
        found = next((phase for phase in _crashes().phase if re.search(phase.code, _near(frame))), None)
        if found is None or found is inner:
            continue
        if inner is not None:
            return found.name if found.name == inner.part_of else inner.name
        if found.part_of is None:
            return found.name
        inner = found
    return inner.name if inner is not None else ""


def _filled(detail: str, facts: Mapping[str, str]) -> str:
    try:
        return detail.format_map(facts)
    except KeyError:
        return ""


def _gib(text: str | None) -> float | None:
    found = _SIZE.match(text or "")
    try:
        return float(found[1]) * _SCALE[found[2]] if found else None
    except ValueError:
        return None


def _ordinal(n: int) -> str:
    ending = "th" if 10 <= n % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


class Attempt(Struct, frozen=True):
    """An attempt whose `rows` rows, from step `first` to `last`, were replaced by a later attempt. `ended`: the name of
    what ended it, or the log's words; empty if the log does not say."""

    first: int
    last: int
    rows: int
    ended: str
    other: bool = False

    @property
    def text(self) -> str:
        steps = f"steps {self.first} to {self.last}" if self.first < self.last else f"step {self.last}"
        ended = f", ended by: {self.ended}" if self.ended else ""
        other = ", another training, as its rows have other names" if self.other else ""
        return f"{steps}, {self.rows} {'row' if self.rows == 1 else 'rows'}{other}{ended}"


class Ended(Struct, frozen=True):
    """Why the attempt before `step` ended: the name of its error. The next attempt continued from `step`."""

    step: int
    because: str


def ends(restarts: Iterable[int], crashes: Sequence[Crash]) -> tuple[Ended, ...]:
    """One `Ended` for each restart whose reason the logs name. `crashes`: see `earlier_ends`."""
    out, steps = [], list(restarts)
    for at, step in enumerate(steps):
        before = crashes[at : at + 1] if len(crashes) == len(steps) else crashes
        reached = [crash for crash in before if crash.note.step is not None and crash.note.step >= step - 1]
        if reached:
            out.append(Ended(step, reached[-1].text))
    return tuple(out)


def attempts(history: History, notes: Iterable[Note]) -> tuple[Attempt, ...]:
    """The abandoned attempts, in the order in which they were abandoned."""
    abandoned = history.abandoned
    if not abandoned:
        return ()
    by_step: dict[int, list[Note]] = {}
    for note in notes:
        if note.kind in ENDINGS and note.step is not None:
            by_step.setdefault(note.step, []).append(note)
    out, others = [], history.others
    for first, last, rows in abandoned:
        out.append(Attempt(first, last, rows, _ended(by_step.get(last, [])), (first, last, rows) in others))
    return tuple(out)


def _ended(notes: list[Note]) -> str:
    """The name of these errors, else the words of the clearest one."""
    crash = named_end(notes)
    if crash is not None:
        return crash.text
    told = min(notes, key=lambda note: ENDINGS.index(note.kind), default=None)
    return quoted(told)[:_TEXT] if told is not None else ""


def earlier_ends(
    notes: Iterable[Note], ended: frozenset[int] = frozenset(), newest: int | None = None, go_on: bool = False
) -> list[Crash]:
    """The named ends of the attempts before the last one, oldest first. An attempt ends where the log shows a launch or
    goes back to an earlier step, or at one of the steps `ended`, if the rows went back from there. Its error is at its
    last step. `newest`: the step of the newest row; an error there belongs to the last attempt. `go_on`: another
    attempt has continued since and has logged no note yet, so an error at `newest` belongs to an earlier one."""
    found: list[Crash | None] = []
    errors: list[Note] = []
    last, laps = -1, 0

    def named() -> Crash | None:
        return named_end([error for error in errors if error.step is None or error.step >= last])

    for note in notes:
        launched = note.kind in ("start", "resume")
        back = note.laps > laps or (note.kind in ENDINGS and note.step is not None and note.step < last)
        laps = max(laps, note.laps)
        over = last in ended and note.kind in ENDINGS and note.step is not None and note.step > last
        if launched or back or over:
            found.append(named())
            errors, last = [], -1
        if note.kind in ENDINGS:
            errors.append(note)
        if note.step is not None and not launched:
            last = max(last, note.step)
    if go_on or (last in ended and last != newest):
        found.append(named())
    return [crash for crash in found if crash is not None]

"""Notes from log text. Which lines matter is data (`notes.toml`). Tracebacks are followed to their last line."""

from __future__ import annotations

import re
from collections import deque
from functools import cache, lru_cache
from math import nan
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import any_of, lazy
from rltui.readers.base import LAST_WORDS, Note, NoteKind, Ungraded
from rltui.readers.console.forms import RECENT
from rltui.readers.console.lead import without_colours, without_lead
from rltui.readers.console.line_clock import LineClock, lead_of
from rltui.text import clean

WARNINGS = 100
"""Most warnings given out of one file; those that differ only in numbers count once. Other notes are all given out: any
error may be the one that ends the run."""
MAX_TRACEBACK = 1000
"""Most lines of one traceback; a longer text is not a traceback."""
FRAMES = 16
"""Innermost frames of a traceback that are kept."""
TRACEBACK = "Traceback (most recent call last)"

_PREFIX = lazy(r"^(?:\x1b\[[0-9;]*m)*\((?:[^()]*?\s?pid=\d+(?:, ip=[0-9.]+)?)\)(?:\x1b\[[0-9;]*m)*[ ]?")
_INSIDE = (" ", "\t", "│", "╭", "╰", "❱", "|")
_CHAINED = (
    "The above exception was",
    "During handling of the above",
    "ray.exceptions.RayTaskError",
    "ray::",
)
_FRAME = lazy(r'File "([^"\n]+)", line (\d+), in (\S+)|^(?:[│|]\s*|File )(\S+\.py):(\d+),? in (\S+)')
_BARE_FRAME = lazy(r'^(.{0,40}?)[ \t]{1,8}File "[^"\n]+", line \d+, in \S')
"""A frame that may come without the words above it: Ray and torch print frames like this, and a log may begin inside
them."""
_FRAME_MARK = ' File "'
_ERROR = lazy(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Killed|Died)\b")
_IPYTHON = lazy(r"^([A-Za-z_][\w.]*) {2,}" + re.escape(TRACEBACK))
"""IPython puts the error's name before these words, and shows code without indent below. Only a line that begins with
the name ends the traceback."""
_ENDS = ("oom", "killed", "fault", "failed")
_SAYS_MORE = frozenset(("end", "oom", "killed", "fault"))
"""Kinds of a line whose words are not only those that may end a log."""
_LAST = _SAYS_MORE | frozenset(LAST_WORDS)
_DIGITS = lazy(r"[\d.]+")


def split_prefix(text: str) -> tuple[str, str]:
    """Ray's prefix of a forwarded line (empty if there is none) and the message after it."""
    found = _PREFIX.match(text)
    return (text[: found.end()], text[found.end() :]) if found else ("", text)


class NoteRule(Record):
    """Lines that hold one of `any` and match `pattern` (a regex; its groups `step`, `total`, `module` are taken), but
    not `unless`. `alone`: the pattern must match the whole message after the prefix of logging. `ungraded`: such a line
    says that answers could not be graded."""

    kind: NoteKind
    any: tuple[str, ...]
    pattern: str | None = None
    unless: str | None = None
    alone: bool = False
    ungraded: bool = False


class NoteRules(Record):
    rule: tuple[NoteRule, ...]


class _Rule(Struct, frozen=True):
    kind: NoteKind
    any: tuple[str, ...]
    pattern: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    alone: bool
    ungraded: bool

    def matches(self, message: str) -> re.Match[str] | None:
        if self.pattern is None:
            return None
        return self.pattern.fullmatch(without_lead(message)) if self.alone else self.pattern.search(message)


@kept
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            rule.kind,
            rule.any,
            None if rule.pattern is None else lazy(rule.pattern),
            None if rule.unless is None else lazy(rule.unless),
            rule.alone,
            rule.ungraded,
        )
        for rule in read(Path(__file__).with_name("notes.toml"), NoteRules).rule
    )


TOLD_ONCE: tuple[NoteKind, ...] = ("warning", "change", "overflow")
"""Kinds of notes for which lines that differ only in digits are given once."""


@cache
def triggers() -> tuple[str, ...]:
    """Texts; a line is looked at only if it holds one of them."""
    return (TRACEBACK, _FRAME_MARK, *(text for rule in _rules() for text in rule.any))


@cache
def _search() -> tuple[re.Pattern[str], dict[str, frozenset[str]]]:
    """What finds the longest trigger at each place of a text, and for each trigger those that it begins with."""
    known = {text: frozenset(other for other in triggers() if text.startswith(other)) for text in triggers()}
    return re.compile(any_of(known)), known


@lru_cache(maxsize=RECENT)
def _held(message: str) -> frozenset[str]:
    """The triggers that a message holds."""
    pattern, known = _search()
    held, at = frozenset[str](), 0
    while (found := pattern.search(message, at)) is not None:
        held, at = held | known[found[0]], found.start() + 1
    return held


class _Traceback(Struct):
    """An open traceback. `error`: the name that its last line begins with; empty if any line without indent is the
    last. `lead`: the text before each of its lines, such as the rank that torch puts there. `told`: lines that `finish`
    has covered. `others`: lines without the lead since then. `bare`: only its frames show that it is one; a stack that
    is merely shown does not end with the name of an error."""

    error: str = ""
    begun: int = 0
    lead: str = ""
    lines: int = 0
    told: int = 0
    others: int = 0
    last: str = ""
    frames: deque[str] = field(default_factory=lambda: deque(maxlen=FRAMES))
    bare: bool = False

    def note(self, message: str, line: int, step: int | None) -> Note:
        return Note("traceback", clean(message, 500), line, step, None, None, tuple(self.frames), self.begun)


OpenTracebacks = dict[tuple[str, str], _Traceback]
"""(Ray's prefix, text before each line) -> traceback."""


class NoteFinder:
    """Finds notes line by line. While no traceback is open, lines without a trigger need not be passed."""

    def __init__(self, clock: LineClock | None = None) -> None:
        self._clock = LineClock() if clock is None else clock
        self._open: OpenTracebacks = {}
        self._warned: set[str] = set()
        self.fails = False  # the newest line says that answers could not be graded
        self.ungraded: Ungraded | None = None  # what to tell of that, once for each step or row
        self._ungraded: tuple[int | None, int] | None = None  # step and rows before the newest of them

    @property
    def in_traceback(self) -> bool:
        return bool(self._open)

    def standing(self) -> OpenTracebacks:
        """A copy of the open tracebacks, to go back to: an unfinished line may go on."""
        return {key: replace(one, frames=deque(one.frames, FRAMES)) for key, one in self._open.items()}

    def go_back(self, standing: OpenTracebacks) -> None:
        self._open = standing

    def line(self, text: str, line: int, step: int | None, done: int | None = None, rows: int = 0) -> list[Note]:
        """The notes of one line. `step`: the newest training step before it. `done`: steps that a bar shows as
        done. `rows`: how many rows before it have steps that are not known yet."""
        prefix, message = split_prefix(text)
        message = without_colours(message)
        out: list[Note] = []
        self.fails, self.ungraded = False, None
        if TRACEBACK in message:
            named = _IPYTHON.match(message)
            lead = "" if named else message[: message.index(TRACEBACK)]
            if len(self._open) < 64:
                self._open[prefix, lead] = _Traceback(named[1] if named else "", line, lead)
            return out
        key = self._of(prefix, message) if self._open else None
        if key is None and (frame := _BARE_FRAME.match(message) if _FRAME_MARK in message else None) is not None:
            key = prefix, frame[1]
            if len(self._open) < 64:
                self._open[key] = _Traceback(bare=True, begun=line, lead=frame[1])
        ended: str | None = None  # the last line of a traceback says more than its words
        quoted = False  # code that a traceback shows is not what the program says
        if key in self._open:
            traceback = self._open[key]
            ended = self._follow(key, message.removeprefix(traceback.lead))
            quoted = key in self._open and message.removeprefix(traceback.lead).startswith(_INSIDE)
            if ended is not None:
                out.append(traceback.note(ended, line, step))
        seen: set[str] = set()
        held = _held(message)
        for rule in _rules() if held else ():
            if rule.kind in seen and not rule.ungraded:
                continue
            if quoted and rule.kind in _LAST:
                continue
            if rule.kind in LAST_WORDS and (ended is not None or not seen.isdisjoint(_SAYS_MORE)):
                continue
            if held.isdisjoint(rule.any):
                continue
            if rule.unless is not None and rule.unless.search(message):
                continue
            found = rule.matches(message)
            if rule.pattern is not None and found is None:
                continue
            if rule.ungraded:
                self._fails(message, step if step is not None or rows else done, rows)
            if rule.kind in seen:
                continue
            if rule.kind == "warning" and out:  # a worse note or its traceback covers it
                continue
            if rule.kind in TOLD_ONCE and not self._new(message):
                continue
            if rule.kind == "module" and found is not None:
                out += [Note("module", clean(found["module"], 100), line)] if self._new(found["module"]) else []
                continue
            seen.add(rule.kind)
            stated = found.groupdict() if found is not None else {}
            at = _whole(stated.get("step"))
            if at is None and rule.kind != "progress":
                at = step
            out.append(Note(rule.kind, clean(message, 500), line, at, _whole(stated.get("total")), after=step))
        time = self._clock.of(lead_of(message)) if out else nan
        return out if time != time else [note._replace(time=time) for note in out]

    def _fails(self, message: str, step: int | None, rows: int) -> None:
        self.fails = True
        if self._ungraded != (step, rows):
            self._ungraded = step, rows
            self.ungraded = Ungraded(clean(message, 500), step, rows)

    def finish(self, line: int, step: int | None) -> list[Note]:
        """Notes of open tracebacks, as the file ends for now: the last chained error, else the innermost frame. Their
        last line may still come."""
        out: list[Note] = []
        for traceback in self._open.values():
            at = f"{TRACEBACK}, in {traceback.frames[-1]}" if traceback.frames and not traceback.bare else ""
            shown = traceback.last or at
            if shown and traceback.lines > traceback.told:
                out.append(traceback.note(shown, line, step))
                traceback.told = traceback.lines
        return out

    def _of(self, prefix: str, message: str) -> tuple[str, str] | None:
        """The key of the open traceback that a line belongs to; None if there is none. Each of several ranks has its
        own lead before all lines. A lead that the second line lacks was the logger's, and is only before the first
        line."""
        near = [key for key in self._open if key[0] == prefix]
        led = max((key for key in near if message.startswith(key[1])), key=lambda key: len(key[1]), default=None)
        if led is not None:
            return led
        first = next((key for key in near if not self._open[key].lines), None)
        if first is not None and message.startswith(_INSIDE):
            self._open[prefix, ""] = replace(self._open.pop(first), lead="")
            return prefix, ""
        for key in near:
            self._open[key].others += 1
            if self._open[key].others > MAX_TRACEBACK:
                del self._open[key]
        return None

    def _follow(self, key: tuple[str, str], message: str) -> str | None:
        traceback = self._open[key]
        traceback.lines += 1
        if traceback.lines > MAX_TRACEBACK:
            del self._open[key]
            return None
        if (frame := _FRAME.search(message)) is not None:
            path, number, function = frame.group(1, 2, 3) if frame[1] else frame.group(4, 5, 6)
            traceback.frames.append(clean(f"{path}:{number} {function}", 200))
        if not message.strip() or message.startswith(_INSIDE):
            return None
        if message.startswith(_CHAINED) and traceback.lines > 1:
            traceback.last = message
            return None
        if not message.startswith(traceback.error):
            return None
        del self._open[key]
        return None if traceback.bare and not _ERROR.match(message) else message

    def _new(self, message: str) -> bool:
        shape = _DIGITS.sub("0", message)[:120]
        if shape in self._warned or len(self._warned) >= WARNINGS:
            return False
        self._warned.add(shape)
        return True


def says_an_end(text: str) -> bool:
    """Whether a text says why a program ended: a job's streams may hold only the scheduler's words."""
    finder = NoteFinder()
    lines = [line for line in text.splitlines() if _held(line)]
    return any(note.kind in _ENDS for line in lines for note in finder.line(line, 0, None))


def _whole(text: str | None) -> int | None:
    return int(text) if text and len(text) < 16 else None

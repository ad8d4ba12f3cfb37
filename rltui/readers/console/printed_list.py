"""A list that a program prints over one line or many, and whether it is a history of its run.

What makes rows of one is what makes them of a file (`document_rows`). Here they stand among other text, of which they
must be told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut
from rltui.readers.console.lead import plain, split_lead
from rltui.readers.console.name_words import words as template_words
from rltui.readers.console.notes import split_prefix
from rltui.readers.document_rows import Held, evened, held
from rltui.readers.json_text import cut_short, depth_of, documents, end_of
from rltui.readers.keys import first_of, names
from rltui.readers.row_kinds import hoisted, is_sample, row_words, words_of
from rltui.text import clean

MOST_WORDS = 6
"""Words before a list that is no part of a sentence."""
FEWEST = 5
"""Values of a course that nothing calls one."""
_LOOKED_AT = 20  # rows
_SENTENCE = lazy(r"[.;]\s")
_NAMES = lazy(r"[A-Za-z_][\w/.@%\-]*")
_LISTED_NAMES = lazy(
    r"^[\s\[(]*(?:[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s,|;\])]+)*[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s\])]*$"
)
CUT_OFF = "printed rows that are cut off: the complete ones count"
MOST = 1 << 23
"""Bytes of one list."""
WIDTH = 40
"""Characters of a terminal's line at least."""
_SHOWN = 100
_BEFORE = lazy(
    r"^([\w \t.:=/\-#*>,&;]{0,200}(?:\(\w[\w, /]*\))?[\s:=>]*)"
    r"(?:(?:defaultdict\(<class '\w+'>, |deque\()\s*)?(?=[\[{])"
)
"""Words before a list, names of its cells in brackets, what Python prints around a list."""
_BEHIND = lazy(r"(?:, maxlen=\w+)?\)?[\s,;|.&]*")
_NUMBER = r"(?:-?[\d.]|None|True|False|NaN|nan|null|true|false|-?inf|-?Infinity|np\.|numpy\.|array|tensor|float\d*\()"
_ITEM = re.compile(rf"\s*(?:[\[({{\"']|{_NUMBER})")
_CLOSED = re.compile(r"\s*[\])},]")
_OPEN = ",[{(:"


def may_name(before: str) -> bool:
    """Whether the words before a list may be its name: the last of them are no sentence, and none name a prompt or a
    completion."""
    said = words_of(_SENTENCE.split(before)[-1])
    quoted = not set(names("text")).isdisjoint(words_of(before))
    return len(said) <= MOST_WORDS and template_words().prose.isdisjoint(said) and not quoted


def history(parsed: list[Any], before: str, cells: tuple[str, ...], known: Collection[str]) -> Held | None:
    """The rows of what was printed behind some words, None if they are no history of the run. `cells`: names in the
    line above; `known`: of the metrics of rows that came already."""
    document: Any = parsed[0] if len(parsed) == 1 else parsed
    if isinstance(document, list) and document and isinstance(document[0], list):
        document = _named(document, (names_in(before), cells))
    words = words_of(before)
    if not isinstance(document, list | dict):
        return None
    found = held({"_".join(words): document} if words else document)
    if found is None or found.runs or not found.rows:
        return None
    rows = found.rows[:_LOOKED_AT]
    if not words and not known and isinstance(document, dict) and _is_course(found.rows):
        return found
    return found if _is_of_run(rows, set(words), known) else None


def _named(rows: list[Any], lists: tuple[tuple[str, ...], ...]) -> Any:
    """Rows as lists with the names of their cells; None if nothing names them."""
    if rows[0] and isinstance(rows[0][0], str | list | dict):
        return rows
    fitting = next((found for found in lists if len(found) == len(rows[0]) > 1), None)
    return None if fitting is None else {"columns": list(fitting), "data": rows}


def _is_of_run(rows: list[dict[str, Any]], before: set[str], known: Collection[str]) -> bool:
    """Whether rows state their steps, or are called a history; and measure what the rows before them do, or are called
    by a word for rows."""
    if all(map(is_sample, rows)):
        return False
    words = row_words()
    measured = words.measures & {word for row in rows for key in _keys(row) for word in words_of(key)}
    called = not words.histories.isdisjoint(before)
    named = called or not words.parts.isdisjoint(before) or not before.isdisjoint(words.words["eval"])
    if not states_steps(rows):
        return called and len(rows) > 1 and bool(measured)
    there = {word for key in known for word in words_of(key)} & words.measures
    return named or (bool(measured) and (not there or not there.isdisjoint(measured)))


def _is_course(rows: list[dict[str, Any]]) -> bool:
    """Whether columns under no name are the course of a training, as Keras returns it: of the loss and of more."""
    measured = [key for key in rows[0] if not row_words().measures.isdisjoint(words_of(key))]
    return len(rows) >= FEWEST and len(measured) > 1 and any("loss" in words_of(key) for key in measured)


def states_steps(rows: list[dict[str, Any]]) -> bool:
    """Whether the first rows, or some of them, state their steps."""
    return any(first_of("step", hoisted(row)) is not None for row in rows[:_LOOKED_AT])


def _keys(row: dict[str, Any]) -> Iterator[str]:
    for key, value in row.items():
        yield str(key)
        if isinstance(value, dict):
            yield from map(str, value)


def names_in(line: str) -> tuple[str, ...]:
    """The names that a line lists and nothing else, or that stand in brackets at its end; one is a step's."""
    message = split_lead(plain(split_prefix(line[:2000])[1])).message.rstrip(" :=")
    begin = message.rfind("(") if message.endswith(")") else -1
    message = message[begin + 1 : -1] if begin > 0 else message
    found = tuple(_NAMES.findall(message)) if _LISTED_NAMES.match(message) else ()
    return found if len(found) > 1 and first_of("step", found) is not None else ()


class Begin(NamedTuple):
    """Where a list begins in a line. `prefix`: Ray's, `led`: whether logging put something before the message, `rank`:
    of the process, `before`: the words before the list; `text`: the line from the list on."""

    prefix: str
    led: bool
    rank: str
    before: str
    text: str


def begin_of(line: bytes) -> Begin | None:
    """None for a line in which none begins."""
    prefix, message = split_prefix(line.decode("utf-8", "replace").rstrip("\r"))
    rank, source, text, _ = split_lead(plain(message))
    found = _BEFORE.match(text)
    if found is None:
        return None
    led = len(text) < len(plain(message).strip())
    return Begin(prefix, led, rank, f"{source} {found[1]}".strip(), text[found.end() :])


class Printed(Struct, frozen=True):
    """Rows that a program printed all at once, from a line on."""

    line: int
    held: Held


class CutOff(NamedTuple):
    """The rows of a list that is cut off, what is left out of it, and of how many lines it is."""

    rows: Printed
    rest: LeftOut
    lines: int


class PrintedList(Struct):
    """Collects the lines. `names`: of its cells, by the line above; `quoted`: it stands in other text, and is none of
    the run, whatever it holds; `breakable`: a terminal may have broken its lines."""

    begin: Begin
    names: tuple[str, ...]
    quoted: bool
    breakable: bool
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _size: int = 0
    _depth: int = 0
    _sure: int = 0  # lines that are of it by how they begin and end; others if a terminal broke it
    _width: int = 0  # of all its lines but the newest
    _cut: tuple[int, CutOff | None] = (0, None)  # after so many lines

    def copy(self) -> PrintedList:
        """One that takes a line without changing this one."""
        return replace(self, lines=list(self.lines), _parts=list(self._parts))

    @property
    def is_over(self) -> bool:
        """Whether all its brackets are closed."""
        return self._depth <= 0

    def add(self, line: bytes, number: int) -> bool:
        """Takes its first line, or the next one if that is of the list too; false if not."""
        text = self._inner(line) if self.lines else self.begin.text
        sure = not self.lines or self._follows(text)
        if (not sure and not self._is_broken(line)) or self._size > MOST:
            return False
        if self.lines:
            last = len(self.lines[-1][1])
            self._width = last if self._width in (0, last) else -1
        self.lines.append((number, line))
        self._parts.append(text)
        self._size += len(line)
        self._sure += sure
        self._depth += depth_of(text)
        return True

    def _follows(self, text: str) -> bool:
        """Whether a line goes on where the last one ended, as they are set out."""
        last = self._parts[-1].rstrip()
        string = last.endswith(("'", '"')) and text.lstrip()[:1] in ("'", '"')
        opened = last[-1:] in _OPEN or string
        return self._sure == len(self.lines) and bool(_CLOSED.match(text) or (opened and _ITEM.match(text)))

    def _is_broken(self, line: bytes) -> bool:
        """Whether a line may be the next one of a list that a terminal broke: all before it are as wide."""
        last = len(self.lines[-1][1])
        return self.breakable and WIDTH <= last >= len(line) and self._width in (0, last)

    def _inner(self, line: bytes) -> str:
        """What a further line holds of the list: each may stand behind the time of a logger."""
        text = plain(split_prefix(line.decode("utf-8", "replace"))[1]).rstrip("\r")
        return split_lead(text).message if self.begin.led else text

    # -- what it holds ---------------------------------------------------------------------------------------------

    def whole(self, known: Collection[str]) -> list[Printed] | None:
        """The rows, if it is over; of several lists one behind the other those of each. None if it is none of the
        run."""
        text, starts = self._joined()
        before, at, out = self.begin.before, 0, []
        while not self.quoted and (end := end_of(text, at)) is not None:
            found = self._rows(text[at:end], before, known)
            if found is None:
                return None
            out.append(Printed(self._line_at(starts, at)[1], found))
            behind = _BEHIND.match(text, end)
            at = end if behind is None else behind.end()
            if not text[at:].strip():
                return out
            following = _BEFORE.match(text[at:])
            if following is None:
                return None
            before, at = following[1], at + following.end()
        return None

    def cut_off(self, known: Collection[str]) -> CutOff | None:
        """What is complete of it; None if that is nothing of the run."""
        if self._cut[0] != len(self.lines):
            self._cut = len(self.lines), self._complete(known)
        return self._cut[1]

    def _complete(self, known: Collection[str]) -> CutOff | None:
        text, starts = self._joined()
        for end, closed in () if self.quoted else cut_short(text):
            found = self._rows(closed, self.begin.before, known, torn=True)
            if found is not None:
                rest = text[end:].lstrip(" ,\n")
                at, number = self._line_at(starts, len(text) - len(rest) if rest else end - 1)
                left = LeftOut(CUT_OFF, 1, f"line {number}", clean(rest.strip(), _SHOWN))
                return CutOff(Printed(self.lines[0][0], found), left, max(at + 1, self._sure))
        return None

    def _rows(self, text: str, before: str, known: Collection[str], torn: bool = False) -> Held | None:
        try:
            parsed = documents(text.encode())
        except (ValueError, RecursionError):
            return None
        if not torn:
            return history(parsed, before, self.names, known)
        found = history([evened(one) for one in parsed], before, self.names, known)
        columns = isinstance(parsed[0], dict)
        return None if found is None or (columns and not states_steps(found.rows)) else found  # theirs may follow

    def _joined(self) -> tuple[str, list[int]]:
        """The lines as one text, and where each begins in it."""
        end = "\n" if self._sure == len(self.lines) else ""
        starts, at = [], 0
        for part in self._parts:
            starts.append(at)
            at += len(part) + len(end)
        return end.join([*self._parts, ""]), starts

    def _line_at(self, starts: list[int], place: int) -> tuple[int, int]:
        """Which of the lines holds a place of the text, and its number in the file."""
        at = max(i for i, start in enumerate(starts) if start <= place)
        return at, self.lines[at][0]

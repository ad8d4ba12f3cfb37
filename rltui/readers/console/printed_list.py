"""A list that a program prints on one line or many, and whether it is a history of its run.

`document_rows` makes rows of it, as of a file. Here the list is inside other text and must first be separated from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut
from rltui.readers.console.lead import plain, split_lead
from rltui.readers.console.notes import split_prefix
from rltui.readers.document_rows import Held, evened, held
from rltui.readers.json_text import cut_short, depth_of, documents, end_of
from rltui.readers.keys import first_of, names
from rltui.readers.name_words import words as template_words
from rltui.readers.row_kinds import hoisted, is_sample, row_words, words_of
from rltui.text import clean

MOST_WORDS = 6
"""Most words before a list that is not part of a sentence."""
FEWEST = 5
"""Fewest values of a course that has no name."""
_LOOKED_AT = 20  # rows
_SENTENCE = lazy(r"[.;]\s")
_NAMES = lazy(r"[A-Za-z_][\w/.@%\-]*")
_LISTED_NAMES = lazy(
    r"^[\s\[(]*(?:[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s,|;\])]+)*[\"']?[A-Za-z_][\w/.@%\-]*[\"']?[\s\])]*$"
)
CUT_OFF = "printed rows that are cut off: the complete ones count"
MOST = 1 << 23
"""Most bytes of one list."""
WIDTH = 40
"""Fewest characters of a terminal's line."""
_SHOWN = 100
_BEFORE = lazy(
    r"^([\w \t.:=/\-#*>,&;]{0,200}(?:\(\w[\w, /]*\))?[\s:=>]*)"
    r"(?:(?:defaultdict\(<class '\w+'>, |deque\()\s*)?(?=[\[{])"
)
"""Words before a list, names of its cells in brackets, and what Python prints around a list."""
_BEHIND = lazy(r"(?:, maxlen=\w+)?\)?[\s,;|.&]*")
_NUMBER = r"(?:-?[\d.]|None|True|False|NaN|nan|null|true|false|-?inf|-?Infinity|np\.|numpy\.|array|tensor|float\d*\()"
_ITEM = lazy(rf"\s*(?:[\[({{\"']|{_NUMBER})")
_CLOSED = lazy(r"\s*[\])},]")
_OPEN = ",[{(:"


def may_name(before: str) -> bool:
    """Whether the words before a list may be its name: the last of them are not a sentence, and none names a prompt or
    a completion."""
    said = words_of(_SENTENCE.split(before)[-1])
    quoted = not set(names("text")).isdisjoint(words_of(before))
    return len(said) <= MOST_WORDS and template_words().prose.isdisjoint(said) and not quoted


def history(parsed: list[Any], before: str, cells: tuple[str, ...], known: Collection[str]) -> Held | None:
    """The rows of what was printed after the words `before`; None if they are not a history of the run. `cells`: names
    in the line above. `known`: names of the metrics in earlier rows."""
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
    """Rows that are lists, with the names of their cells; None if nothing names these. Other rows unchanged."""
    if rows[0] and isinstance(rows[0][0], str | list | dict):
        return rows
    fitting = next((found for found in lists if len(found) == len(rows[0]) > 1), None)
    return None if fitting is None else {"columns": list(fitting), "data": rows}


def _is_of_run(rows: list[dict[str, Any]], before: set[str], known: Collection[str]) -> bool:
    """Whether rows are a history of the run. They must state their steps or be called a history. They must also hold
    the metrics of earlier rows or have a word for rows before them."""
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
    """Whether columns without a name are the course of a training, as Keras returns it: the loss and other metrics."""
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
    """The names in a line that only lists names, or in brackets at its end; empty if none of them is a step."""
    message = split_lead(plain(split_prefix(line[:2000])[1])).message.rstrip(" :=")
    begin = message.rfind("(") if message.endswith(")") else -1
    message = message[begin + 1 : -1] if begin > 0 else message
    found = tuple(_NAMES.findall(message)) if _LISTED_NAMES.match(message) else ()
    return found if len(found) > 1 and first_of("step", found) is not None else ()


class Begin(NamedTuple):
    """The beginning of a list in a line. `prefix`: that of Ray. `led`: logging put something before the message.
    `rank`: of the process. `before`: the words before the list. `text`: the line from the list on."""

    prefix: str
    led: bool
    rank: str
    before: str
    text: str


def begin_of(line: bytes) -> Begin | None:
    """The beginning of a list in a line; None if the words before it cannot be read as its name."""
    prefix, message = split_prefix(line.decode("utf-8", "replace").rstrip("\r"))
    rank, source, text, _ = split_lead(plain(message))
    found = _BEFORE.match(text)
    if found is None:
        return None
    led = len(text) < len(plain(message).strip())
    return Begin(prefix, led, rank, f"{source} {found[1]}".strip(), text[found.end() :])


class Printed(Struct, frozen=True):
    """Rows that a program printed all at once, from line `line` on."""

    line: int
    held: Held


class CutOff(NamedTuple):
    """The rows of a list that is cut off, what is left out of it, and how many lines it has."""

    rows: Printed
    rest: LeftOut
    lines: int


class PrintedList(Struct):
    """Collects the lines of a list. `names`: of its cells, from the line above. `quoted`: it is inside other text and
    so never part of the run. `breakable`: a terminal may have broken its lines."""

    begin: Begin
    names: tuple[str, ...]
    quoted: bool
    breakable: bool
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _size: int = 0
    _depth: int = 0
    _sure: int = 0  # lines that belong to it by how they begin and end; others only if a terminal broke it
    _width: int = 0  # common width of all its lines except the newest
    _cut: tuple[int, CutOff | None] = (0, None)  # (number of lines, result of `cut_off` for these)

    def copy(self) -> PrintedList:
        """A copy that takes lines without changing this one."""
        return replace(self, lines=list(self.lines), _parts=list(self._parts))

    @property
    def is_over(self) -> bool:
        """Whether all its brackets are closed."""
        return self._depth <= 0

    def add(self, line: bytes, number: int) -> bool:
        """Takes its first line, or the next one if that belongs to the list. False if not."""
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
        """Whether a line goes on where the last one ended, by the layout of the list."""
        last = self._parts[-1].rstrip()
        string = last.endswith(("'", '"')) and text.lstrip()[:1] in ("'", '"')
        opened = last[-1:] in _OPEN or string
        return self._sure == len(self.lines) and bool(_CLOSED.match(text) or (opened and _ITEM.match(text)))

    def _is_broken(self, line: bytes) -> bool:
        """Whether a line may be the next one of a list that a terminal broke: all lines before it have one width."""
        last = len(self.lines[-1][1])
        return self.breakable and WIDTH <= last >= len(line) and self._width in (0, last)

    def _inner(self, line: bytes) -> str:
        """The part of a further line that belongs to the list: each line may begin with the time of a logger."""
        text = plain(split_prefix(line.decode("utf-8", "replace"))[1]).rstrip("\r")
        return split_lead(text).message if self.begin.led else text

    # -- what it holds ---------------------------------------------------------------------------------------------

    def whole(self, known: Collection[str]) -> list[Printed] | None:
        """The rows of a finished list; several lists after each other give one entry each. None if it is not of the
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
        """The complete rows of an unfinished list; None if they are not of the run."""
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
        """The lines as one text, and the place where each begins in it."""
        end = "\n" if self._sure == len(self.lines) else ""
        starts, at = [], 0
        for part in self._parts:
            starts.append(at)
            at += len(part) + len(end)
        return end.join([*self._parts, ""]), starts

    def _line_at(self, starts: list[int], place: int) -> tuple[int, int]:
        """The index of the line that holds a place of the text, and its number in the file."""
        at = max(i for i, start in enumerate(starts) if start <= place)
        return at, self.lines[at][0]

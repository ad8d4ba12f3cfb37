"""Finds the lists of rows that a program prints in its log.

A list must be alone on its lines, after at most a few words: what is quoted in a completion, a prompt or code is not a
history.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from msgspec import Struct
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut
from rltui.readers.console.line_filter import remember, shape_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.printed_list import Begin, Printed, PrintedList, begin_of, may_name, names_in, states_steps
from rltui.readers.document_rows import Row

FENCED = 200
"""Most lines of fenced code: a completion that is cut off never closes it."""
_FENCE = b"```"
_CELLS = ("[[", "[(")
_CELL = rb"(?:[^\],\n]{1,40},|[\[{(]|\r?$)"
_LIST = lazy(
    rb"\[(?:\s*(?:[\[({][\"'\[({\d-]|\r?$)"  # of rows
    rb"|(?:(?<=[\"']: \[)|(?<=[\"']:\[)|(?<=[yr]\(\[))" + _CELL + rb")",  # a column, an array of numpy or torch
    re.MULTILINE,
)
_DICT = lazy(
    rb"\{(?:\s*(?:[\"'](?:[A-Za-z]{1,20}[_ -])?)?\d{1,15}[\"']?: ?\{|\r?$"  # of rows by step; set out
    rb"|(?<=[\"']: \{)\s*[\"']?\d{1,15}[\"']?: )",  # of values by step
    re.MULTILINE,
)
_OPENS = lazy(rb"[\[{`]")
_MAY_OPEN = lazy(rb"[{]|\[\s*(?:[\[({]|$)|[\"']: ?\[|[yr]\(\[|" + _FENCE)


def holds_mark(text: bytes, at: int, end: int) -> bool:
    """Whether a list or code may begin between two places of a text."""
    for found in _OPENS.finditer(text, at, end):
        begin = found.start()
        if _LIST.match(text, begin) or _DICT.match(text, begin) or text.startswith(_FENCE, begin):
            return True
    return False


def may_hold_mark(shape: bytes) -> bool:
    """Whether a list or code may begin in a line of this shape, whatever its digits are."""
    return _MAY_OPEN.search(shape) is not None


class PassedLine(Struct, frozen=True):
    """A line that belongs to no list after all. `within`: it is inside a complete list that is not of the run, so it
    tells nothing."""

    number: int
    line: bytes
    within: bool = False


Found = Printed | PassedLine


def _shape(held: PrintedList) -> bytes:
    """The shape of the first two lines of a list."""
    return b"\n".join(shape_of(line) for _, line in held.lines[:2])


class PrintedRows:
    """Takes the lines of such lists. `known`: names of the metrics in earlier rows."""

    def __init__(self) -> None:
        self._open: PrintedList | None = None
        self.above = b""  # the line before
        self._begun: tuple[bytes, Begin] | None = None  # the newest line in which a list may begin
        self._fence = 0  # line where code began
        self._rank: str | None = None  # rank of the process whose lists count
        self._dull: set[bytes] = set()  # shapes of lines that hold no list of the run
        self._torn: list[LeftOut] = []
        self._kept: tuple[PrintedList | None, int] | None = None  # the state without the unfinished line
        self._given: tuple[int, list[Row]] = 0, []  # line where a list began, and its rows that were given out

    @property
    def is_open(self) -> bool:
        return self._open is not None

    @property
    def first_held(self) -> int:
        """Number of the first line that is held back; 0 if there is none."""
        return 0 if self._open is None else self._open.lines[0][0]

    def pass_by(self, line: bytes, number: int) -> None:
        """Takes note of a line with a mark after it was read: it may begin or end code."""
        if _FENCE in line and line.lstrip().startswith(_FENCE):
            self._fence = 0 if self._fence and number - self._fence <= FENCED else number

    def opens(self, line: bytes) -> bool:
        """Whether a list may begin in a line."""
        if self._begun is not None and self._begun[0] is line:
            return True
        if (_LIST.search(line) or _DICT.search(line)) is None or b"%|" in line or shape_of(line) in self._dull:
            return False
        begin = begin_of(line)
        if begin is None or (self._rank is not None and begin.rank not in ("", self._rank)):
            return False
        self._begun = line, begin
        return True

    def take(self, line: bytes, number: int, known: Collection[str], breakable: bool = True) -> list[Found]:
        """Takes a line that begins a list, or any line while one is open. Returns what is complete with it.
        `breakable`: a terminal may have broken the list."""
        held = self._open
        if held is None:
            if not self.opens(line) or self._begun is None:
                return [PassedLine(number, line)]
            begin = self._begun[1]
            fenced = bool(self._fence) and number - self._fence <= FENCED
            names = names_in(self.above.decode("utf-8", "replace")) if begin.text.startswith(_CELLS) else ()
            held = self._open = PrintedList(begin, names, fenced or not may_name(begin.before), breakable)
        elif not line.strip():
            return []
        elif b"%|" in line or split_prefix(line.decode("utf-8", "replace"))[0] != held.begin.prefix:
            return [PassedLine(number, line)]
        if not held.add(line, number):
            closed = self.close(known)
            wanted = self._open is not None or self.opens(line)
            return [*closed, *(self.take(line, number, known, breakable) if wanted else [PassedLine(number, line)])]
        if held.is_over:
            return self._over(held, known)
        if len(held.lines) == 2 and _shape(held) in self._dull:
            self._open = None
            return [PassedLine(*one) for one in held.lines]
        return []

    def _over(self, held: PrintedList, known: Collection[str]) -> list[Found]:
        """The rows of a complete list, or its lines if it is not of the run."""
        self._open = None
        found = held.whole(known)
        if found is not None:
            self._rank = held.begin.rank or self._rank
            return self._news(found, held)
        if not held.quoted:
            remember(_shape(held), self._dull)
        text = held.begin.text
        within = len(held.lines) > 1 and text.startswith("[") and text.count("[") > text.count("]")  # no `[step 1] {`
        return [PassedLine(number, line, within) for number, line in held.lines]

    def close(self, known: Collection[str]) -> list[Found]:
        """Ends an open list that is cut off. Returns its rows, or its lines."""
        held, self._open = self._open, None
        if held is None:
            return []
        found = held.cut_off(known)
        if found is None:
            return [PassedLine(*one) for one in held.lines]
        self._torn.append(found.rest)
        return [*self._news([found.rows], held), *self._again(held.lines[found.lines :], known)]

    def _again(self, lines: list[tuple[int, bytes]], known: Collection[str]) -> list[Found]:
        """Reads lines again that would belong to the list only if a terminal had broken it: they may belong to
        others."""
        out: list[Found] = []
        for number, line in lines:
            wanted = self._open is not None or self.opens(line)
            out += self.take(line, number, known, breakable=False) if wanted else [PassedLine(number, line)]
        return out

    def so_far(self, known: Collection[str]) -> list[Found]:
        """The complete rows of an open list, as nothing follows for now. The list may go on."""
        held = self._open
        found = None if held is None else held.cut_off(known)
        return [] if held is None or found is None else self._news([found.rows], held)

    def finish(self, known: Collection[str]) -> list[Found]:
        """What is known, as the file ends here for now. Lines of a list without complete rows are given back as plain
        lines, until more lines come."""
        held = self._open
        found = None if held is None else held.cut_off(known)
        if held is None or (found is not None and found.lines >= len(held.lines)):
            return self.so_far(known)
        kept, torn = held.copy(), len(self._torn)
        out = [*self.close(known), *self.finish(known)]
        if found is None:
            self._open = kept
            del self._torn[torn:]
        return out

    def _news(self, found: list[Printed], held: PrintedList) -> list[Found]:
        """The rows of a list that are new or changed since they were given out. If rows state no step, all are
        given."""
        line, rows = held.lines[0][0], found[0].held.rows
        before = self._given[1] if self._given[0] == line else []
        self._given = line, rows
        if rows != before and not states_steps(rows):
            before = []
        news = [row for at, row in enumerate(rows) if at >= len(before) or row != before[at]]
        first = replace(found[0], held=replace(found[0].held, rows=news))
        return [one for one in (first, *found[1:]) if one.held.rows]

    # -- a line whose end has not come yet ------------------------------------------------------------------------

    def look_ahead(self) -> None:
        """Keeps the state, as the next line may be unfinished."""
        self.go_on(False)
        self._kept = (None if self._open is None else self._open.copy(), len(self._torn))

    def go_on(self, whole: bool) -> None:
        """Called if bytes came after the unfinished line. `whole`: it had been complete."""
        if self._kept is not None and not whole:
            self._open, torn = self._kept
            del self._torn[torn:]
        self._kept = None

    def left_out(self, known: Collection[str]) -> list[LeftOut]:
        """How many lists are cut off, and where the first is."""
        found = None if self._open is None else self._open.cut_off(known)
        torn = [*self._torn, *([] if found is None else [found.rest])]
        return [replace(torn[0], count=len(torn))] if torn else []

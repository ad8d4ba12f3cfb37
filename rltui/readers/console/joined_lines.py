"""Lines that belong to one text: lists of rows that a program prints, logged dicts on several lines (broken by a
terminal's width, or laid out by `pprint` or `json.dumps`), and messages that rich's handler wraps to make room for the
place in the code on their right."""

from __future__ import annotations

from collections.abc import Collection
from copy import deepcopy

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut
from rltui.readers.console.generic import dict_line
from rltui.readers.console.layouts import headings, logged_cells
from rltui.readers.console.line_filter import SCAN_LIMIT
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.open_end import OpenEnd
from rltui.readers.console.printed_list import Printed
from rltui.readers.console.printed_rows import Found, PrintedRows
from rltui.readers.console.trl import cells

_MOST = 200
"""Most lines of one dict."""
_BEGINS = (b"{'", b'{"')
_MEMBER = lazy(rb"\s*(?:[\"'\[\]{}]|-?\.?\d|(?:true|false|null|True|False|None|-?NaN|nan|-?inf|-?Infinity)\b)")
"""How a line begins inside an object that is laid out over lines."""
_PLACE = lazy(rb"^(\s*(?:\[[^\]]{5,30}\])?\s+(?:DEBUG|INFO|WARNING)\s+)(\S.*?)\s+[\w.]{1,60}\.py:\d{1,6}\s*$")
"""What rich puts before a message, the message, and the place in the code after it."""


def may_be_joined(line: bytes) -> bool:
    """Whether a line may belong to a text of several lines: a quick check, False for most lines."""
    return b"{" in line or b".py:" in line or line.startswith(b" " * 8)


class BrokenLines:
    """Joins the lines of a dict. Lines that do not make a dict of metrics are given back unchanged."""

    def __init__(self) -> None:
        self._held: list[tuple[int, bytes]] = []
        self._size = self._depth = 0
        self._prefix = b""  # Ray's, before each of the lines

    @property
    def is_open(self) -> bool:
        return bool(self._held)

    @property
    def first_held(self) -> int:
        """Number of the first line that is held back; 0 if there is none."""
        return self._held[0][0] if self._held else 0

    @staticmethod
    def opens(line: bytes) -> bool:
        """Whether a dict begins in a line and does not end there."""
        if b"{" not in line:
            return False
        end = line.rfind(b"}")
        return any(line.rfind(begin) > end for begin in _BEGINS) or _set_out(line)

    def take(self, line: bytes, number: int) -> list[tuple[int, bytes]]:
        """Takes a line. Returns the texts that are now complete, each with the number of its first line."""
        inner = line.removeprefix(self._prefix)
        again = self.opens(line) and not inner[:1].isspace()
        again |= bool(self._held) and _set_out(self._held[0][1]) and _MEMBER.match(inner) is None
        if self._held and (again or b"%|" in line or not line.strip()):
            given = self.give_back()
            return [*given, *(self.take(line, number) if self.opens(line) else [(number, line)])]
        if not self._held:
            self._prefix = split_prefix(line.decode("utf-8", "replace"))[0].encode()
        self._held.append((number, line.rstrip(b"\r")))
        self._size += len(line)
        self._depth += line.count(b"{") - line.count(b"}")
        if self._depth <= 0 and line.rstrip().endswith(b"}"):
            whole, held = self._joined(), self.give_back()
            return [(held[0][0], whole)] if _is_row(whole) else held
        if len(self._held) > _MOST or self._size > SCAN_LIMIT:
            return self.give_back()
        return []

    def _joined(self) -> bytes:
        """The dict on one line."""
        lines = [line for _, line in self._held]
        rest = [line.removeprefix(self._prefix) for line in lines[1:]]
        if _set_out(lines[0]):
            return b"".join([lines[0].rstrip(), *(part.strip() for part in rest)])
        return b"".join([lines[0], *rest])

    def give_back(self) -> list[tuple[int, bytes]]:
        """The lines that were held back, as separate lines."""
        held, self._held, self._size, self._depth = self._held, [], 0, 0
        return held


_BROKEN = lazy(rb"^ {8,}[A-Za-z_][\w/.@\-]{19,}$")
"""A word that fills its column alone: rich breaks only words for which no line has room."""


class RichLines:
    """Joins the messages that rich wrapped, without the place in the code on their right. A word that is longer than
    the column of messages is broken at the column's end, and goes on in the next line."""

    def __init__(self) -> None:
        self._held: tuple[int, bytes] | None = None
        self._indent = self._edge = 0  # where the column of messages begins and ends
        self._broken = False  # the newest line ends within a word

    @property
    def is_open(self) -> bool:
        return self._held is not None

    @property
    def first_held(self) -> int:
        """Number of the line that is held back; 0 if there is none."""
        return 0 if self._held is None else self._held[0]

    @staticmethod
    def opens(line: bytes) -> bool:
        """Whether it is the first line of a message, or one that holds only a part of a word."""
        if line.startswith(b" " * 8) and _BROKEN.match(line) is not None:
            return True
        return b".py:" in line and _PLACE.match(line) is not None

    def goes_on(self, line: bytes) -> bool:
        """Whether a line is the next one of the message that is held back."""
        text = line.lstrip(b" ")
        return self._held is not None and bool(text.strip()) and len(line) - len(text) == self._indent

    def take(self, line: bytes, number: int) -> list[tuple[int, bytes]]:
        """Takes a line. Returns what is now complete: the held message if this line does not go on with it, and the
        line itself if it begins none."""
        found = _PLACE.match(line)
        if found is not None:
            given = self.give_back()
            self._held, self._indent = (number, found[1] + found[2]), len(found[1])
            self._edge = line.rstrip().rfind(b" ")
            self._broken = self._is_broken(found[1] + found[2])
            return given
        if self._held is not None and self.goes_on(line):
            at, text = self._held
            self._held = at, text + (b"" if self._broken else b" ") + line.strip()
            self._broken = self._is_broken(line)
            if self._edge or self._broken:
                return []
            return self.give_back()  # no message was opened, only a word
        given = self.give_back()
        if _BROKEN.match(line) is None:
            return [*given, (number, line)]
        self._held, self._edge, self._broken = (number, line), 0, True
        self._indent = len(line) - len(line.lstrip(b" "))
        return given

    def _is_broken(self, line: bytes) -> bool:
        """Whether a line of the message ends within a word: one word fills its column."""
        text = line.rstrip()
        word = text[self._indent :]
        return b" " not in word and (len(text) == self._edge if self._edge else _BROKEN.match(line) is not None)

    def give_back(self) -> list[tuple[int, bytes]]:
        held, self._held = self._held, None
        return [] if held is None else [held]


def _set_out(line: bytes) -> bool:
    """Whether the members of an object are on the lines below: the line ends with `{`, alone or after a mark or a
    time."""
    text = line.rstrip()
    return text.endswith(b"{") and text[:-1].rstrip()[-1:] in b":=|->])"


def _is_row(whole: bytes) -> bool:
    """Whether a dict holds metrics, with its step inside it, before it, or without one."""
    text = whole.decode("utf-8", "replace")
    head, brace, rest = text.partition("{")
    told = bool(logged_cells(text)) or (bool(headings(head.strip())) and bool(logged_cells(brace + rest)))
    return told or cells(whole) is not None or dict_line(text) is not None


class WholeLine(Struct, frozen=True):
    """A line to be read, with its number. `after_blank`: it came after a cleared progress bar. `dull`: nothing is to be
    read from it."""

    number: int
    text: bytes
    after_blank: bool
    dull: bool


Joined = Printed | WholeLine
_Held = tuple[BrokenLines, RichLines, bool]


class JoinedLines(OpenEnd[_Held]):
    """Holds back the lines of such texts until they are complete. `known`: names of the metrics seen so far."""

    def __init__(self) -> None:
        super().__init__()
        self._lists = PrintedRows()
        self._dicts = BrokenLines()
        self._rich = RichLines()
        self._after_blank = False  # the first held line came after a cleared progress bar
        self.pass_by = self._lists.pass_by

    @property
    def is_open(self) -> bool:
        """Whether the next line may belong to a text that is held back."""
        return self._lists.is_open or self._dicts.is_open or self._rich.is_open

    def wants(self, line: bytes, above: bytes, marked: bool) -> bool:
        """Whether a line belongs, or may belong, to such a text. `marked`: it holds a mark. `above`: the line
        before."""
        held = self._rich.is_open or self._dicts.is_open
        if self._lists.is_open or (line and held):
            return True
        self._lists.above = above or self._lists.above
        return (
            (marked and self._lists.opens(line)) or (b"{" in line and self._dicts.opens(line)) or RichLines.opens(line)
        )

    def end(self, above: bytes) -> None:
        """Takes the end of a block of lines; `above`: its last line."""
        self._lists.above = above or self._lists.above

    def take(self, line: bytes, number: int, after_blank: bool, known: Collection[str]) -> list[Joined]:
        """Takes a line. Returns what is now complete."""
        out: list[Joined] = []
        whole = not (self._lists.is_open or self._dicts.is_open)
        if whole and (RichLines.opens(line) or self._rich.goes_on(line)):
            return self._lines(self._rich.take(line, number))
        if self._rich.is_open:
            before = self._lines(self._rich.give_back())
            if not self.wants(line, b"", marked=True):
                return [*before, *self._lines([(number, line)])]
            return [*before, *self.take(line, number, after_blank, known)]
        if not self._lists.is_open and self._lists.opens(line):
            out += self._given_back()
            self._after_blank = after_blank
            return [*out, *self._joined(self._lists.take(line, number, known))]
        if self._lists.is_open:
            return self._joined(self._lists.take(line, number, known))
        self._after_blank = self._after_blank if self._dicts.is_open else after_blank
        return self._lines(self._dicts.take(line, number))

    @property
    def first_held(self) -> int:
        """Number of the first line that is held back; 0 if there is none."""
        return self._lists.first_held or self._dicts.first_held or self._rich.first_held

    def look_ahead(self) -> None:
        self._lists.look_ahead()
        super().look_ahead()

    def finish(self, known: Collection[str]) -> list[Joined]:
        """What is held back, as the file ends here for now. It stays held too, as it may go on."""
        torn = self._kept is not None
        if not torn:
            super().look_ahead()
        self.look_further(torn)
        out = [*self._joined(self._lists.finish(known)), *self._given_back()]
        self.go_back()
        return out

    def go_on(self, whole: bool) -> None:
        """See `was_whole`."""
        self._lists.go_on(whole)
        self.was_whole(whole)

    @property
    def _known(self) -> _Held:
        return self._dicts, self._rich, self._after_blank

    @_known.setter
    def _known(self, known: _Held) -> None:
        self._dicts, self._rich, self._after_blank = known

    def _copied(self) -> _Held:
        return deepcopy(self._known)

    def left_out(self, known: Collection[str]) -> list[LeftOut]:
        """The printed lists that are cut off."""
        return self._lists.left_out(known)

    def _joined(self, found: list[Found]) -> list[Joined]:
        """Rows of lists, and lines that belong to no list; these may belong to a dict."""
        out: list[Joined] = []
        for one in found:
            if isinstance(one, Printed):
                out.append(one)
            elif one.within:
                out.append(WholeLine(one.number, one.line, self._after_blank, dull=True))
            elif self._dicts.is_open or self._dicts.opens(one.line):
                out += self._lines(self._dicts.take(one.line, one.number))
            else:
                out.append(WholeLine(one.number, one.line, self._after_blank, dull=False))
        return out

    def _given_back(self) -> list[Joined]:
        return self._lines([*self._rich.give_back(), *self._dicts.give_back()])

    def _lines(self, lines: list[tuple[int, bytes]]) -> list[Joined]:
        return [WholeLine(number, line, self._after_blank, dull=False) for number, line in lines]

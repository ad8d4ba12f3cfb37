"""Text copied from a terminal, which breaks lines at its width, inside words and numbers."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.base import Record
from rltui.readers.console.lead import split_lead
from rltui.readers.console.reader import ConsoleReader

LOOKED_AT = 1 << 14
"""Bytes that are looked at to find the width at which a text was broken."""
_NARROWEST, _WIDEST = 40, 300
_FEWEST = 3
"""Fewest lines that are as wide as the terminal."""
_WITHIN = 2
"""Fewest of them that break inside a word, a number or a pair."""
_BEGIN = lazy(r"\W*\w+")
_DIGIT = lazy(r"\d")
_COUNTED = lazy(r"^.{0,24}?(?<![\w/.])(?i:step|iter|iteration|epoch|episode|update|round|batch|rollout)\W{0,3}\d")
_BROKEN = lazy(r"[\d.]\n\d|[^\W\d]\n[^\W\d]|\d\n\.\d|[ |,;:=({\[-]\n.|.\n[ |,;:=)}\]-]")


def columns(line: str) -> int:
    """The number of terminal columns that a line fills."""
    if line.isascii():
        return len(line)
    return sum(0 if combining(sign) else 1 + (east_asian_width(sign) in "WF") for sign in line)


class TerminalWidth(Struct, frozen=True):
    """The width at which a text was broken, and the beginnings of its complete lines."""

    width: int
    begins: frozenset[str]

    def goes_on(self, line: str, following: str) -> bool:
        """Whether the next line is the rest of this one."""
        return columns(line) == self.width and bool(following.strip()) and not self.begins_anew(following)

    def begins_anew(self, line: str) -> bool:
        return (
            line.startswith("  ")
            or _begin(line) in self.begins
            or _COUNTED.match(line) is not None
            or split_lead(line).before != ""
        )


def terminal(head: bytes) -> TerminalWidth | None:
    """The terminal width at which a text was broken; None if its beginning does not show one."""
    if b"\x1b" in head or b"\n" not in head:
        return None
    lines = [line.rstrip("\r") for line in head[:LOOKED_AT].decode("utf-8", "replace").split("\n")[:-1]]
    if not lines or any("\r" in line for line in lines):
        return None  # a first line that is so long was not broken
    wide = [columns(line) for line in lines]
    width = max(wide)
    if not _NARROWEST <= width <= _WIDEST:
        return None
    full = [i for i, line in enumerate(lines[:-1]) if wide[i] == width and _says(line)]
    begins = frozenset(_begin(line) for i, line in enumerate(lines) if line and (i == 0 or wide[i - 1] < width - 1))
    found = TerminalWidth(width, begins)
    anew = [i for i in full if found.begins_anew(lines[i + 1])]
    within = [i for i in full if i not in anew and _BROKEN.match(lines[i][-1:] + "\n" + lines[i + 1][:2])]
    return found if len(full) >= _FEWEST and len(within) >= _WITHIN and 5 * len(anew) <= len(full) else None


def _begin(line: str) -> str:
    found = _BEGIN.match(line)
    return "" if found is None else _DIGIT.sub("0", found[0])


def _says(line: str) -> bool:
    """Whether a line holds words and is not part of a frame."""
    return 2 * sum(map(str.isalnum, line)) > len(line) and line[-1] not in "|│┃║"


class HardWraps:
    """Joins the broken lines of a text, piece by piece."""

    def __init__(self) -> None:
        self._head = b""
        self._decided = False
        self._terminal: TerminalWidth | None = None
        self._held = self._newest = ""  # a line that may go on, and the newest of its parts
        self._rest = b""  # an unfinished line

    def feed(self, data: bytes) -> bytes:
        if not self._decided:
            self._head += data
            if len(self._head) < LOOKED_AT:
                return b""
            data = self._decide()
        return data if self._terminal is None else self._join(self._terminal, data)

    def finish(self) -> bytes:
        """The text that was held back."""
        out = b"" if self._decided else self._decide()
        if self._terminal is not None:
            out = self._join(self._terminal, out)
            out += self._held.encode("utf-8", "replace") + self._rest
            self._held, self._rest = "", b""
        return out

    def _decide(self) -> bytes:
        head, self._head = self._head, b""
        self._decided, self._terminal = True, terminal(head)
        return head

    def _join(self, at: TerminalWidth, data: bytes) -> bytes:
        block, end, self._rest = (self._rest + data).rpartition(b"\n")
        out = []
        for line in block.decode("utf-8", "replace").split("\n") if end else ():
            text = line.rstrip("\r")
            if self._held and not at.goes_on(self._newest, text):
                out.append(self._held)
                self._held = ""
            self._held += text
            self._newest = text
            if columns(text) != at.width:
                out.append(self._held)
                self._held = ""
        return "".join(f"{line}\n" for line in out).encode("utf-8", "replace")


def whole(text: bytes) -> bytes:
    """A text with its broken lines joined; empty if no terminal broke them."""
    if terminal(text) is None:
        return b""
    wraps = HardWraps()
    return wraps.feed(text) + wraps.finish()


class WrappedConsole(ConsoleReader):
    """Reads a console log that was copied from a terminal. Line numbers count joined lines."""

    def __init__(self) -> None:
        super().__init__()
        self._wraps = HardWraps()
        self.format = "wrapped-console"

    def feed(self, data: bytes) -> list[Record]:
        return super().feed(self._wraps.feed(data))

    def finish(self) -> list[Record]:
        return [*super().feed(self._wraps.finish()), *super().finish()]

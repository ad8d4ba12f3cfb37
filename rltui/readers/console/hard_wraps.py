"""Text copied from a terminal, which breaks lines at its width, inside words and numbers."""

from __future__ import annotations

from collections.abc import Collection
from unicodedata import combining, east_asian_width

from rltui.lazy_regex import lazy
from rltui.readers.base import Record
from rltui.readers.console.lead import split_lead
from rltui.readers.console.reader import ConsoleReader

LOOKED_AT = 1 << 14
"""Bytes that are searched for the width at which a text was broken."""
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


def _begins_anew(line: str, begins: Collection[str]) -> bool:
    """Whether a line does not continue the one before. `begins`: the beginnings of complete lines."""
    return (
        line.startswith("  ")
        or _begin(line) in begins
        or _COUNTED.match(line) is not None
        or split_lead(line).before != ""
    )


def width_of(head: bytes) -> int | None:
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
    anew = [i for i in full if _begins_anew(lines[i + 1], begins)]
    within = [i for i in full if i not in anew and _BROKEN.match(lines[i][-1:] + "\n" + lines[i + 1][:2])]
    return width if len(full) >= _FEWEST and len(within) >= _WITHIN and 5 * len(anew) <= len(full) else None


def _begin(line: str) -> str:
    found = _BEGIN.match(line)
    return "" if found is None else _DIGIT.sub("0", found[0])


def _says(line: str) -> bool:
    """Whether a line holds words and is not part of a frame."""
    return 2 * sum(map(str.isalnum, line)) > len(line) and line[-1] not in "|│┃║"


class HardWraps:
    """Joins the broken lines of a text, piece by piece. It learns from earlier lines how lines begin, so that a text
    that comes slowly is joined like one that comes at once."""

    def __init__(self) -> None:
        self._head = b""
        self._width: int | None = None
        self._decided = False
        self._begins: set[str] = set()
        self._learned = 0  # bytes from which they were learned
        self._held = self._newest = ""  # a line that may go on, and the newest of its parts
        self._rest = b""  # an unfinished line
        self._given = 0  # how much of the held line, and of the unfinished one after it, was given out before its end

    def feed(self, data: bytes) -> bytes:
        if not self._decided:
            self._head += data
            if len(self._head) < LOOKED_AT:
                return b""
            data = self._decide()
        return data if self._width is None else self._join(self._width, data)

    def rest(self) -> bytes:
        """The text so far, if it already shows the width, as nothing follows for now. Its last line may go on."""
        out = b""
        if not self._decided and (found := width_of(self._head)) is not None:
            out, self._head = self._head, b""
            self._decided, self._width = True, found
            out = self._join(found, out)
        return out + self._give(self._held)

    @property
    def holds(self) -> bool:
        """Whether the newest line is as wide as the terminal, so that the next one may be its rest."""
        return self._held != ""

    def finish(self) -> bytes:
        """The text that was held back."""
        out = b"" if self._decided else self._decide()
        if self._width is None:
            return out
        out = self._join(self._width, out)
        rest = self._rest.decode("utf-8", "replace").rstrip("\ufffd")  # a character may be cut
        if rest and self._held and not self._goes_on(self._width, rest):
            out += self._give(self._held) + b"\n"
            self._held, self._given = "", 0
        return out + self._give(self._held + rest)

    def _give(self, text: str) -> bytes:
        out, self._given = text[self._given :], max(self._given, len(text))
        return out.encode("utf-8", "replace")

    def _decide(self) -> bytes:
        head, self._head = self._head, b""
        self._decided, self._width = True, width_of(head)
        return head

    def _goes_on(self, width: int, text: str) -> bool:
        """Whether the next line is the rest of the newest one."""
        return columns(self._newest) == width and bool(text.strip()) and not _begins_anew(text, self._begins)

    def _join(self, width: int, data: bytes) -> bytes:
        block, end, self._rest = (self._rest + data).rpartition(b"\n")
        out = []
        for line in block.decode("utf-8", "replace").split("\n") if end else ():
            text = line.rstrip("\r")
            if self._held and not self._goes_on(width, text):
                out.append(self._whole())
            if self._learned < LOOKED_AT and text and columns(self._newest) < width - 1:
                self._begins.add(_begin(text))
            self._learned += len(line) + 1
            self._held += text
            self._newest = text
            if columns(text) != width:
                out.append(self._whole())
        return "".join(f"{line}\n" for line in out).encode("utf-8", "replace")

    def _whole(self) -> str:
        """The part of the held line, which is complete, that was not given out yet."""
        out, self._held, self._given = self._held[self._given :], "", 0
        return out


def whole(text: bytes) -> bytes:
    """A text with its broken lines joined; empty if no terminal broke them."""
    if width_of(text) is None:
        return b""
    wraps = HardWraps()
    return wraps.feed(text) + wraps.finish()


class WrappedConsole(ConsoleReader):
    """Reads a console log that was copied from a terminal. Line numbers count joined lines."""

    def __init__(self) -> None:
        super().__init__()
        self._wraps = HardWraps()
        self.format = "wrapped-console"

    def _feed(self, data: bytes) -> list[Record]:
        return super()._feed(self._wraps.feed(data))

    def _rest(self) -> list[Record]:
        told = super()._feed(self._wraps.rest())
        return [*told, *(super()._finish() if self._wraps.holds else ()), *super()._rest()]

    def _finish(self) -> list[Record]:
        return [*super()._feed(self._wraps.finish()), *super()._finish()]

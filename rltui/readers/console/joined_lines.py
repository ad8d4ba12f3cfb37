"""Lines that make one text together: lists of rows that a program prints, and dicts that are broken or set out."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from rltui.readers.base import LeftOut
from rltui.readers.console.broken_lines import BrokenLines, RichLines
from rltui.readers.console.printed_list import Printed
from rltui.readers.console.printed_rows import Found, PrintedRows


@dataclass(frozen=True, slots=True)
class WholeLine:
    """A line to be read, at its number, and whether it stood behind a blanked progress bar. `dull`: it tells
    nothing."""

    number: int
    text: bytes
    after_blank: bool
    dull: bool


Joined = Printed | WholeLine


class JoinedLines:
    """Holds the lines of such texts back until they are whole. `known`: names of the metrics that came already."""

    def __init__(self) -> None:
        self._lists = PrintedRows()
        self._dicts = BrokenLines()
        self._rich = RichLines()
        self._after_blank = False  # the first of the lines held stood behind a blanked progress bar
        self.look_ahead = self._lists.look_ahead
        self.go_on = self._lists.go_on
        self.pass_by = self._lists.pass_by

    @property
    def is_open(self) -> bool:
        """Whether the next line may be of what stands above it."""
        return self._lists.is_open or self._dicts.is_open or self._rich.is_open

    def wants(self, line: bytes, above: bytes, marked: bool) -> bool:
        """Whether a line is of such a text, or may be: `marked`, there is a mark in it. `above`: the line before it."""
        held = self._rich.is_open or self._dicts.is_open
        if self._lists.is_open or (line and held):
            return True
        self._lists.above = above or self._lists.above
        return (
            (marked and self._lists.opens(line)) or (b"{" in line and self._dicts.opens(line)) or RichLines.opens(line)
        )

    def end(self, above: bytes) -> None:
        """A block of lines is over; `above`: its last one."""
        self._lists.above = above or self._lists.above

    def take(self, line: bytes, number: int, after_blank: bool, known: Collection[str]) -> list[Joined]:
        """What is whole with a line."""
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

    def so_far(self, known: Collection[str]) -> list[Joined]:
        """Nothing follows for now: the complete rows of a list."""
        return [*self._joined(self._lists.so_far(known)), *self._lines(self._rich.give_back())]

    def finish(self, known: Collection[str]) -> list[Joined]:
        """The file ends here for now: what is not whole is given back."""
        return [*self._joined(self._lists.finish(known)), *self._given_back()]

    def left_out(self, known: Collection[str]) -> list[LeftOut]:
        """Lists that are cut off."""
        return self._lists.left_out(known)

    def _joined(self, found: list[Found]) -> list[Joined]:
        """Rows, and the lines that are of no list; these may be of a dict."""
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

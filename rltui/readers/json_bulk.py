"""Reads many lines of JSON at once, if they differ only in their numbers.

A trainer's rows have the same keys in the same order, so the text around the numbers is the same in each line. This
text is compared as a whole, and shows where the numbers are. A line that differs in anything else is left to the
reader's own parser.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import orjson
from msgspec import Struct
from numpy.typing import NDArray

from rltui.readers.bulk import ODD_SHARE
from rltui.readers.byte_texts import WORD, Bytes, Ints, masks, parsed, slots

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Path = tuple[str, ...]

_MARK = rb'":'
_VALUE = re.compile(rb'":( *)(-?[0-9][0-9.eE+-]*)(?=[ ,}])')
_LONGEST_GAP = 160
"""The most bytes between two numbers. Longer keys are rare, and each gap of a line costs as much as the longest."""
_LONGEST_NUMBER = 31


class Skeleton(Struct, frozen=True):
    """The text around the numbers of a line. `paths`: the place of each number in the object, in the order of the line.

    `marks`: how often `":` occurs in the line; `at`: the index of the mark before each number; `pads`: the bytes from
    the beginning of that mark to the number. `gaps`: the texts before the first number, between numbers, and after the
    last.
    """

    paths: tuple[Path, ...]
    marks: int
    at: Ints
    pads: Ints
    gaps: tuple[bytes, ...]

    @classmethod
    def of(cls, line: bytes) -> Skeleton | None:
        """The skeleton of a line of strict JSON; None unless it is an object of numbers, or of objects of numbers."""
        line = line.rstrip(b"\r\n")
        found = list(_VALUE.finditer(line))
        starts, ends = [one.start(2) for one in found], [one.end(2) for one in found]
        gaps = tuple(line[a:b] for a, b in zip([0, *ends], [*starts, len(line)], strict=True))
        numbered = b"".join(b"%b%d" % (gap, i) for i, gap in enumerate(gaps[:-1])) + gaps[-1]
        try:
            row = orjson.loads(line)
            places = orjson.loads(numbered)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(row, dict) or not found or max(map(len, gaps)) > _LONGEST_GAP:
            return None
        paths = {place: path for path, place in _leaves(places) if type(place) is int}
        if sorted(paths) != list(range(len(found))) or len(_leaves(row)) != len(found):
            return None
        marks = [place.start() for place in re.finditer(_MARK, line)]
        at = [marks.index(one.start()) for one in found]
        return cls(
            tuple(paths[i] for i in range(len(found))),
            len(marks),
            np.array(at, dtype=np.int64),
            np.array([len(_MARK) + len(one.group(1)) for one in found], dtype=np.int64),
            gaps,
        )

    def read(self, lines: list[bytes]) -> tuple[Flags, Floats]:
        """Which of these whole lines have this shape, and their numbers: one row for each such line, one column for
        each path."""
        words = -(-max(map(len, self.gaps)) // WORD)
        pad = bytes(WORD * max(words, _LONGEST_NUMBER // WORD + 1))
        b = np.frombuffer(b"".join([*lines, pad]), dtype=np.uint8)
        ends = np.cumsum(np.fromiter(map(len, lines), dtype=np.int64, count=len(lines)))
        starts = np.zeros_like(ends)
        starts[1:] = ends[:-1]
        ends -= 1
        ends -= b[np.maximum(ends - 1, 0)] == 13
        marks = np.flatnonzero(b == 58) - 1
        marks = marks[b[marks] == 34]
        first, behind = np.searchsorted(marks, starts), np.searchsorted(marks, ends)
        fits = behind - first == self.marks
        some = np.flatnonzero(fits)
        begins = marks[first[some][:, None] + self.at] + self.pads
        lengths = np.array([len(gap) for gap in self.gaps])
        around = np.empty((len(some), len(self.gaps)), dtype=np.int64)  # where the gaps begin
        around[:, :-1] = begins - lengths[:-1]
        around[:, -1] = ends[some] - lengths[-1]
        sizes = around[:, 1:] - begins
        good = (around[:, 0] == starts[some]) & _whole_lines((sizes > 0) & (sizes <= _LONGEST_NUMBER))
        good &= _whole_lines(_begin_numbers(b, begins))
        if not good.all():
            some, around, begins, sizes = some[good], around[good], begins[good], sizes[good]
        text = np.frombuffer(b"".join(gap.ljust(WORD * words, b"\0") for gap in self.gaps), dtype="<u8")
        found = slots(b, around.ravel(), words).reshape(-1, len(text))
        found &= masks(words)[lengths].ravel()
        good = _whole_lines(found == text)
        if not good.all():
            some, begins, sizes = some[good], begins[good], sizes[good]
        fits[:] = False
        numbers = parsed(b, begins.ravel(), sizes.ravel())
        if numbers is None:
            return fits, np.empty((0, len(self.paths)))
        fits[some] = True
        return fits, numbers.reshape(-1, len(self.paths))


def stretches(skeleton: Skeleton, lines: list[bytes]) -> Iterator[tuple[list[bytes], Floats | None]]:
    """Pieces of the lines, in order. A piece with the skeleton's shape comes with its numbers, one row for each path.
    If there would be too many short pieces, all lines are one piece without numbers."""
    fits, numbers = skeleton.read(lines)
    borders = [0, *(np.flatnonzero(fits[1:] != fits[:-1]) + 1).tolist(), len(fits)]
    if len(borders) > 2 + len(fits) // ODD_SHARE:
        yield lines, None
        return
    taken = 0
    for start, stop in pairwise(borders):
        if fits[start]:
            yield lines[start:stop], np.ascontiguousarray(numbers[taken : taken + stop - start].T)
            taken += stop - start
        else:
            yield lines[start:stop], None


def _whole_lines(flags: Flags) -> Flags:
    """For each line, whether all of its flags are set."""
    if flags.all():  # the usual case, and faster than line by line
        return np.ones(len(flags), dtype=np.bool_)
    lines: Flags = np.logical_and.reduce(flags, axis=1)
    return lines


def _begin_numbers(b: Bytes, at: Ints) -> Flags:
    begins: Flags = _digit(b[at]) | ((b[at] == 0x2D) & _digit(b[at + 1]))
    return begins


def _digit(byte: Bytes) -> Flags:
    digit: Flags = byte - np.uint8(0x30) <= 9
    return digit


def _leaves(row: Any) -> list[tuple[Path, object]]:
    """The values of a row and of the objects in it, with their keys; deeper objects count as values."""
    out: list[tuple[Path, object]] = []
    for key, value in row.items():
        if isinstance(value, dict):
            out += [((key, name), inner) for name, inner in value.items()]
        else:
            out.append(((key,), value))
    return out

"""Which lines of a console log can matter: those with one of a few marks. Dull lines are recognised by their shape."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from rltui.lazy_regex import any_of
from rltui.readers.console.config import MARKS as CONFIG_MARKS
from rltui.readers.console.config import YAML_MARK
from rltui.readers.console.invalid_rounds import InvalidRounds
from rltui.readers.console.notes import triggers

SCAN_LIMIT = 20_000
"""Most characters of a line that are looked at."""

PROSE = 2000
"""A line with more characters is not a list of numbers, unless it is a dict."""

_DIGITS = b"0123456789."
_MAX_SHAPES = 20_000
_MAX_LENGTH = 1000
_STEP_MARKS = (b"step", b"Step", b"STEP", b"iter", b"Iter", b"ITER")
_Shape = TypeVar("_Shape", bytes, str)


def is_prose(line: str) -> bool:
    """Whether a line is too long to be a list of numbers."""
    return len(line) > PROSE and not line.endswith("}")


def shape_of(line: bytes) -> bytes:
    """A line without its digits."""
    return line.translate(None, _DIGITS)


def remember(shape: _Shape, among: set[_Shape]) -> bool:
    """Adds a shape to a set of bounded size. Returns whether all others were forgotten to make room."""
    full = len(among) >= _MAX_SHAPES
    if full:
        among.clear()
    among.add(shape)
    return full


@lru_cache(maxsize=64)  # all logs of a list use the same
def _searches(dialect_marks: frozenset[str], generic: bool, yaml: bool) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """The regex for lines, and the regex for shapes. The latter finds marks with digits: their shape decides
    nothing."""
    marks = [
        *CONFIG_MARKS,
        *InvalidRounds.marks,
        *(text.encode() for text in triggers()),
        *(_STEP_MARKS if generic else ()),
        *sorted(mark.encode() for mark in dialect_marks),
    ]
    looks, counted = _any_of(marks), _any_of(shape_of(mark) for mark in marks if shape_of(mark) != mark)
    return re.compile(b"|".join([looks, YAML_MARK]) if yaml else looks), re.compile(counted)


def _any_of(marks: Iterable[bytes]) -> bytes:
    return any_of(mark.decode("latin-1") for mark in marks).encode("latin-1")


class LineFilter:
    """`dull`: shapes of lines without interest. `bars`: shapes of progress bars without other content. `learns`: False
    while an unfinished line is read. `cleared`: how often shapes were forgotten."""

    def __init__(self) -> None:
        self.learns = True
        self.cleared = 0
        self.dull: set[bytes] = set()
        self.bars: set[bytes] = set()

    def look_for(self, dialect_marks: Iterable[str], generic: bool, yaml: bool) -> None:
        """Sets what each line is searched for, apart from progress bars: marks of the dialects, of step lines of any
        trainer (`generic`), of printed YAML (`yaml`). Each further mark makes the search slower."""
        self.dull.clear()
        self.bars.clear()
        self.cleared += 1
        self._looks, self._shape_looks = _searches(frozenset(dialect_marks), generic, yaml)

    def speaks(self, line: bytes) -> bool:
        """Whether a line holds one of the marks."""
        return self._looks.search(line, 0, SCAN_LIMIT) is not None

    def forget(self, shape: bytes, among: set[bytes]) -> None:
        """Remembers that lines of this shape say nothing, whatever their digits are. `among`: `dull` or `bars`."""
        if self.learns and shape not in among and len(shape) < _MAX_LENGTH and self._shape_looks.search(shape) is None:
            self.cleared += remember(shape, among)

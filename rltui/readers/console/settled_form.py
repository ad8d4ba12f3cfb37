"""Lines of one form, of which it is known what each number stands for.

A loop prints the same words for each step. What the readers made of several such lines shows which number is the step
and which is which metric: by their values alone, whatever the words are. From then on a regex reads such lines. A line
with anything that was not seen so far, be it only a first minus, is read word by word again.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from math import isfinite
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy

SEEN = 8
"""After this many lines it is known what their numbers stand for."""
VARIED = 3
"""A number that stands for nothing may change if it did so this often without any effect."""
FAILED = 20
"""After this many forms that told nothing certain, none is sought any more."""
_NUMBER = lazy(r"(?<![\w.])([-+]?)(\d+|(?=\.\d))(\.\d+)?([eE][-+]?\d+)?")
_UNITS = ("", "e-2", "e3", "e-3", "e6")
"""What a unit may do to the number before it: a percent, a thousand, a thousandth, a million."""
_STEP = ""
"""Stands for the count of steps among the names of numbers."""


class LineReading(Struct, frozen=True):
    """What the readers made of a line that states a step. `count`: the number that states it. `cells`: its numbers.
    `before`: the text before its message. `below`: further lines may add to it, so that its row waits for the next.
    `total`, `lost`, `form`, `training`: as in `StepRow`. `held`: the names of numbers that are the same in all
    lines of this reading. `epoch`: the epoch that counts, and the steps before it."""

    count: int
    cells: dict[str, float]
    before: str = ""
    below: bool = False
    total: int | None = None
    lost: int = 0
    held: frozenset[str] = frozenset()
    form: str = ""
    training: str = ""
    epoch: tuple[int, int] | None = None

    def is_like(self, other: LineReading) -> bool:
        """Whether lines of one form may have these readings."""
        if self.cells.keys() != other.cells.keys() or any(self.cells[name] != other.cells[name] for name in self.held):
            return False
        same = replace(self, count=other.count, cells=other.cells, before=other.before)
        return same == other


class LineNumbers(NamedTuple):
    """What a line of the form tells: the number that states its step, its numbers, and the text before its message."""

    stated: int
    cells: dict[str, float]
    before: str


class _Kinds(Struct):
    """How a number was written so far: its signs, how many digits it had before the point, and, for digits behind the
    point and for an exponent, whether it came with and without them."""

    signs: set[str] = field(default_factory=set)
    shortest: int = 99
    longest: int = 0
    parts: set[bool] = field(default_factory=set)
    exponents: set[bool] = field(default_factory=set)

    def take(self, found: re.Match[str]) -> bool:
        """Takes a number. Returns whether it is written in a way that was not seen before."""
        known = replace(self, signs=set(self.signs), parts=set(self.parts), exponents=set(self.exponents))
        self.signs.add(found[1])
        self.shortest, self.longest = min(self.shortest, len(found[2])), max(self.longest, len(found[2]))
        self.parts.add(bool(found[3]))
        self.exponents.add(bool(found[4]))
        return self != known

    def pattern(self, told: bool) -> str:
        """A regex for such numbers. `told`: it is the step or a metric, which may grow."""
        signs = "".join(sorted(self.signs))
        sign = f"[{re.escape(signs)}]{'?' if '' in self.signs else ''}" if signs else ""
        digits = f"{{{self.shortest},{'' if told else self.longest}}}+"
        any_digit = "" if self.shortest else r"(?=\.?\d)"
        part, exponent = _maybe(r"\.\d++", self.parts), _maybe(r"[eE][-+]?\d++", self.exponents)
        return rf"({sign}{any_digit}\d{digits}{part}{exponent})"


def _maybe(pattern: str, came: set[bool]) -> str:
    """A regex for what came in every number, in some or in none."""
    return f"(?:{pattern}){'?+' if False in came else ''}" if True in came else ""


class SettledForm:
    """Learns the form of a log's step lines."""

    def __init__(self) -> None:
        self.reading: LineReading | None = None
        """Of the newest line that was learned from, if the form is settled."""
        self._failed = 0
        self._begin((), None)

    def _begin(self, literals: tuple[str, ...], reading: LineReading | None) -> None:
        self.reading = None
        self._literals, self._like = literals, reading
        self._seen = 0
        self._kinds: list[_Kinds] = []
        self._texts: list[str] = []
        self._varied: list[int] = []
        self._may: dict[str, set[tuple[int, int]]] = {}
        self._led = (0, 0)  # how many numbers are before the message, and how many characters behind the last of them
        self._pattern: re.Pattern[str] | None = None

    @property
    def learns(self) -> bool:
        return self._failed < FAILED

    def learn(self, text: str, reading: LineReading) -> bool:
        """Takes a line that was read word by word, and what was made of it. Returns whether that may hold for others of
        its form."""
        if not self.learns:
            return False
        found = [one for one in _NUMBER.finditer(text) if one[0]]
        ends = [0, *(one.end() for one in found)]
        literals = tuple(text[a:b] for a, b in zip(ends, [*(one.start() for one in found), len(text)], strict=True))
        led = sum(end <= len(reading.before) for end in ends[1:])
        at = led, len(reading.before) - ends[led]
        like = self._like is not None and self._like.is_like(reading) and at == self._led
        if literals != self._literals or not like:
            self._failed += 0 < self._seen < SEEN
            self._begin(literals, reading)
            self._kinds = [_Kinds() for _ in found]
            self._varied = [0] * len(found)
            self._led = at
        if not text.startswith(reading.before):
            return False
        if not self._narrow([one[0] for one in found], reading):
            self._failed += 1
            self._begin((), None)
            return False
        new = [kinds.take(one) for kinds, one in zip(self._kinds, found, strict=True)]
        if any(new):
            self._pattern = None
        self._like = reading
        if self._seen >= SEEN and self._places() is not None:
            self.reading = reading
        return True

    def _narrow(self, texts: list[str], reading: LineReading) -> bool:
        """Keeps for each name the numbers that had its value in all lines. False if a name has none."""
        plain = range(self._led[0], len(texts))
        values = {
            (at, unit): float(texts[at] + power)
            for at in plain
            for unit, power in enumerate(_UNITS)
            if not power or "e" not in texts[at].lower()
        }
        told: dict[str, float] = {_STEP: float(reading.count), **reading.cells}
        for name, x in told.items():
            may = {one for one, value in values.items() if value == x and not (name == _STEP and one[1])}
            self._may[name] = may & self._may[name] if name in self._may else may
        if self._texts:
            for at, (before, now) in enumerate(zip(self._texts, texts, strict=True)):
                self._varied[at] += before != now
                if before != now and self._varied[at] == VARIED:
                    self._pattern = None  # from now on it may change
        self._texts = texts
        self._seen += 1
        return all(self._may.values())

    def _places(self) -> dict[str, tuple[int, int]] | None:
        """The place of each name's number, and its unit. Names whose numbers were always equal are taken in the order
        of the line. None if that cannot be."""
        places: dict[str, tuple[int, int]] = {}
        taken: set[int] = set()
        for name, may in sorted(self._may.items(), key=lambda one: len(one[1])):
            free = sorted(one for one in may if one[0] not in taken)
            if not free:
                return None
            places[name] = free[0]
            taken.add(free[0][0])
        return places

    def _settle(self) -> re.Pattern[str]:
        places = self._places() or {}
        self._step = places.pop(_STEP)[0]
        self._names = [*self._like.cells] if self._like is not None else []
        self._at = [places[name][0] for name in self._names]
        self._units = [_UNITS[places[name][1]] for name in self._names]
        groups = [sorted({at for at, _ in may}) for may in self._may.values()]
        self._pairs = [pair for group in groups for pair in pairwise(group)]
        held = set() if self._like is None else {places[name][0] for name in self._like.held}
        for may in self._may.values():  # of a zero the unit is not known
            units = Counter(at for at, _ in may)
            held |= {at for at, seen in units.items() if seen > 1}
        used = {self._step, *self._at} - held
        self._fixed = [
            at for at in range(len(self._kinds)) if at in held or (at not in used and self._varied[at] < VARIED)
        ]
        parts = [re.escape(self._literals[0])]
        for at, (kinds, behind) in enumerate(zip(self._kinds, self._literals[1:], strict=True)):
            parts += [kinds.pattern(at in used), re.escape(behind)]
        return re.compile("".join(parts), re.ASCII)

    def read(self, text: str) -> LineNumbers | None:
        """What a line tells; None if it must be read word by word."""
        if self.reading is None:
            return None
        if self._pattern is None:
            self._pattern = self._settle()
        found = self._pattern.fullmatch(text)
        if found is None:
            return None
        texts = found.groups()
        known = self._texts
        for at in self._fixed:
            if texts[at] != known[at]:
                return None
        for one, other in self._pairs:
            if texts[one] != texts[other] and float(texts[one]) != float(texts[other]):
                return None
        count = texts[self._step]
        if not count.isdecimal() or len(count) > 15:
            return None
        told = [float(texts[at] + power) for at, power in zip(self._at, self._units, strict=True)]
        cells = dict(zip(self._names, told, strict=True))
        if not isfinite(sum(cells.values())):
            return None
        led, behind = self._led
        before = text[: (found.end(led) if led else 0) + behind]
        return LineNumbers(int(count), cells, before)

"""Lines of one form, of which it is known what each number stands for.

A loop prints the same words for each step. What the readers made of several such lines shows which number is the step
and which is which metric: by their values alone, whatever the words are. From then on a regex reads such lines. A line
with anything that was not seen so far, be it only a first minus, is read word by word again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import isfinite, nan
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
_NUMBER = lazy(r"(?:(?<![\w.])|(?<=\d[hm])(?=\d\d?[ms]\b))([-+]?)(\d+|(?=\.\d))(\.\d+)?([eE][-+]?\d+)?")
_UNITS = ("", "e-2", "e3", "e-3", "e6")
"""What a unit may do to the number before it: a percent, a thousand, a thousandth, a million."""
_JOINED: tuple[tuple[tuple[str, ...], tuple[int, ...]], ...] = (
    (("m", "s"), (60, 1)),
    (("h", "m"), (3600, 60)),
    (("h", "m", "s"), (3600, 60, 1)),
    ((":",), (60, 1)),
    ((":", ":"), (3600, 60, 1)),
)
"""What is behind the numbers that together are a duration, and the seconds in one of each."""
_SHARE = len(_UNITS) + len(_JOINED)
"""Stands for the number before a slash, divided by the one behind it."""
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
        self.reading = reading if self._seen >= SEEN and self._places() is not None else None
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
        values |= _joined(texts, self._literals, plain)
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
        self._places_of = [places[name] for name in self._names]
        groups = [sorted({at for at, unit in may if unit < len(_UNITS)}) for may in self._may.values()]
        self._pairs = [pair for group in groups for pair in pairwise(group)]
        together = [sorted(may, key=lambda one: -one[1]) for may in self._may.values()]
        self._alike = [pair for may in together if may[0][1] >= len(_UNITS) for pair in pairwise(may)]
        held = set() if self._like is None else {places[name][0] for name in self._like.held}
        for may in self._may.values():  # of a zero the unit is not known
            units = Counter(at for at, unit in may if unit < len(_UNITS))
            held |= {at for at, seen in units.items() if seen > 1}
        parts_of = {at + i for at, unit in places.values() for i in range(1, _parts(unit))}
        used = ({self._step, *(at for at, _ in places.values())} | parts_of) - held
        self._fixed = [
            at for at in range(len(self._kinds)) if at in held or (at not in used and self._varied[at] < VARIED)
        ]
        plain = used - parts_of - {at for at, unit in places.values() if unit >= len(_UNITS)}
        parts = [re.escape(self._literals[0])]
        for at, (kinds, behind) in enumerate(zip(self._kinds, self._literals[1:], strict=True)):
            parts += [kinds.pattern(at in plain), re.escape(behind)]
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
        told = [_value(texts, place) for place in self._places_of]
        cells = dict(zip(self._names, told, strict=True))
        if not isfinite(sum(cells.values())):
            return None
        if any(_value(texts, one) != _value(texts, other) for one, other in self._alike):
            return None
        led, behind = self._led
        before = text[: (found.end(led) if led else 0) + behind]
        return LineNumbers(int(count), cells, before)


def _parts(unit: int) -> int:
    """How many numbers are one value."""
    return 1 if unit < len(_UNITS) else 2 if unit == _SHARE else len(_JOINED[unit - len(_UNITS)][1])


def _joined(texts: Sequence[str], literals: Sequence[str], places: range) -> dict[tuple[int, int], float]:
    """The values that several numbers of a line make together, by the place of the first and how they are joined. Only
    whole numbers: of others the last digit may differ from what was read."""
    values: dict[tuple[int, int], float] = {}
    for at in places:
        for kind, (marks, factors) in enumerate(_JOINED, len(_UNITS)):
            behind = [literal.strip() for literal in literals[at + 1 : at + 1 + len(marks)]]
            if at + len(factors) > places.stop or not all(map(str.isdecimal, texts[at : at + len(factors)])):
                continue
            if behind[:-1] == [*marks[:-1]] and behind[-1] == marks[-1] if marks[0] == ":" else _says(behind, marks):
                values[at, kind] = _value(texts, (at, kind))
        if at + 1 < places.stop and literals[at + 1].strip() == "/":
            share = _value(texts, (at, _SHARE))
            values |= {(at, _SHARE): share} if isfinite(share) else {}
    return values


def _says(behind: Sequence[str], marks: Sequence[str]) -> bool:
    """Whether the units are right behind the numbers; other words may follow the last."""
    last = behind[-1][:1] == marks[-1] and not behind[-1][1:2].isalnum()
    return last and [*behind[:-1]] == [*marks[:-1]]


def _value(texts: Sequence[str], place: tuple[int, int]) -> float:
    """The number at a place; NaN if it is none."""
    at, unit = place
    if unit < len(_UNITS):
        return float(texts[at] + _UNITS[unit])
    if unit == _SHARE:
        part, whole = texts[at], texts[at + 1]
        fits = part.isdecimal() and whole.isdecimal() and 0 < int(whole) >= int(part)
        return int(part) / int(whole) if fits else nan
    factors = _JOINED[unit - len(_UNITS)][1]
    return float(sum(int(text) * factor for text, factor in zip(texts[at:], factors, strict=False)))

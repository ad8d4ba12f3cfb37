"""Lines of a log that gave no row: the one that recurs most, and the pattern that would read it."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.readers.console.lead import plain, without_lead
from rltui.readers.console.notes import split_prefix
from rltui.readers.number_text import NUMBER
from rltui.text import clean

SAMPLE = 4000
"""Lines that are looked through for the one that recurs most."""
OFTEN = 3
SHOWN = 100
_SLOT = lazy(r"(?<![\d.])" + NUMBER)
_NAME = lazy(r"([^\W\d][\w/@.\-]*)(?:\s(?:is|was|of))?[\s:=~(\[<`*]*$")


class UnreadLines:
    """The first lines of a log, until a row comes."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, bytes]] = []
        self.told = ""

    def keep(self, text: bytes, first_line: int) -> None:
        """`first_line`: number of the first line of the text."""
        room = SAMPLE - len(self._lines)
        if room > 0:
            self._lines.extend(enumerate(text.split(b"\n", room)[:room], first_line))

    def hint(self) -> str:
        """What would have the line read that recurs most; empty if none does."""
        lines = ((at, line.decode("utf-8", "replace")) for at, raw in self._lines for line in raw.split(b"\r"))
        self.told = hint(suggested(lines))
        return self.told


def hint(found: Suggestion | None) -> str:
    """A suggestion in words."""
    if found is None:
        return ""
    often = f"{found.times} lines, the first at line {found.line}, are like “{clean(found.text, SHOWN)}”"
    return f"{often}. If they are steps: --line {shlex.quote(found.pattern)}"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The line that recurs most: its text, how often it came, the number of the first, and a pattern that reads it."""

    text: str
    times: int
    line: int
    pattern: str


@dataclass(slots=True)
class _Alike:
    first: str
    line: int
    numbers: list[list[str]] = field(default_factory=list)


def suggested(lines: Iterable[tuple[int, str]]) -> Suggestion | None:
    """Of numbered lines those that hold numbers and recur most, best with one that only rises. None if none recurs."""
    kinds: dict[str, _Alike] = {}
    for at, raw in lines:
        text = without_lead(plain(split_prefix(raw)[1]))
        numbers = _SLOT.findall(text)
        if not numbers or "%|" in text or not any(c.isalpha() for c in text):
            continue
        alike = kinds.setdefault(" ".join(_SLOT.sub("#", text).split()), _Alike(text, at))
        alike.numbers.append(numbers)
    recurring = [alike for alike in kinds.values() if len(alike.numbers) >= OFTEN]
    if not recurring:
        return None
    best = max(recurring, key=lambda alike: (_rising(alike) is not None, len(alike.numbers)))
    return Suggestion(best.first[:SHOWN], len(best.numbers), best.line, _pattern(best))


def _rising(alike: _Alike) -> int | None:
    """The place of a whole number that only rises."""
    for place in range(len(alike.numbers[0])):
        column = [numbers[place] for numbers in alike.numbers]
        if all(text.isdecimal() for text in column):
            values = list(map(int, column))
            if all(a <= b for a, b in pairwise(values)) and values[-1] > values[0]:
                return place
    return None


def _pattern(alike: _Alike) -> str:
    """The first line with names for its numbers."""
    step, out, end, used = _rising(alike), "", 0, Counter[str]()
    for place, found in enumerate(_SLOT.finditer(alike.first)):
        gap = alike.first[end : found.start()]
        out, end = out + gap.replace("{", "...").replace("}", "..."), found.end()
        column = {numbers[place] for numbers in alike.numbers}
        if gap[-1:].isalpha() and len(column) == 1:  # a part of a name, as in p95
            out += found[0]
            continue
        if place == step:
            name = "step"
        elif place - 1 == step and gap.strip() in ("/", "of", "out of"):
            name = "total"
        else:
            words = _NAME.search(gap)
            name = words[1] if words is not None and words[1] not in ("step", "total") else "value"
        used[name] += 1
        out += f"{{{name}}}" if used[name] == 1 else f"{{{name}_{used[name]}}}"
    tail = alike.first[end:].replace("{", "...").replace("}", "...")
    return " ".join((out + tail).split())

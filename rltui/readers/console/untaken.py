"""Lines of a console log of which nothing was taken: how many, why, and where the first is. Of a log that gave no row,
the pattern that would read the line that recurs most.

Lines are of one form if they differ in their digits alone. A form that recurs is told by what its numbers lack to be a
row; lines of words, and lines of a form that came but once, are counted alone. A line that may be of a printed config
is not counted.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable
from itertools import islice, pairwise

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut
from rltui.readers.console.lead import plain, without_lead
from rltui.readers.console.name_words import has_word, words
from rltui.readers.console.named_numbers import Slot, slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.step_template import is_about, may_count
from rltui.readers.number_text import NUMBER
from rltui.text import clean

WORDS = "line of words alone"
ONCE = "line with numbers, of a form that came but once"
NAMELESS = "recurring line with numbers that have no names"
STEPLESS = "recurring line with named numbers, but no step"
OTHER_COUNT = "recurring line that counts something else than the steps"
NO_METRIC = "recurring line with a step, but no metric of training beside it"
MAX_FORMS = 2000
"""Forms that are counted one by one; then those that came once are counted together."""
MAX_WAITING = 5000
"""Newest lines that may still turn out to belong to a step."""
MAX_LENGTH = 1000
SHOWN = 100
_DIGIT = re.compile(rb"\d")


class _Form(Struct):
    line: int
    text: bytes
    is_prefix: bool = False
    count: int = 0
    reason: str = ""


class UntakenLines:
    """Counts them; lines that were held back and belong to a step after all are taken out again."""

    def __init__(self) -> None:
        self._forms: dict[bytes, _Form] = {}
        self._single: Counter[str] = Counter()  # reason -> lines of forms that are counted no more
        self._single_at: dict[str, tuple[int, bytes]] = {}
        self._waiting: dict[int, bytes] | None = {}  # number of a line -> its form; None: none is taken any more
        self._noted: set[bytes] = set()  # forms of which the first was told
        self._open: list[tuple[int, bytes]] = []  # lines that were read before their end came: number and form
        self.open_line = 0  # the number of the first of them, while they are read
        self.again: dict[bytes, _Form] = {}  # by shape, where a line more of it has to be counted and nothing else

    def add(self, shape: bytes, text: bytes, line: int) -> None:
        """A line without its digits, as it is, and its number."""
        key = shape[:SHOWN]
        if shape[:MAX_LENGTH] in self._noted:
            return
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= MAX_FORMS:
                self._fold()
            form = self._forms[key] = _Form(line, text[: 2 * SHOWN], _is_prefix(text))
        form.count += 1
        if 0 < self.open_line <= line:
            self._open.append((line, key))
        elif self._waiting is None:
            if len(self.again) < MAX_FORMS and len(shape) < MAX_LENGTH:
                self.again[shape] = form
        elif len(shape) != len(text):
            if len(self._waiting) >= MAX_WAITING:
                self._waiting = dict(list(self._waiting.items())[MAX_WAITING // 2 :])
            self._waiting[line] = key

    def note(self, shape: bytes) -> None:
        """A line of this shape said what matters: it is told once for all of its form."""
        if len(self._noted) < MAX_FORMS:
            self._noted.add(shape[:MAX_LENGTH])

    def take(self, lines: Iterable[int]) -> None:
        """Lines of these numbers belong to a step."""
        waiting = self._waiting or {}
        for line in lines:
            if (key := waiting.pop(line, None)) is not None:
                self._less(key)

    def settle(self) -> None:
        """No line that was counted belongs to a step."""
        self._waiting = None

    def forget_open(self, but: int = 0) -> None:
        """The lines that were read before their end came are read again, all but one."""
        for line, key in self._open:
            if line != but:
                self._less(key)
            elif self._waiting is not None:
                self._waiting[line] = key
        self._open.clear()

    def _less(self, key: bytes) -> None:
        form = self._forms.get(key)
        if form is not None:
            form.count -= 1
            if not form.count:
                del self._forms[key]
                self.again.clear()

    def _fold(self) -> None:
        """Forms that came once make room; if all recur, the rarest half does."""
        fewest = sorted(form.count for form in self._forms.values())[MAX_FORMS // 2]
        self.again.clear()
        kept = {}
        for key, form in self._forms.items():
            if form.count > max(1, fewest):
                kept[key] = form
            if key in kept or form.is_prefix:
                continue
            reason = _words_or(ONCE, form)
            self._single[reason] += form.count
            self._single_at.setdefault(reason, (form.line, form.text))
        self._forms = kept

    def told(self) -> list[LeftOut]:
        """For each reason the number of lines, and the first of the form that came most often."""
        counts = self._single.copy()
        shown = dict(self._single_at)
        most: Counter[str] = Counter()
        for form in self._forms.values():
            if form.is_prefix:
                continue
            reason = _words_or(ONCE, form)
            if reason == ONCE and form.count > 1:
                reason = form.reason = form.reason or _lacks(form.text)
            counts[reason] += form.count
            if reason in (WORDS, ONCE):
                shown.setdefault(reason, (form.line, form.text))
            elif form.count > most[reason]:
                most[reason] = form.count
                shown[reason] = form.line, form.text
        return [
            LeftOut(reason, counts[reason], f"line {line}", clean(text.decode("utf-8", "replace").strip(), SHOWN))
            for reason in (OTHER_COUNT, NO_METRIC, STEPLESS, NAMELESS, ONCE, WORDS)
            if counts[reason]
            for line, text in [shown[reason]]
        ]


def _is_prefix(text: bytes) -> bool:
    """Whether nothing stands behind what Ray puts before a line: a step line was cut out, or the line was empty."""
    return text.rstrip().endswith(b")") and not split_prefix(text.decode("utf-8", "replace"))[1].strip()


def _words_or(reason: str, form: _Form) -> str:
    return reason if _DIGIT.search(form.text) else WORDS


def _lacks(text: bytes) -> str:
    """What the numbers of a recurring line lack to be a row."""
    slots = slots_of(without_lead(plain(split_prefix(text.decode("utf-8", "replace"))[1])))
    if any(may_count(slot) for slot in slots):
        others = [slot for slot in slots if not may_count(slot)]
        return OTHER_COUNT if is_about(others, words().training) else NO_METRIC
    named = any(slot.name and not has_word(slot.name, words().prose) for slot in slots)
    return STEPLESS if named else NAMELESS


SAMPLE = 4000
"""Lines that are looked through for the one that recurs most."""
OFTEN = 3
OFTEN_STEPLESS = 10
"""Lines without a number that rises: a file that is no log repeats a few, as versions in a list."""
_SLOT = lazy(r"(?<![\d.])" + NUMBER)
_PLANNED = lazy(r"\s*(?:/|of|out of)\s*\d")
_IN_STAMP = lazy(r"\d[:hT]$"), lazy(r"[:hT]\d|-\d\d-\d")
"""What stands before and behind a part of a time."""
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


class Suggestion(Struct, frozen=True):
    """The line that recurs most: its text, how often it came, the number of the first, and a pattern that reads it."""

    text: str
    times: int
    line: int
    pattern: str


class _Alike(Struct):
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
    best = max(recurring, key=_worth)
    if _is_bare(best):
        return None  # a pattern of the step alone would read nothing
    if _rising(best) is None and len(best.numbers) < OFTEN_STEPLESS:
        return None
    return Suggestion(best.first[:SHOWN], len(best.numbers), best.line, _pattern(best))


def _rising(alike: _Alike) -> int | None:
    """The place of a whole number that only rises, best of one that is named like a step. A time rises, too."""
    found: list[tuple[bool, int]] = []
    for place, match in enumerate(_SLOT.finditer(alike.first)):
        before, behind = _IN_STAMP
        column = [numbers[place] for numbers in alike.numbers]
        if before.search(alike.first[: match.start()]) or behind.match(alike.first, match.end()):
            continue
        if all(text.isdecimal() for text in column):
            values = list(map(int, column))
            if all(a <= b for a, b in pairwise(values)) and values[-1] > values[0]:
                named = _NAME.search(alike.first[: match.start()])
                counts = named is not None and may_count(Slot(named[1], column[0], values[0]))
                found.append((not counts, place))
    return min(found)[1] if found else None


def _worth(alike: _Alike) -> tuple[bool, bool, int]:
    return not _is_bare(alike), _rising(alike) is not None, len(alike.numbers)


def _is_bare(alike: _Alike) -> bool:
    """Whether nothing stands beside the step and its plan."""
    step = _rising(alike)
    if step is None:
        return False
    end = next(islice(_SLOT.finditer(alike.first), step, None)).end()
    return len(alike.numbers[0]) == 1 + (_PLANNED.match(alike.first, end) is not None)


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

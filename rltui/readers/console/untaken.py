"""Lines of a console log from which nothing was taken: how many, why, and where the first is. If a log gave no row,
also a pattern that would read its most frequent line.  Lines have one form if they differ only in their digits. For a
form that recurs, the reason says what its numbers lack to be a row. Lines of words, and lines whose form came only
once, are counted as such. A line that may belong to a printed config is not counted."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable
from itertools import islice, pairwise

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.lazy_regex import lazy
from rltui.readers.base import LeftOut, Recurring
from rltui.readers.console.lead import plain, without_lead
from rltui.readers.console.line_filter import PROSE
from rltui.readers.console.named_numbers import Slot, slots_of
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.step_template import is_about, may_count
from rltui.readers.name_words import has_word, shown, words
from rltui.readers.number_text import NUMBER
from rltui.text import clean

WORDS = "line that holds only words"
ONCE = "line with numbers, in a form that occurs only once"
NAMELESS = "recurring line with numbers that have no names"
STEPLESS = "recurring line with named numbers, but no step"
OTHER_COUNT = "recurring line that counts something else than the steps"
NO_METRIC = "recurring line with a step, but no metric of training beside it"
MAX_FORMS = 2000
"""Most forms that are counted one by one. With more, those that came once are counted together."""
MAX_WAITING = 5000
"""Most lines, the newest ones, that may still turn out to belong to a step."""
MAX_LENGTH = 1000
SHOWN = 100
MOST_RECURRING = 20
"""Most forms whose names are told."""
_DIGIT = lazy(rb"\d")


class _Form(Struct):
    line: int
    text: bytes
    is_prefix: bool = False
    count: int = 0
    reason: str = ""
    later: list[bytes] = field(default_factory=list)  # the lines after the first, as far as a pattern needs them
    told: Recurring | None = None


class UntakenLines:
    """Counts these lines. Lines that were held back and then belong to a step are removed from the count."""

    def __init__(self) -> None:
        self._forms: dict[bytes, _Form] = {}
        self._single: Counter[str] = Counter()  # reason -> lines of forms that are no longer counted one by one
        self._single_at: dict[str, tuple[int, bytes]] = {}
        self._waiting: dict[int, bytes] | None = {}  # line number -> its form; None: no line is removed any more
        self._noted: set[bytes] = set()  # forms of lines that are already given as notes
        self._open: list[tuple[int, bytes]] = []  # unfinished lines that were read: number and form
        self.open_line = 0  # number of the first of them, while they are read
        self.again: dict[bytes, _Form] = {}  # shape -> form, if another such line only has to be counted

    def add(self, shape: bytes, text: bytes, line: int) -> None:
        """Counts a line. `shape`: the line without its digits. `text`: the line. `line`: its number."""
        key = shape[:SHOWN]
        if shape[:MAX_LENGTH] in self._noted:
            return
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= MAX_FORMS:
                self._fold()
            form = self._forms[key] = _Form(line, text[: 2 * SHOWN], _is_prefix(text))
        form.count += 1
        if len(form.later) < OFTEN - 1 and form.count > 1 + len(form.later):
            form.later.append(text[: 2 * SHOWN])
        if 0 < self.open_line <= line:
            self._open.append((line, key))
        elif self._waiting is None:
            if form.count >= OFTEN and len(self.again) < MAX_FORMS and len(shape) < MAX_LENGTH:
                self.again[shape] = form
        elif len(shape) != len(text):
            if len(self._waiting) >= MAX_WAITING:
                self._waiting = dict(list(self._waiting.items())[MAX_WAITING // 2 :])
            self._waiting[line] = key

    def note(self, shape: bytes) -> None:
        """Takes the shape of a line that gave a note. That stands for all lines of its form, so these are not
        counted."""
        if len(self._noted) < MAX_FORMS:
            self._noted.add(shape[:MAX_LENGTH])

    def take(self, lines: Iterable[int]) -> None:
        """Removes the lines with these numbers, as they belong to a step."""
        waiting = self._waiting or {}
        for line in lines:
            if (key := waiting.pop(line, None)) is not None:
                self._less(key)

    def settle(self) -> None:
        """No counted line can turn out to belong to a step any more."""
        self._waiting = None

    def forget_open(self, but: int = 0) -> None:
        """Removes the unfinished lines from the count, except `but`, as they are read again."""
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
        """Folds forms that came once into totals, to make room; if all recur, the rarer half."""
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
        """For each reason the number of lines, and the first line of its most frequent form."""
        counts = self._single.copy()
        examples = dict(self._single_at)
        most: Counter[str] = Counter()
        for form in self._forms.values():
            if form.is_prefix:
                continue
            reason = _words_or(ONCE, form)
            if reason == ONCE and form.count > 1:
                reason = form.reason = form.reason or _lacks(form.text)
            counts[reason] += form.count
            if reason in (WORDS, ONCE):
                examples.setdefault(reason, (form.line, form.text))
            elif form.count > most[reason]:
                most[reason] = form.count
                examples[reason] = form.line, form.text
        return [
            LeftOut(reason, counts[reason], f"line {line}", clean(text.decode("utf-8", "replace").strip(), SHOWN))
            for reason in (OTHER_COUNT, NO_METRIC, STEPLESS, NAMELESS, ONCE, WORDS)
            if counts[reason]
            for line, text in [examples[reason]]
        ]

    def recurring(self) -> list[Recurring]:
        """The forms that recur and name numbers, the most frequent first."""
        often = [form for form in self._forms.values() if form.count >= OFTEN and not form.is_prefix]
        often.sort(key=lambda form: form.line)
        found: dict[tuple[tuple[str, ...], str], Recurring] = {}
        for form in sorted(often, key=lambda form: -form.count)[:MOST_RECURRING]:
            told = _recurring(form)
            alike = found.get((told.names, told.reason))  # a sign before a number makes another form
            if alike is not None:
                first, more = sorted((alike, told), key=lambda one: int(one.first.split()[1]))
                told = replace(first, count=first.count + more.count)
            found[told.names, told.reason] = told
        return [told for told in sorted(found.values(), key=lambda one: -one.count) if told.names]


def _recurring(form: _Form) -> Recurring:
    if form.told is None:
        lines = [text.decode("utf-8", "replace") for text in (form.text, *form.later)]
        message = without_lead(plain(split_prefix(lines[0])[1]))
        slots = [slot for slot in slots_of(message) if slot.name and not may_count(slot)]
        before = "eval/" if has_word(message, words().evaluation) else ""
        names = tuple(
            dict.fromkeys(before + shown(slot.name) for slot in slots if not has_word(slot.name, words().prose))
        )
        found = suggested(enumerate(lines, form.line), len(lines)) if names else None
        text, form.reason = clean(lines[0].strip(), SHOWN), form.reason or _words_or(_lacks(form.text), form)
        form.told = Recurring(
            names, 0, f"line {form.line}", text, form.reason, found.pattern if found is not None else ""
        )
    return replace(form.told, count=form.count)


def _is_prefix(text: bytes) -> bool:
    """Whether a line holds only Ray's prefix: a step line was cut out after it, or the line was empty."""
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
"""Most lines that are searched for the most frequent one."""
OFTEN = 3
OFTEN_STEPLESS = 10
"""Fewest lines without a number that rises: a file that is not a log repeats a few lines, as versions in a list."""
_SLOT = lazy(r"(?<![\d.])" + NUMBER)
_PLANNED = lazy(r"\s*(?:/|of|out of)\s*\d")
_IN_STAMP = lazy(r"\d[:hT]$|\d{4}-(?:\d\d-?)?$"), lazy(r"[:hT]\d|-\d\d-\d")
"""Text before and after a part of a time."""
_DATED = lazy(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?|\d+:\d\d:\d\d(?:\.\d+)?")
"""A date with its time, or a duration."""
_GLUED = lazy(r"(?<=[A-Za-z])\d+")
_KEY = lazy(r"(['\"])([^'\"{}]{1,80})\1:\s*[^'\"{}]*$")
"""The key of a number in a dict."""
_NAME = lazy(r"([^\W\d][\w/@.\-]*)(?:\s(?:is|was|of))?[\s:=~(\[<`*]*$")


class UnreadLines:
    """The first lines of a log, until a row comes."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, bytes]] = []
        self.told = ""

    def keep(self, text: bytes, first_line: int) -> None:
        """Keeps the lines of a text. `first_line`: the number of its first line."""
        room = SAMPLE - len(self._lines)
        if room > 0:
            self._lines.extend(enumerate(text.split(b"\n", room)[:room], first_line))

    def hint(self) -> str:
        """How the user can get the most frequent line read; empty if no line recurs."""
        lines = ((at, line.decode("utf-8", "replace")) for at, raw in self._lines for line in raw.split(b"\r"))
        self.told = hint(suggested(lines))
        return self.told


def hint(found: Suggestion | None) -> str:
    """A suggestion in words."""
    if found is None:
        return ""
    often = f"{found.times} lines, the first at line {found.line}, are like “{clean(found.text, SHOWN)}”"
    return f"{often}. If they are steps: --line {as_argument(found.pattern)}"


def as_argument(pattern: str) -> str:
    """A pattern as a shell takes it, in the quotes that leave it readable."""
    plain = "'" in pattern and not any(sign in pattern for sign in '"$`\\!')
    return f'"{pattern}"' if plain else shlex.quote(pattern)


class Suggestion(Struct, frozen=True):
    """The most frequent line: its text, how often it came, the number of the first, and a pattern that reads it."""

    text: str
    times: int
    line: int
    pattern: str


class _Alike(Struct):
    first: str
    line: int
    numbers: list[list[str]] = field(default_factory=list)


def suggested(lines: Iterable[tuple[int, str]], often: int = OFTEN_STEPLESS) -> Suggestion | None:
    """The most frequent of the numbered lines that hold numbers, preferably with one that only rises. None if none
    recurs often enough. `often`: how often it must come if no number in it rises."""
    kinds: dict[str, _Alike] = {}
    for at, raw in lines:
        if len(raw) > PROSE:
            continue
        text = without_lead(plain(split_prefix(raw)[1]))
        numbers = _SLOT.findall(text)
        if not numbers or "%|" in text or "━" in text or not any(c.isalpha() for c in text) or _only_tells_when(text):
            continue
        alike = kinds.setdefault(" ".join(_SLOT.sub("#", text).split()), _Alike(text, at))
        alike.numbers.append(numbers)
    recurring = [alike for alike in kinds.values() if len(alike.numbers) >= OFTEN and _varies(alike)]
    if not recurring:
        return None
    best = max(recurring, key=_worth)
    if _is_bare(best):
        return None  # a pattern of the step alone would read nothing
    if _rising(best) is None and (len(best.numbers) < often or not _measures(best)):
        return None
    return Suggestion(best.first[:SHOWN], len(best.numbers), best.line, _pattern(best))


def _varies(alike: _Alike) -> bool:
    """Whether a number in these lines changes: otherwise they are one message again and again."""
    return any(len(set(column)) > 1 for column in zip(*alike.numbers, strict=False))


def _measures(alike: _Alike) -> bool:
    """Whether a number in these lines has decimals, as what is measured has: not those in `Llama-2-13b`."""
    return any("." in text for numbers in alike.numbers for text in numbers)


def _only_tells_when(text: str) -> bool:
    """Whether a line has a date and time, or a duration, in its words and no number besides: `Started at 2026-05-01
    10:00:00 on h200`."""
    rest, dates = _DATED.subn(" ", text)
    return bool(dates) and not _SLOT.search(_GLUED.sub("", rest))


def _rising(alike: _Alike) -> int | None:
    """The place of a whole number that only rises, or only falls and has the name of a step; preferably one with such a
    name; None if there is none. Parts of times are skipped, as they rise too."""
    found: list[tuple[bool, int]] = []
    for place, match in enumerate(_SLOT.finditer(alike.first)):
        before, behind = _IN_STAMP
        column = [numbers[place] for numbers in alike.numbers]
        if before.search(alike.first[: match.start()]) or behind.match(alike.first, match.end()):
            continue
        if all(text.isdecimal() for text in column):
            values = list(map(int, column))
            named = _NAME.search(alike.first[: match.start()])
            counts = named is not None and may_count(Slot(named[1], column[0], values[0]))
            rises = all(a <= b for a, b in pairwise(values))
            falls = counts and all(a >= b for a, b in pairwise(values))  # a log with its newest line first
            if (rises or falls) and values[-1] != values[0]:
                found.append((not counts, place))
    return min(found)[1] if found else None


def _worth(alike: _Alike) -> tuple[bool, bool, int]:
    return not _is_bare(alike), _rising(alike) is not None, len(alike.numbers)


def _is_bare(alike: _Alike) -> bool:
    """Whether a line has no number apart from the step and its total."""
    step = _rising(alike)
    if step is None:
        return False
    end = next(islice(_SLOT.finditer(alike.first), step, None)).end()
    return len(alike.numbers[0]) == 1 + (_PLANNED.match(alike.first, end) is not None)


def _pattern(alike: _Alike) -> str:
    """The first line with names in place of its numbers."""
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
            key, words = _KEY.search(gap), _NAME.search(gap)
            said = key[2] if key is not None else words[1] if words is not None else "value"
            name = "value" if said in ("step", "total") else said
        used[name] += 1
        out += f"{{{name}}}" if used[name] == 1 else f"{{{name}_{used[name]}}}"
    tail = alike.first[end:].replace("{", "...").replace("}", "...")
    return " ".join((out + tail).split())

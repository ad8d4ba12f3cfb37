"""Lines of a console log of which nothing was taken: how many, why, and where the first is.

Lines are of one form if they differ in their digits alone. A form that recurs is told by what its numbers lack to be a
row; lines of words, and lines of a form that came but once, are counted alone. A line that may be of a printed config
is not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from rltui.readers.base import LeftOut
from rltui.readers.console.lead import plain, without_lead
from rltui.readers.console.named_numbers import has_word, slots_of, words
from rltui.readers.console.notes import split_prefix
from rltui.readers.console.step_counter import may_count
from rltui.text import clean

WORDS = "line of words alone"
ONCE = "line with numbers, of a form that came but once"
NAMELESS = "recurring line with numbers that have no names"
STEPLESS = "recurring line with named numbers, but no step"
NO_METRIC = "recurring line with a step, but no metric of training beside it"
MAX_FORMS = 2000
"""Forms that are counted one by one; then those that came once are counted together."""
MAX_WAITING = 5000
"""Newest lines that may still turn out to belong to a step."""
MAX_LENGTH = 1000
SHOWN = 100
_DIGIT = re.compile(rb"\d")


@dataclass(slots=True)
class _Form:
    line: int
    text: bytes
    count: int = 0
    reason: str = ""


class UntakenLines:
    """Counts them; lines that were held back and belong to a step after all are taken out again."""

    def __init__(self) -> None:
        self._forms: dict[bytes, _Form] = {}
        self._single: Counter[str] = Counter()  # reason -> lines of forms that are counted no more
        self._single_at: dict[str, tuple[int, bytes]] = {}
        self._waiting: dict[int, bytes] | None = {}  # number of a line -> its form; None: none is taken any more
        self._peeked: bytes | None = None  # the form of a line that was read before its end came
        self.open_line = 0  # its number, while it is read
        self.again: dict[bytes, _Form] = {}  # by shape, where a line more of it has to be counted and nothing else

    def add(self, shape: bytes, text: bytes, line: int) -> None:
        """A line without its digits, as it is, and its number."""
        key = shape[:SHOWN]
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= MAX_FORMS:
                self._fold()
            form = self._forms[key] = _Form(line, text[: 2 * SHOWN])
        form.count += 1
        if line == self.open_line:
            self._peeked = key
        elif self._waiting is None:
            if len(self.again) < MAX_FORMS and len(shape) < MAX_LENGTH:
                self.again[shape] = form
        elif len(shape) != len(text):
            if len(self._waiting) >= MAX_WAITING:
                self._waiting = dict(list(self._waiting.items())[MAX_WAITING // 2 :])
            self._waiting[line] = key

    def take(self, lines: Iterable[int]) -> None:
        """Lines of these numbers belong to a step."""
        waiting = self._waiting or {}
        for line in lines:
            if (key := waiting.pop(line, None)) is not None:
                self._less(key)

    def settle(self) -> None:
        """No line that was counted belongs to a step."""
        self._waiting = None

    def forget_peek(self) -> None:
        """The line that was read before its end came is read again."""
        if self._peeked is not None:
            self._less(self._peeked)
            self._peeked = None

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
            for reason in (NO_METRIC, STEPLESS, NAMELESS, ONCE, WORDS)
            if counts[reason]
            for line, text in [shown[reason]]
        ]


def _words_or(reason: str, form: _Form) -> str:
    return reason if _DIGIT.search(form.text) else WORDS


def _lacks(text: bytes) -> str:
    """What the numbers of a recurring line lack to be a row."""
    slots = slots_of(without_lead(plain(split_prefix(text.decode("utf-8", "replace"))[1])))
    if any(may_count(slot) for slot in slots):
        return NO_METRIC
    named = any(slot.name and not has_word(slot.name, words().prose) for slot in slots)
    return STEPLESS if named else NAMELESS

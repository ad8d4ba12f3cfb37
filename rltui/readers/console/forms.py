"""Lines that differ in their digits alone: a log repeats each of them thousands of times, and what is read of the words
of one is read of the others. What depends on the numbers themselves is never kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

RECENT = 8
"""So many texts are kept with what was read of them: each reader that is asked about a line cuts it the same way."""
FORMS = 4096
"""Forms of lines of which it is known that nothing is read of them."""
_FRACTION = re.compile(r"\.\d+(?![.\d])")
_ZERO = re.compile(r"0(?<!\d0)")  # the digit first: that is quick
_OF_NAME = re.compile(r"\d(?<=(?:[^\W\d]|@)\d)\d*")
_DIGIT = re.compile(r"\d")
_AS_SIGNS = str.maketrans("0123456789", "".join(map(chr, range(1, 9))) + "\x0e\x0f")
_LONG = re.compile(r"\d{10}")
_DIGITS = str.maketrans("123456789", "000000000")
_BEGINS = "\0"
"""For a zero that a number begins with: none with thousands does."""
_Read = TypeVar("_Read")


@lru_cache(maxsize=RECENT)
def form_of(text: str) -> str:
    """A text with others for its digits, the same ones for all texts in which they stand alike: each number has as many
    before its point, and two behind it. Those of names, `reward_1`, `pass@8`, are told apart. One with a number that
    may be a time since the epoch is as it is."""
    if _DIGIT.search(text) is None:
        return text
    form = _OF_NAME.sub(lambda found: found[0].translate(_AS_SIGNS), _FRACTION.sub(".00", text))
    return text if _LONG.search(form) else _ZERO.sub(_BEGINS, form).translate(_DIGITS)


class Forms(dict[object, _Read]):
    """What is known of forms, so many of them."""

    def keep(self, form: object, known: _Read) -> None:
        if len(self) >= FORMS:
            self.clear()
        self[form] = known


def nothing_alike(read: Callable[[str], _Read]) -> Callable[[str], _Read]:
    """For a reader that tells by the words of a text whether it holds anything: nothing (None, no items) is read of
    texts that are alike."""
    nothing: Forms[_Read] = Forms()

    @wraps(read)
    def asked(text: str) -> _Read:
        form = form_of(text)
        if form in nothing:
            return nothing[form]
        told = read(text)
        if not told:
            nothing.keep(form, told)
        return told

    return asked


def unchanged_alike(change: Callable[..., str]) -> Callable[..., str]:
    """For a change of what a text holds between or around its numbers: texts like one that it leaves as it is stay,
    too."""
    same: Forms[bool] = Forms()

    @wraps(change)
    def asked(text: str, *more: object) -> str:
        key = (form_of(text), *more)
        if key in same:
            return text
        changed = change(text, *more)
        if changed == text:
            same.keep(key, True)
        return changed

    return asked

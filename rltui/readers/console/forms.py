"""Lines that differ only in their digits. A log repeats each of them thousands of times, and what the words of one mean
holds for the others. What depends on the numbers themselves is never kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from rltui.lazy_regex import lazy

RECENT = 256
"""How many texts are remembered with what they mean. Several readers ask the same about a line, a log repeats many
lines (half of the chatter came among the 256 lines before), and lines that are held back are read again."""
FORMS = 4096
"""Most forms that are remembered by one reader."""
_FRACTION = lazy(r"\.\d+(?![.\d])")
_ZERO = lazy(r"0(?<!\d0)")  # the digit first, which is quick
_OF_NAME = lazy(r"\d(?<=(?:[^\W\d]|@)\d)\d*")
_DIGIT = lazy(r"\d")
_AS_SIGNS = str.maketrans("0123456789", "".join(map(chr, range(1, 9))) + "\x0e\x0f")
_LONG = lazy(r"\d{10}")
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_BEGINS = "\0"
"""Replaces a zero at the beginning of a number: numbers with a thousands separator have none."""
_Read = TypeVar("_Read")


@lru_cache(maxsize=RECENT)
def form_of(text: str) -> str:
    """A text whose digits are replaced, so that texts that differ only in digits become equal: each number keeps its
    count of digits before the point and gets two after it. Digits in names (`reward_1`, `pass@8`) stay different. A
    text with a number that may be a time since the epoch is unchanged."""
    if _DIGIT.search(text) is None:
        return text
    form = _OF_NAME.sub(lambda found: found[0].translate(_AS_SIGNS), _FRACTION.sub(".00", text))
    if _LONG.search(form):
        return text
    begun = _ZERO.sub(_BEGINS, form).encode("utf-8", "surrogatepass")  # bytes are translated ten times as fast
    return begun.translate(_DIGITS).decode("utf-8", "surrogatepass")


class Forms(dict[object, _Read]):
    """What is known about forms, at most `FORMS` of them."""

    def keep(self, form: object, known: _Read) -> None:
        if len(self) >= FORMS:
            self.clear()
        self[form] = known


def nothing_alike(read: Callable[[str], _Read]) -> Callable[[str], _Read]:
    """Wraps a reader that decides by the words of a text whether it holds anything. If it finds nothing (None, no
    items), it is not asked again about texts of the same form."""
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
    """Wraps a function that changes text between or around numbers. If it leaves a text unchanged, it is not called
    again for texts of the same form."""
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

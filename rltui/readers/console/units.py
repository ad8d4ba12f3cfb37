"""Units behind the numbers of a line: `3.5%` is 0.035, `12.3k` 12300, `31,200 ms` and `0.52 min` are seconds."""

from __future__ import annotations

import re
from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.console.name_words import has_word, words
from rltui.readers.console.named_numbers import RECENT
from rltui.readers.number_text import unwrapped, value

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_PERCENT = lazy(
    r"(?P<tied>[^\W\d](?=\s)|[)\]'\":=>→~≈±])(?P<gap>\s*)"
    rf"(?P<number>(?:(?<![^\W\d_])[-+])?{_DIGITS})\s?%(?![\w%]|\|[\s\d#█▉▊▋▌▍▎▏]*\|)"
)
"""A share by the name before it. One in brackets, or behind a bar, says more of the number before it; and a progress
bar is no share."""
_THOUSANDS = lazy(rf"(?<![\w.,@\-])(?P<sign>[-+]?)(?P<number>{_DIGITS})(?P<unit>[kKM])(?!\s?=)(?!\w)")
_OF_TOKENS = lazy(rf"(?<![\w.,@\-])(?P<sign>[-+]?)(?P<number>{_DIGITS}) ?(?P<unit>[kKM])(?= ?tok(?:en)?s?\b)")
_LONG = lazy(
    rf"(?<![\w.,])(?P<number>{_DIGITS})\s?(?P<unit>h|m|hrs?|hours?|mins?|minutes?)(?![\w/])"
    r"(?!\s*[=:])(?!\s+[-+]?\.?\d)"
)
_SHAPE = lazy(
    r"(?:[\w./]*shape\s*[:=]?\s*)?torch\.Size\(\[[\d, ]*\]\)|[\w./]*shape\s*[:=]?\s*[(\[]\s*\d+(?:\s*,\s*\d*)*\s*[)\]]",
    re.IGNORECASE,
)
"""How large a tensor is: nothing that was measured."""
_SAID = lazy(r"(?:[_(\[ ]|^)(?:%|pct|percent(?:age)?|h|hours?|mins?|minutes?)[)\]]?\W*$", re.IGNORECASE)
"""A name that says the unit of its number: that is told by the name."""
_CLAUSE = lazy(r"[|│,;·•]|\s[-–—]\s")
_BEFORE = 60
"""Characters before a number in which its name stands."""
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}
_HOUR, _MINUTE = 3600.0, 60.0


@lru_cache(maxsize=RECENT)
def with_units(text: str, commas: bool = False) -> str:
    """The text of a line with plain numbers for what it says of numbers (`unwrapped`) and for those with a unit."""
    text = unwrapped(text, commas)
    if "hape" in text or "Size" in text:
        text = _SHAPE.sub(",", text)
    if "%" in text:
        text = _PERCENT.sub(_share, text)
    if "k" in text or "K" in text or "M" in text:
        text = _THOUSANDS.sub(_many, _OF_TOKENS.sub(_many, text))
    if "h" in text or "m" in text:
        text = _LONG.sub(_seconds, text)
    return text


def _plain(number: float) -> str:
    return f"{number:.15g}"


def _says(found: re.Match[str], at: int) -> bool:
    return _SAID.search(found.string, max(0, at - _BEFORE), at) is not None


def _share(found: re.Match[str]) -> str:
    if _says(found, found.start("number")):
        return f"{found['tied']}{found['gap']}{found['number']}"
    share = _plain(value(found["number"]) / 100)
    point = "" if "." in share or "e" in share else ".0"  # no share counts steps
    return f"{found['tied']}{found['gap']}{share}{point}"


def _many(found: re.Match[str]) -> str:
    return found["sign"] + _plain(value(found["number"]) * _TIMES[found["unit"]])


def _seconds(found: re.Match[str]) -> str:
    """Behind a word for a duration `min` and `m` are units. Elsewhere they may be the least of something, or metres."""
    before = _CLAUSE.split(found.string[max(0, found.start() - _BEFORE) : found.start()])[-1]
    if _says(found, found.start()):
        return found[0]
    if found["unit"] in ("m", "min") and not has_word(before, words().durations):
        return found[0]
    factor = _HOUR if found["unit"].startswith("h") else _MINUTE
    return f"{_plain(value(found['number']) * factor)}s"

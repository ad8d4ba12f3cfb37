"""Converts numbers with units in a line, or in a cell after its name: `3.5%` is 0.035, `12.3k` is 12300, `31,200 ms`,
`0.52 min` and `0:00:31` become seconds, `40,960 MB` of memory becomes 40 GB."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.name_words import has_word, is_named, words
from rltui.readers.number_text import unwrapped, value

_DIGITS = r"(?:[1-9]\d{0,2}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?"
_PERCENT = lazy(
    r"(?P<tied>[^\W\d](?=\s)|(?:[^\W\d]|@)\d{1,4}(?=\s)|[)\]'\":=>→~≈±])(?P<gap>\s*)"
    rf"(?P<number>(?:(?<![^\W\d_])[-+])?{_DIGITS})\s?%(?![\w%]|\|[\s\d#█▉▊▋▌▍▎▏]*\|)"
)
"""A percentage after its name. A percentage in brackets or after a bar belongs to the number before it, and a progress
bar is not a share."""
_SHARE_IN_CELL = lazy(
    r"(?P<tied>(?:^|[|│┃║])\s*[^\W\d][^\d|│┃║]{0,60}?\s*[|│┃║])(?P<gap>\s*)"
    rf"(?P<number>[-+]?{_DIGITS})\s?%(?=\s*(?:[|│┃║]\s*(?:[^\W\d]|$)|$))"
)
"""A percentage in the cell after its name's cell: `│ truncated │ 2.1% │`."""
_BORDERS = "|│┃║"
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
"""The shape of a tensor, which is not a measurement."""
_NUMBER = lazy(r"\d|[nN]a[nN]|[iI]nf")
_SAID = lazy(r"(?:[_(\[ ]|^)(?:%|pct|percent(?:age)?|h|hours?|mins?|minutes?)[)\]]?\W*$", re.IGNORECASE)
"""A name that states the unit of its number. The unit is then handled where names are handled."""
_CLAUSE = lazy(r"[|│,;·•]|\s[-–—]\s")
_CLOCK = lazy(
    r"(?P<name>[^\W\d][\w/.\-]*(?: [^\W\d][\w/.\-]*){0,3})(?P<tied>\s*[:=]\s*|\s+)"
    r"(?:(?P<days>\d{1,4}) days?, )?(?P<hours>\d{1,3}):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d(?:\.\d{1,9})?)"
    r"(?![\w:/<]|\.\d| ?[AP]M\b)"
)
"""A duration as Python shows it: `step time: 0:00:31`."""
_HAS_CLOCK = lazy(r"\d{1,3}:[0-5]\d:[0-5]\d")
_OF_DAY = frozenset(("time", "t", "clock", "at", "started", "begun", "date"))
"""If the name of a clock consists only of these words and the hours have two digits, it is a time of day."""
_MEMORY = lazy(
    rf"(?<![\w.,@\-])(?P<number>{_DIGITS})(?:(?P<gap>\s?/\s?)(?P<all>{_DIGITS}))?\s?(?P<unit>[KMGT])i?B\b(?!/)"
)
_GIBIBYTES = {"K": 1 / (1 << 20), "M": 1 / (1 << 10), "G": 1.0, "T": float(1 << 10)}
_BEFORE = 60
"""How many characters before a number are searched for its name."""
_TIMES = {"k": 1e3, "K": 1e3, "M": 1e6}
_HOUR, _MINUTE = 3600.0, 60.0


def has_number(text: str) -> bool:
    """Whether a text may hold a number."""
    return _NUMBER.search(text) is not None


def converted(text: str, commas: bool = False) -> str:
    """The text with plain numbers in place of wrapped numbers (`unwrapped`) and of numbers with a unit."""
    text = unwrapped(text, commas)
    if text.count(":") > 1 and any(_is_named(text[: found.start()]) for found in _HAS_CLOCK.finditer(text)):
        text = _CLOCK.sub(_duration, text)
    if "B" in text:
        text = _MEMORY.sub(_gibibytes, text)
    if "hape" in text or "Size" in text:
        text = _SHAPE.sub(",", text)
    if "%" in text:
        text = _PERCENT.sub(_share, text)
        if any(border in text for border in _BORDERS):
            text = _SHARE_IN_CELL.sub(_share, text)
    if "k" in text or "K" in text or "M" in text:
        text = _THOUSANDS.sub(_many, _OF_TOKENS.sub(_many, text))
    if "h" in text or "m" in text:
        text = _LONG.sub(_seconds, text)
    return text


def says_unit(name: str) -> bool:
    """Whether a name states the unit of its number: `step time (min)`, `acc_pct`."""
    return _SAID.search(f"{name}=") is not None


def _is_named(before: str) -> bool:
    """Whether a word is right before a clock. A line's time stamp has no word before it."""
    last = before.rstrip(" \t:=").rsplit(None, 1)
    return bool(last) and any(map(str.isalpha, last[-1]))


def _plain(number: float) -> str:
    return f"{number:.15g}"


def _says(found: re.Match[str], at: int) -> bool:
    return _SAID.search(found.string, max(0, at - _BEFORE), at) is not None


def _share(found: re.Match[str]) -> str:
    if _says(found, found.start("number")):
        return f"{found['tied']}{found['gap']}{found['number']}"
    share = _plain(value(found["number"]) / 100)
    point = "" if "." in share or "e" in share else ".0"  # a decimal point, so that no share is taken for a step count
    return f"{found['tied']}{found['gap']}{share}{point}"


def _duration(found: re.Match[str]) -> str:
    """Seconds for a clock with the name of a duration. `Time: 12:00:31` may be a time of day."""
    name, known = found["name"], words()
    said = {word.lower() for word in name.replace("_", " ").split()}
    of_day = said <= _OF_DAY and len(found["hours"]) == 2 and not found["days"]
    if of_day or not has_word(name, known.durations) or has_word(name, known.remaining):
        return found[0]
    seconds = 86400 * int(found["days"] or 0) + 3600 * int(found["hours"]) + 60 * int(found["minutes"])
    return f"{name}{found['tied']}{_plain(seconds + float(found['seconds']))}s"


def _gibibytes(found: re.Match[str]) -> str:
    """Memory in GB (of 1024 MB), as GPU memory is stated. Anything that is not memory keeps its unit."""
    before = _CLAUSE.split(found.string[max(0, found.start() - _BEFORE) : found.start()])[-1]
    if not has_word(before, words().memory):
        return found[0]
    used, whole = (None if x is None else value(x) * _GIBIBYTES[found["unit"]] for x in found.group("number", "all"))
    of = "" if whole is None else f"{found['gap']}{_measured(whole)}"
    return f"{_measured(used)}{of}GB"


def _measured(number: float | None) -> str:
    """A number with a decimal point or exponent, so that it is not taken for a step count or a total."""
    text = f"{number or 0.0:.6g}"
    return text if "." in text or "e" in text else f"{text}.0"


def _many(found: re.Match[str]) -> str:
    return found["sign"] + _plain(value(found["number"]) * _TIMES[found["unit"]])


def _seconds(found: re.Match[str]) -> str:
    """Seconds for hours or minutes. `min` and `m` are units only after a word for a duration; `min` also directly after
    a number that follows the name of a phase. Elsewhere they may mean minimum or metres."""
    before = _CLAUSE.split(found.string[max(0, found.start() - _BEFORE) : found.start()])[-1]
    if _says(found, found.start()):
        return found[0]
    known = words()
    glued = found["unit"] == "min" and "." in found[0] and found[0][-4].isdigit()
    done = glued and is_named(before, known.phases)
    if found["unit"] in ("m", "min") and not (done or has_word(before, known.durations)):
        return found[0]
    factor = _HOUR if found["unit"].startswith("h") else _MINUTE
    return f"{_plain(value(found['number']) * factor)}s"

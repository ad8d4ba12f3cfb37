"""The named numbers of a line: `loss=0.3 | reward mean 0.5 | 12.5s`, in parts between bars, commas and gaps."""

from __future__ import annotations

import re
from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.console.forms import RECENT
from rltui.readers.console.layouts import BOLD, logged_cells, long_named, spread, without_marks
from rltui.readers.console.lead import bare, without_lead
from rltui.readers.console.plain_lines import NUMBER_IN, told_whole
from rltui.readers.console.sections import TIME, sectioned, timed
from rltui.readers.number_text import NUMBER, value
from rltui.readers.units import has_number

MAX_BLOCK = 400
"""Most lines after a step line that can belong to it, and most cells of one step."""

_UNIT = (
    r"(?:\s?(%|m?s|sec|seconds|steps|[KMGT]i?B|tokens?|(?:tokens?|tok|toks|it|samples)/s(?:ec)?))?"
    r"(?:\s*\((?:[\d.]+%|\d+\s?/\s?\d+)\))?"
)
"""A unit, and after it the share in percent or the count out of a total."""
_NAME = r"[^\W\d_][\w/.@\-]*(?: [\w/.@()\-]+){0,4}?"
WORD_PAIR = lazy(rf"^([^\W\d_][\w/.@\-]*) ({NUMBER}){_UNIT}$")
WORD = lazy(rf"([^\W\d_][\w/.@\-]*)\s*[:=]\s*({NUMBER})%?(?=[\s,;|]|$)")
_OF = r"(?:\s?/\s?\d[\d.]*(?=\s?[KMGT]i?B))?"
"""The total amount of memory."""
PAIR = lazy(rf"^({_NAME})(?:\s*[:=]\s*|\s+)({NUMBER}){_OF}{_UNIT}$")
STRICT_PAIR = lazy(rf"^({_NAME})\s*[:=]\s*({NUMBER}){_OF}{_UNIT}$")
_WORDS = lazy(rf"([\w/.@\-]+)[:=]({NUMBER})(?=[\s)\]}}]|$)")
_WITHIN = lazy(r"([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?):\s")
"""The section of the numbers in a part: `actor: loss=0.1 lr=1e-6`."""
_TOOK = lazy(
    r"^(?:(Time|Step Time)\s*[:=]?\s*)?(?:(\d{1,9})d ?)?(?:(\d{1,9})h ?)?(?:(\d{1,9})m ?)?"
    r"(?:(\d{1,9}(?:\.\d*)?)s)?(?:(\d{1,9})ms)?$"
)
_SECONDS = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_CLOSED = lazy(r"^([^(\[{]*?)[)\]}.|]+$")
"""A part that ends with a closing bracket, a bar or a full stop."""
_SET_RIGHT = lazy(rf"\s*([:=])\s+(?={NUMBER})")
"""Blanks that align the numbers of neighbouring lines."""
SPLIT = lazy(r"\s*[|,;]\s+|\s+/\s+(?=[A-Za-z])|\s*\|\s*|\s{2,}|\t")


def add(cells: dict[str, float], name: str, x: float) -> bool:
    """Adds a number; the first one of a name counts. True if it is another one with that name."""
    return cells.setdefault(name, x) != x == x


def attributes(message: str) -> dict[str, float]:
    """The numbers of a line below a step line; empty if the line holds anything else."""
    return dict(_attributes(message))


@lru_cache(maxsize=RECENT)
def _attributes(message: str) -> dict[str, float]:
    if message.rstrip().endswith("}"):
        return logged_cells(message)
    if not has_number(message):
        return {}
    parts = parts_of(spread(without_marks(BOLD.sub(r"\1", without_lead(message)))))
    cells, understood, _ = pairs_of(parts, STRICT_PAIR)
    if cells and understood == len(parts):
        return cells
    return told_whole(without_marks(without_lead(message))) or long_named(without_lead(message))


def parts_of(message: str) -> list[str]:
    return [_CLOSED.sub(r"\1", part) for part in SPLIT.split(_SET_RIGHT.sub(r"\1 ", bare(message))) if part]


def pairs_of(parts: list[str], pair: re.Pattern[str]) -> tuple[dict[str, float], int, int]:
    """The numbers of the parts of a line, how many parts were understood, and how many numbers have the name of an
    earlier one."""
    named: list[tuple[str, str, float]] = []  # section, name, number
    understood = 0
    for part in parts[:MAX_BLOCK]:
        found = pair.match(part)
        if (took := _TOOK.match(part)) is not None and any(took.groups()[1:]):
            seconds = sum(float(n) * s for n, s in zip(took.groups()[1:], _SECONDS, strict=True) if n)
            named.append(("", took[1] or TIME, seconds))
            understood += 1
        elif found is not None and NUMBER_IN.search(found[1]) is None:
            named.append(("", *named_number(found)))
            understood += 1
        elif " " in part and len(tied := _WORDS.findall(part)) > 1 and (pair is PAIR or not _beside(part)):
            named += [(within[1] if (within := _WITHIN.match(part)) else "", key, value(text)) for key, text in tied]
            understood += 1
    names = sectioned((section, name) for section, name, _ in named)
    cells: dict[str, float] = {}
    twice = sum(add(cells, name, x) for name, (_, _, x) in zip(names, named, strict=True))
    return cells, understood, twice


def named_number(pair: re.Match[str]) -> tuple[str, float]:
    """Name and value of a pair with its unit."""
    return timed(pair[1], pair[3] or ""), value(pair[2])


def _beside(part: str) -> str:
    """The rest of a text without its named numbers."""
    return _WORDS.sub("", part).strip()

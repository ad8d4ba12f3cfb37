"""Names that hold signs, `a*b/mean: 0.3`, `loss★ 0.4`, `math-500/acc=0.51`, `ratio∈[0.8,1.2]=0.97`: what is joined to a
letter, up to the `:` or `=` before the number, is all name. While a line is read, letters replace such signs and
digits, so that no reader takes them for a separator or a number. Rows get the names as they were written."""

from __future__ import annotations

import re
from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.name_words import NAMES, letter_for, words
from rltui.readers.number_text import NUMBER

_APART = r"\s,;:=|│┃║•·→⟶➜➔…—–≈±×\u3000-\u303f\uff00-\uffef\\'\"`“”‘’«»()\[\]{}"
"""Characters that no name holds outside brackets."""
_MAY = lazy(
    r"\w[^\w\s.,;:=/@|)\]}(\[{'\"-]|\w-\d|[(\[][^()\[\]]*[\d'\"][^()\[\]]*[)\]][^\s:=]*\s?[:=]|\w::?[A-Za-z]\w*="
)
_TIED = lazy(
    rf"(?:^|(?<=[\s,;|│┃║({{\[]))(?P<name>[^\W\d_](?:[^{_APART}]|::?(?=[A-Za-z]\w*=))*"
    rf"(?P<within>\([^()=:]{{1,40}}\)|\[[^\[\]=:]{{1,40}}\])?[^{_APART}]*)(?=\s?[:=]\s*{NUMBER})"
)
_BESIDE = lazy(
    rf"(?:^|(?<=[\s,;|│┃║({{\[]))(?P<name>[^\W\d_][\w/.@\-]*(?:[^{_APART}\x00-\x7f\w]|[*^]\d?)+[\w/.@\-]*)"
    rf"(?=\s+{NUMBER})"
)
_RANGE = lazy(rf"(?<=\w)\s(?:in|within|∈)\s?[\[(]\s?{NUMBER}\s?(?:,|\.\.|-)\s?{NUMBER}\s?[\])](?=\s?[:=]\s*{NUMBER})")
"""A range of which the number is the share inside."""
_SIGNS = lazy(r"[^\w/.@\s-]+(?:-?\d+(?:\.\d+)?)?|-\d+(?:\.\d+)?")
_COUNTS = lazy(r"([^\W\d_]+)[^\w]*(?:\d|$)")
_OF_ALL = lazy(r"\d\s?/\s?\d|\d\s?%|\d(?:ms|s|m|h)\b")
"""In brackets: a count with its total, or a duration. It belongs to the line, not to a name."""


def hidden(text: str) -> str:
    """The text with letters in place of the signs in names, one for each sign."""
    if _MAY.search(text) is None:
        return text
    return _BESIDE.sub(_as_letters, _TIED.sub(_as_letters, _RANGE.sub(lambda found: _letters(found[0]), text)))


def _as_letters(found: re.Match[str]) -> str:
    return _name(found["name"], found.groupdict().get("within") or "")


@lru_cache(maxsize=NAMES)
def _name(name: str, within: str) -> str:
    before = name[: name.index(within)] if within else name
    if _numbers_something(before) or _OF_ALL.search(within) or _is_section(before):
        return name
    if within and any(not c.isalpha() and c not in " _/.%" for c in within[1:-1]):
        behind = name[len(before) + len(within) :]
        return _signs(before) + _letters(within) + _signs(behind)
    return _signs(before) + name[len(before) :]


def _numbers_something(name: str) -> bool:
    """Whether a name numbers steps, samples or processes: `step#`, `sample-3`."""
    known = words()
    said = known.counters | known.weak_counters | known.items | known.places
    return any(word.lower() in said for word in _COUNTS.findall(name))


def _is_section(name: str) -> bool:
    """Whether the part before a colon is a section, `actor:loss=0.3`; not in `loss:mean`, with a statistic after it."""
    over, colon, last = name.rpartition(":")
    return bool(colon) and not over.endswith(":") and last.lower() not in words().statistics


def _signs(name: str) -> str:
    return _SIGNS.sub(lambda found: _letters(found[0]), name)


def _letters(text: str) -> str:
    return "".join(map(letter_for, text))

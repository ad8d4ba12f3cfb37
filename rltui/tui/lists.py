"""Which rows a list shows, and in what order: the filter of all lists, and the orders of the list of all metrics.

In a filter a space is AND, `|` is OR, `!` is NOT, and `/re/` is a regular expression. Case is ignored.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from rltui.lazy_regex import lazy

_TOKEN = lazy(r"!?/(?:\\.|[^/])+/|\||[^\s|]+")
COLUMNS = ("stage", "name", "now", "change", "spread")
WORDS = {
    "stage": "by stage of the pipeline",
    "name": "by name",
    "now": "by current value",
    "change": "by change from the first window to the last",
    "spread": "by range against the mean",
}


@lru_cache(maxsize=64)
def _regex(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error:
        return None


def _term(term: str, text: str) -> bool:
    if term.startswith("!") and len(term) > 1:
        return not _term(term[1:], text)
    if len(term) > 2 and term.startswith("/") and term.endswith("/"):
        regex = _regex(term[1:-1])
        return regex is not None and regex.search(text) is not None
    return term.lower() in text.lower()


def matches(pattern: str, text: str) -> bool:
    """Whether `text` passes the filter. An empty alternative is left out: while typing, `kl |` means `kl`."""
    alternatives: list[list[str]] = [[]]
    for token in _TOKEN.findall(pattern):
        if token == "|":
            alternatives.append([])
        else:
            alternatives[-1].append(token)
    terms = [part for part in alternatives if part]
    return not terms or any(all(_term(term, text) for term in part) for part in terms)


class Order(Struct, frozen=True):
    """An order of the list of all metrics. `reverse` turns it round: the smallest values, or the last names, first."""

    column: str = "stage"
    reverse: bool = False

    @property
    def words(self) -> str:
        return WORDS[self.column] + (", reversed" if self.reverse else "")

    def next(self, by: int) -> Order:
        return Order(COLUMNS[(COLUMNS.index(self.column) + by) % len(COLUMNS)])

    def turned(self) -> Order:
        return replace(self, reverse=not self.reverse)

"""Groups of numbers in brackets after a name: `policy(loss=0.1, kl=0.02) reward{mean=0.3, std=0.4}`. Each number gets
the name of its group as well, because a plain `mean` would be taken for the mean of the name before it."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.number_text import NUMBER

FEWEST = 2
"""Fewest groups in a line that are taken as groups: one alone may be a remark, as in `reward 0.3 (std=0.1)`."""
_PAIR = rf"[^\W\d][\w/.@\-]*\s?[=:]\s?{NUMBER}[^\s,;{{}}()\[\]]{{0,8}}"
_GROUP = lazy(
    rf"(?<![\w/])(?P<name>[^\W\d][\w.\-]*)\s?(?:\{{|\(|\[)\s*(?P<pairs>{_PAIR}(?:[,;]?\s+{_PAIR})*)\s*[}})\]]"
)
_NAME = lazy(r"(?<![\w/.@\-])(?=[^\W\d][\w/.@\-]*\s?[=:])")


def named_in_full(text: str) -> str:
    """A line with the names of its groups put before the names of their numbers; any other line unchanged."""
    if not ("(" in text or "{" in text or "[" in text):
        return text
    told, groups = _GROUP.subn(_in_full, text)
    return told if groups >= FEWEST else text


def _in_full(group: re.Match[str]) -> str:
    return _NAME.sub(f"{group['name']}/", group["pairs"])

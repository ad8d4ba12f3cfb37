"""Regular expressions that are compiled at their first use, because start-up needs only a few of the hundreds. Also
builds one regular expression for many texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, AnyStr, cast


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Like `re.compile`, but an invalid pattern raises its error at its first use."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


def any_of(texts: Iterable[str]) -> str:
    """A regex for the longest of these texts that matches at a position. Texts with a common beginning share it, so
    that only a few of the hundreds are tried at each position."""
    rests: dict[str, list[str]] = {}
    one_ends = False
    for text in texts:
        one_ends |= not text
        if text:
            rests.setdefault(text[0], []).append(text[1:])
    if not rests:
        return ""
    told = "|".join(re.escape(first) + any_of(rest) for first, rest in rests.items())
    return f"(?:{told}){'?' if one_ends else ''}" if one_ends or len(rests) > 1 else told


class _Lazy:
    """Keeps each method that was used, so that later calls go straight to the compiled pattern's method."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._made = pattern, flags

    def __getattr__(self, name: str) -> Any:
        pattern, flags = self._made
        method = self.__dict__[name] = getattr(re.compile(pattern, flags), name)
        return method

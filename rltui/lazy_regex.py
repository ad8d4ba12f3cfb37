"""Regular expressions that are compiled when they are first used: of hundreds, the start needs few. And one for many
texts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, AnyStr, cast


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`. A pattern that is wrong is told at its first use."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


def any_of(texts: Iterable[str]) -> str:
    """A regex for the longest of these texts that stands at a place. Those that begin alike share their beginning: of
    hundreds, few are then tried at each place."""
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
    """Keeps each method that it was asked for, so that a later call goes straight to the compiled pattern's."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._made = pattern, flags

    def __getattr__(self, name: str) -> Any:
        pattern, flags = self._made
        method = self.__dict__[name] = getattr(re.compile(pattern, flags), name)
        return method

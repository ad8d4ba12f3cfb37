"""Regular expressions that are compiled when they are first used: of hundreds, the start needs few."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As `re.compile`. A pattern that is wrong is told at its first use."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


class _Lazy:
    """Keeps each method that it was asked for, so that a later call goes straight to the compiled pattern's."""

    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._made = pattern, flags

    def __getattr__(self, name: str) -> Any:
        pattern, flags = self._made
        method = self.__dict__[name] = getattr(re.compile(pattern, flags), name)
        return method

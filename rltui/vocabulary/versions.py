"""Versions of frameworks, as far as a run tells: "0.6.1", ">=0.6", "0.2-0.3", "verl 0.1" (of what the framework builds
on), or nothing."""

from __future__ import annotations

import re
from functools import lru_cache

Number = tuple[int, ...]


@lru_cache(maxsize=256)
def version_number(version: str | None) -> Number:
    """The lowest version that a hint allows, comparable: ">=0.6" -> (0, 6); nothing known -> ()."""
    match = re.search(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def may_be_in(version: str | None, since: str | None, before: str | None) -> bool:
    """Whether a run of this version can lie from `since` on and before `before`. What is not known may be."""
    have = version_number(version)
    if not have:
        return True
    if before is not None and have >= version_number(before):
        return False
    open_above = ">=" in (version or "")
    return since is None or open_above or have >= version_number(since)

"""What is easily misread about a metric, in general and in some versions of a framework."""

from __future__ import annotations

import re
from functools import lru_cache

from rltui.frameworks.load import dialect, metrics
from rltui.frameworks.schema import Trap

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


def trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """What is easily misread about a metric: in general, and in this framework as far as its version may be it."""
    metric = metrics().get(canonical or "")
    own = own_trap(canonical, framework, version)
    return ". ".join(text for text in (metric.trap if metric else "", own) if text)


def own_trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """The part of it that is this framework's."""
    if canonical not in metrics():
        return ""
    names = dialect(framework)
    own = [t for t in names.traps if t.metric == canonical and may_be_in(version, t.since, t.before)]
    return ". ".join(f"{names.title}{_span(t)}: {t.text}" for t in own)


def _span(trap: Trap) -> str:
    since = f" from {trap.since} on" if trap.since else ""
    return since + (f" before {trap.before}" if trap.before else "")

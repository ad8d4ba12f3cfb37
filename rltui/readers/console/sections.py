"""What a name gets from its section (in a line or block) and from a unit of seconds. In a section of times,
`time={'gen': 3.2, 'reward': 0.4}` or below `Timing:`, every number is a time, whatever its name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.name_words import NAMES, either, has_word, is_named, words

TIME = "Time"
"""Name of a duration without a name in a step line."""
TIMED = "time/"
"""Prefix of the name of a duration."""
_SECONDS = frozenset(("s", "sec", "secs", "seconds"))
_SECTION = lazy(
    r"(?:^|[|;,]\s*|\s{2,}|[)\]]\s*|:\s+)([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?)(?: ?[(\[](?:m?s|sec|seconds)[)\]])?"
    r":\s+[^\W\d][^:=|;,]*[=:\s]\s*[\[({]?$"
)
_GLUED = lazy(r"(?:^|[\s,;|(\[])([^\W\d][\w/\-]*):[^\W\d][\w/.\-]*\s?=\s*$")
"""A section directly before its name: `actor:loss=0.1 critic:loss=0.2`."""
_DICT = lazy(r"(?:^|[\s,|;(\[{])['\"]?([^\W\d][\w/\-]*)['\"]?\s*[:=]\s*\{\s*['\"]?[^\W\d][^:={}]*[:=]\s*$")
"""A named dict and its first key: `time={'gen': `."""
_CALL = lazy(r"(?:^|[\s,(])([^\W\d][\w/\-]*)\s?=\s?[A-Z]\w*\(\s*[^\W\d][\w/\-]*\s?=\s*$")
"""A named object and its first field: `reward=Stat(mean=`."""
_IN_SECONDS = lazy(r"^([^\W\d].*?)\s?[(\[](?:s|secs?|seconds)[)\]]$")
_PART = lazy(r"[|;│┃║}]")


@lru_cache(maxsize=NAMES)
def section_of(gap: str, section: str) -> str:
    """The section of the number after this text: the words before a colon that further names follow, or before a dict.
    A bar or the end of the dict ends a section."""
    if found := _DICT.search(gap) or _CALL.search(gap) or _SECTION.search(gap) or _GLUED.search(gap):
        named = found[1]
        counts = (words().counters | words().weak_counters) - words().phases
        return "" if is_named(named, counts) else named
    return "" if _PART.search(gap) else section


def sectioned(named: Iterable[tuple[str, str]]) -> list[str]:
    """The names of numbers, from (section, name). The section is put before a name that occurs in several sections or
    is only a statistic. A name in a section of times becomes a time."""
    given = list(named)
    within: dict[str, set[str]] = {}
    for section, name in given:
        within.setdefault(name, set()).add(section)
    return [_within(section, name, len(within[name]) > 1) for section, name in given]


def part_of_step(part: str, name: str) -> str:
    """The name of a number that several parts of a step have: `rollout/loss`; `time/rollout` for a duration."""
    return as_time(part) if is_named(name, words().durations) else f"{part}/{name}"


def _within(section: str, name: str, shared: bool) -> str:
    if (said := _IN_SECONDS.match(name)) and (time := as_time(said[1])) != said[1]:
        return time
    if not section or not name:
        return name
    if is_named(section, words().timings):
        return as_time(name)
    others = either("no_part", "counters", "weak_counters", "durations", "statistics") | _REWARDS
    if is_named(section, _REWARDS) and (name.lower() == "total" or not has_word(name, others)):
        return f"{section}/{name}"  # a part of the reward, or their sum
    return f"{section}/{name}" if shared or name.lower() in words().statistics else name


_REWARDS = frozenset(("reward", "rewards"))


def as_time(name: str) -> str:
    """The name of a number in a section of times; unchanged if it already says so or is something else: `tokens/s`,
    `eta`."""
    says = either("durations", "timings", "remaining", "amounts", "statistics")
    return name if not name or has_word(name, says) else f"{TIMED}{name}"


def timed(name: str, unit: str) -> str:
    """The name of a number with its unit. With seconds, `gen 3.2s`, it is a time, whatever its name."""
    if not name or unit.strip() not in _SECONDS or has_word(name, either("durations", "remaining")):
        return name
    return f"{TIMED}{name}"

"""What stands above a name and tells more of it: the section of a line or block, and the unit of seconds. In a section
of times, `time={'gen': 3.2, 'reward': 0.4}` or below `Timing:`, every number is a time, whatever else it may name.
"""

from __future__ import annotations

from collections.abc import Iterable

from rltui.lazy_regex import lazy
from rltui.readers.console.name_words import either, has_word, is_named, words

TIME = "Time"
"""Name of a duration that stands in a step line without one."""
TIMED = "time/"
"""Before the name of what took so long."""
_SECONDS = frozenset(("s", "sec", "secs", "seconds"))
_SECTION = lazy(
    r"(?:^|[|;,]\s*|\s{2,}|[)\]]\s*|:\s+)([^\W\d][\w/\-]*(?: [^\W\d][\w/\-]*)?)(?: ?[(\[](?:m?s|sec|seconds)[)\]])?"
    r":\s+[^\W\d][^:=|;,]*[=:\s]\s*[\[({]?$"
)
_GLUED = lazy(r"(?:^|[\s,;|(\[])([^\W\d][\w/\-]*):[^\W\d][\w/.\-]*\s?=\s*$")
"""One glued to its name: `actor:loss=0.1 critic:loss=0.2`."""
_DICT = lazy(r"(?:^|[\s,|;(\[{])['\"]?([^\W\d][\w/\-]*)['\"]?\s*[:=]\s*\{\s*['\"]?[^\W\d][^:={}]*[:=]\s*$")
"""A dict by name, and its first key: `time={'gen': `."""
_CALL = lazy(r"(?:^|[\s,(])([^\W\d][\w/\-]*)\s?=\s?[A-Z]\w*\(\s*[^\W\d][\w/\-]*\s?=\s*$")
"""An object by name, and its first field: `reward=Stat(mean=`."""
_IN_SECONDS = lazy(r"^([^\W\d].*?)\s?[(\[](?:s|secs?|seconds)[)\]]$")
_PART = lazy(r"[|;│┃║}]")


def section_of(gap: str, section: str) -> str:
    """The section that the number behind this text stands in: the words before a colon behind which further names
    stand, or before a dict. A bar ends what the one before began, and so does the end of the dict."""
    if found := _DICT.search(gap) or _CALL.search(gap) or _SECTION.search(gap) or _GLUED.search(gap):
        named = found[1]
        counts = (words().counters | words().weak_counters) - words().phases
        return "" if is_named(named, counts) else named
    return "" if _PART.search(gap) else section


def sectioned(named: Iterable[tuple[str, str]]) -> list[str]:
    """The names of numbers by their section and name: the section stands before those that come in several ones, and
    before those that say but a statistic. What stands in a section of times is one."""
    given = list(named)
    within: dict[str, set[str]] = {}
    for section, name in given:
        within.setdefault(name, set()).add(section)
    return [_within(section, name, len(within[name]) > 1) for section, name in given]


def part_of_step(part: str, name: str) -> str:
    """The name of a number that several parts of a step have: `rollout/loss`, but `time/rollout` for how long that
    took."""
    return as_time(part) if is_named(name, words().durations) else f"{part}/{name}"


def _within(section: str, name: str, shared: bool) -> str:
    if (said := _IN_SECONDS.match(name)) and (time := as_time(said[1])) != said[1]:
        return time
    if not section or not name:
        return name
    if is_named(section, words().timings):
        return as_time(name)
    return f"{section}/{name}" if shared or name.lower() in words().statistics else name


def as_time(name: str) -> str:
    """The name of a number that is a time, unless it says so itself or is of something else: `tokens/s`, `eta`."""
    says = either("durations", "timings", "remaining", "amounts", "statistics")
    return name if not name or has_word(name, says) else f"{TIMED}{name}"


def timed(name: str, unit: str) -> str:
    """The name of a number behind which seconds stand as its unit, `gen 3.2s`: a time, whatever else it may name."""
    if not name or unit.strip() not in _SECONDS or has_word(name, either("durations", "remaining")):
        return name
    return f"{TIMED}{name}"

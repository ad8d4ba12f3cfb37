"""Which lines state the steps, if those of several kinds may: `update 7: reward 0.3` in each step, and `lr 1e-6 at step
7` in some; settings above; a part before the training that counts epochs."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Mapping
from itertools import pairwise

from rltui.lazy_regex import lazy
from rltui.readers.console.named_numbers import is_whole
from rltui.readers.console.step_template import Template, TemplateLine, counts, may_count
from rltui.readers.name_words import is_named, measures, words

OFTEN = 3
"""So many lines for each line of another skeleton that counts the same: they are those of the steps."""
FIRST = 4
"""Counts up to this one are those of first steps."""
SEVERAL = 6
"""Lines that counted one by one are no accident."""


def told_by_others(
    by_key: Mapping[str, Template], template: Template, counter: int
) -> tuple[Template, int, str] | None:
    """The lines of another skeleton that count the same and measure something, if they began earlier or are many more:
    they state the steps. With them the place of their counter and their kind."""
    stated = [(line.place, line.slots[counter].value) for line in template.lines]
    for key, other in by_key.items():
        lines = other.lines
        if other.counter is not None or not lines or lines[0].rank != template.lines[0].rank:
            continue
        if len(lines) < (1 if lines[0].place < stated[0][0] else OFTEN) * len(stated):
            continue
        around = [bisect([line.place for line in lines], place) for place, _ in stated]
        for i, values in _counters(lines):
            same = zip(around, stated, strict=True)
            if measures(lines[0].names(i)) and all(value in values[max(0, at - 1) : at + 1] for at, (_, value) in same):
                return other, i, kind_of(key)
    return None


def one_by_one(lines: list[TemplateLine], step: int) -> int | None:
    """The place of a number that counted one by one in several lines, up to this step or right before it."""
    found = _counters(lines) if len(lines) >= SEVERAL else []
    return next((i for i, values in found if step - 1 <= values[-1] <= step), None)


def _counters(lines: list[TemplateLine]) -> list[tuple[int, list[float]]]:
    """The places of the numbers that may count and rose by one from line to line, with their values."""
    found = []
    for i, slot in enumerate(lines[0].slots):
        if not (may_count(slot) or slot.of is not None):
            continue
        if all(len(line.slots) > i and is_whole(line.slots[i]) for line in lines):
            values = [line.slots[i].value for line in lines]
            if all(b == a + 1 for a, b in pairwise(values)):
                found.append((i, values))
    return found


_SETTINGS = lazy(r"(?i)\W*(?:\w+ )?(?:config\w*|arg(?:ument)?s|(?:hyper)?param\w*|settings?|options?)\b")


def may_be_outer(line: TemplateLine) -> bool:
    """Whether a line may state the step that others count inside of: no line of settings does."""
    return counts(line.slots) and _SETTINGS.match(line.message) is None


def counts_plainly(line: TemplateLine) -> bool:
    """Whether a line with metrics states a first step, or the first of a plan."""
    first = next((slot for slot in line.slots if is_whole(slot)), None)
    if first is None or first.value > FIRST or not measures(line.names(None)):
        return False
    return first.of is not None or is_named(first.name, words().counters)


def kind_of(key: str) -> str:
    """The kind of text that a template's key stands for: `line`, `block` or `table`."""
    begin, mark, _ = key.partition("\0")
    return begin if mark and begin in ("block", "table") else "line"

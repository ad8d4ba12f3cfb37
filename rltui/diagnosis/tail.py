"""Health from a few rows at either end of a log: signs that need no history. It is less than a diagnosis, and says
so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from math import inf, isfinite
from pathlib import Path
from statistics import median
from typing import Literal

from msgspec import Struct

from rltui.data_files import Record, kept, read
from rltui.frameworks.load import metrics
from rltui.plots.numbers import number
from rltui.run.table import Series

Severity = Literal["critical", "warning"]
FIRST, NEWEST = 5, 10
"""The number of rows that count as the beginning and as the end."""


class Sign(Struct, frozen=True):
    """Something that the ends show. `rule`: the rule that judges it on the whole log."""

    severity: Severity
    text: str
    rule: str


Level = Literal["above", "all_below"]
Move = Literal["constant", "times_first", "share_of_first", "fell"]


class SignLine(Record):
    """A test of each of some metrics, `why` it is a sign, and the `rule` that judges it on the whole log. `one`: only
    the first of them that is logged is tested, as that rule does; a reward may fall by what it is charged for KL.
    `once`: only what was a number once can be lost. `unpaid`: no sign where the reward gained, as that rule has it.
    `judged`: no sign where the newest rewards are all one value, as of a grader that fails: that follows from it."""

    metrics: tuple[str, ...]
    test: Literal["lost"] | Level | Move
    limit: float
    severity: Severity
    text: str
    rule: str
    why: str
    and_above: float = -inf
    one: bool = False
    once: bool = False
    unpaid: bool = False
    judged: bool = False


class Tail(Record):
    """`least_first`, `least_last`: the rows that a test needs at either end. `rewards`: metrics that may gain; the
    first one that is logged is used."""

    reason: str
    rewards: tuple[str, ...]
    least_first: int
    least_last: int
    signs: tuple[SignLine, ...]


@kept
def _tail() -> Tail:
    return read(Path(__file__).with_name("data") / "tail.json", Tail)


def needed() -> frozenset[str]:
    """The metrics that are tested."""
    return frozenset(name for line in _tail().signs for name in line.metrics)


def signs(series: Callable[[str], Series | None], gap: int | None) -> tuple[list[Sign], int]:
    """The signs, critical ones first, and how many metrics could be looked at. `gap`: number of the first row of the
    end, None for a log that was read whole."""
    table = _tail()
    found: dict[str, Sign] = {}
    looked: dict[str, tuple[list[float], list[float], int] | None] = {}
    ends_of = cache(lambda name: _ends(series(name), gap))
    reward = next((one for name in table.rewards if (one := ends_of(name)) is not None), None)
    paid = reward is not None and bool(reward[0] and reward[1]) and median(reward[1]) > max(reward[0])
    alike = reward is not None and len(reward[1]) > 1 and len({*reward[1]}) == 1
    for line in table.signs:
        for name in line.metrics:
            if name not in looked:
                looked[name] = ends_of(name)
            ends = looked[name]
            if ends is None:
                continue
            first, last, lost = ends
            if line.test == "lost":
                holds = lost >= line.limit and (bool(first or last) or not line.once)
            else:
                enough = len(last) >= table.least_last and (len(first) >= table.least_first or line.test in _LEVELS)
                holds = enough and _TESTS[line.test](first, last, line.limit) and median(last) > line.and_above
            if holds and not (line.unpaid and paid) and not (line.judged and alike):
                text = line.text.format(
                    label=metrics()[name].label,
                    first=number(median(first)) if len(first) else "",
                    last=number(median(last)) if len(last) else "",
                )
                found.setdefault(line.rule, Sign(line.severity, text, line.rule))
            if line.one:
                break
    order = sorted(found.values(), key=lambda sign: sign.severity)  # "critical" before "warning"
    return order, sum(ends is not None for ends in looked.values())


def _ends(series: Series | None, gap: int | None) -> tuple[list[float], list[float], int] | None:
    """(first values, newest values, for how many rows it has been lost); None if nothing is logged at the end. Lists:
    of so few numbers an array costs more than it saves."""
    if series is None or not len(series):
        return None
    values = series.values.tolist()
    cut = max(len(values) - NEWEST, 0) if gap is None else bisect_left(series.rows.tolist(), gap)
    first, last = values[: min(cut, FIRST)], values[cut:][-NEWEST:]
    if not last:
        return None
    begin, fit = [value for value in first if isfinite(value)], [value for value in last if isfinite(value)]
    whole = all(isfinite(value) for value in last[: len(fit)])
    return begin, fit, len(last) - len(fit) if whole else 0  # one with earlier holes may come back from this one, too


def _fell(first: list[float], last: list[float], share: float) -> bool:
    return max(last) < min(first) and median(first) - median(last) > share * abs(median(first))


_TESTS: dict[str, Callable[[list[float], list[float], float], bool]] = {
    "above": lambda first, last, limit: median(last) > limit,
    "all_below": lambda first, last, limit: all(abs(value) <= limit for value in last),
    "constant": lambda first, last, limit: len(last) >= limit and len({*first, *last}) == 1,
    "times_first": lambda first, last, limit: 0 < limit * median(first) < median(last),
    "share_of_first": lambda first, last, limit: 0 <= median(last) < limit * median(first),
    "fell": _fell,
}
_LEVELS = ("above", "all_below")
"""Tests that the newest rows alone decide."""

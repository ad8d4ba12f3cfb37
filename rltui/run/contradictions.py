"""Finds two sources of one run with different values for the same steps. The report names them, and they are not
mixed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from rltui.run.align import SAME
from rltui.run.columns import Axis, Floats, Ints, Series
from rltui.run.part import Part
from rltui.run.table import Table

LEAST = 3
"""The least number of steps that must differ; fewer are corrections."""
MOSTLY = 0.8
"""The share of the steps, counted from the first different one, that must differ: a repeated row is the only one that
differs."""
LATER_S = 60.0
"""A newer source must be written at least this many seconds later. All writers of one process flush within that
time."""
FARTHEST = 2
"""The most steps by which two sources may number the same row differently: they count from 0 or 1, before or after the
update."""
DIGITS = 6
"""A number with this many significant digits was not rounded for reading; a console prints fewer."""
DECIMALS = 10
"""The most decimals to which a column may be rounded: a learning rate needs many."""
NEWEST = 500
"""`distance` compares this many of a metric's newest points."""
VOTES = 9
"""`distance` compares at most this many metrics."""
SAMPLE = 200
"""About how many values are used to find the digits of a column."""
MEASURED = 0.1
"""A column that changes direction at more than this share of its points was measured; a schedule or a counter does not
change direction that often."""

Flags = NDArray[np.bool_]


class Contradiction(Struct, frozen=True):
    """From step `since` on, `left` states other values than `kept`, which counts. `whole`: no measured metric is the
    same in both, so no row of `left` counts from there on. Otherwise only its columns `keys` do not count.

    `key`: an example, as `left` names it. `step` and `values` (`kept`, `left`): where its two values differ most.
    """

    kept: str
    left: str
    since: int
    whole: bool
    keys: frozenset[str]
    key: str
    step: int
    values: tuple[float, float]

    @property
    def names(self) -> tuple[str, str]:
        """The names of the source that counts and of the other one."""
        kept, left = os.path.basename(self.kept), os.path.basename(self.left)
        return (self.kept, self.left) if kept == left else (kept, left)

    @property
    def text(self) -> str:
        """What the report says about it."""
        kept, left = self.names
        others = f" and {len(self.keys) - 1} more" if len(self.keys) > 1 else ""
        ours, theirs = self.values
        lost = f"No row of {left} counts from there on" if self.whole else f"These values of {left} do not count"
        return (
            f"{left} contradicts {kept} since step {self.since}: {self.key}{others} "
            f"(at step {self.step}: {theirs:.4g} against {ours:.4g}). {lost}"
        )


class _Pair(Struct, frozen=True):
    """The points of one metric at the steps that two sources share. `differ`: where they differ by more than rounding
    explains."""

    key: str
    steps: Ints
    kept: Floats
    left: Floats
    differ: Flags

    @property
    def since(self) -> int | None:
        """The index of the first point from which nearly all points differ; None if there is none."""
        behind = np.cumsum(self.differ[::-1])[::-1]
        share = behind / np.arange(len(behind), 0, -1)
        found = np.flatnonzero(self.differ & (share >= MOSTLY) & (behind >= LEAST))
        return int(found[0]) if len(found) else None


def in_order(parts: Sequence[Part], left_before: frozenset[str]) -> list[Part]:
    """The parts, ordered by which one counts if they contradict each other: the fresher one, else the one that counted
    before, else the better container."""
    ordered: list[Part] = []
    for part in sorted(parts, key=lambda p: (p.name in left_before, -p.rank[0], -p.rank[1])):
        at = next((i for i, other in enumerate(ordered) if _later(part, other)), len(ordered))
        ordered.insert(at, part)
    return ordered


def _later(a: Part, b: Part) -> bool:
    times = a.table.newest_time, b.table.newest_time
    if times[0] is not None and times[1] is not None:
        return times[0] > times[1] + LATER_S
    return a.written > b.written + LATER_S


def distance(by: Table, other: Table, meaning: Callable[[str], str]) -> int:
    """How many steps higher `other` numbers the same values than `by` does; 0 if no shift makes them agree."""
    votes: Counter[int] = Counter()
    for key, one, two in _shared(by, other, meaning):
        if votes.total() == VOTES:
            break
        if len(one) < 2 * LEAST or not _measured(one.finite().values[-NEWEST:]):
            continue
        one, two = one.since_row(int(one.rows[-NEWEST:][0])), two.since_row(int(two.rows[-NEWEST:][0]))
        if _same(key, one, two, 0) >= MOSTLY:
            votes[0] += 1
            continue
        share = {ahead: _same(key, one, two, ahead) for ahead in range(-FARTHEST, FARTHEST + 1)}
        best = max(share, key=lambda ahead: (share[ahead], -abs(ahead)))
        votes[best if share[best] >= MOSTLY else 0] += 1
    if not votes:
        return 0
    ahead, count = votes.most_common(1)[0]
    return ahead if 2 * count > votes.total() else 0


def _same(key: str, one: Series, two: Series, ahead: int) -> float:
    pair = _pair(key, one, two, ahead)
    return 0.0 if pair is None or len(pair.steps) < LEAST else 1.0 - float(pair.differ.mean())


def moved(table: Table, ahead: int) -> Table:
    """The same rows, `ahead` steps earlier."""
    out = Table()
    groups = []
    for axis, keys in table.axes():
        rows, steps, times = axis.filled()
        columns = {key: table.columns[key].values[: axis.count] for key in keys}
        groups.append((Axis(rows, steps - ahead, times), columns))
    out.load(table.steps - ahead, table.times, groups)
    if table.head_step is not None:
        out.set_head(table.head_step - ahead)
    out.restarts = [step - ahead for step in table.restarts]
    return out


def between(kept: Part, left: Part, meaning: Callable[[str], str], until: int | None = None) -> Contradiction | None:
    """How `left` contradicts `kept` before step `until`; None if it does not."""
    pairs = [
        pair
        for key, one, two in _shared(kept.table, left.table, meaning)
        if (pair := _pair(key, one, two, until=until)) is not None
    ]
    found = [(pair, since) for pair in pairs if (since := pair.since) is not None]
    if not found:
        return None
    others = {pair.key for pair, _ in found}
    agree = any(pair.key not in others and not pair.differ.any() and _measured(pair.left) for pair in pairs)
    first = min(int(pair.steps[since]) for pair, since in found)
    shown = max((pair for pair, _ in found), key=lambda pair: len(pair.steps))
    at = int(np.argmax(np.where(shown.differ, np.abs(shown.kept - shown.left), -1.0)))
    values = float(shown.kept[at]), float(shown.left[at])
    return Contradiction(
        kept.name, left.name, first, not agree, frozenset(others), shown.key, int(shown.steps[at]), values
    )


def _shared(kept: Table, left: Table, meaning: Callable[[str], str]) -> list[tuple[str, Series, Series]]:
    """The metrics that both hold: the key in `left`, and the points of both. The prefixes of the keys may differ if
    each source has only one key with that meaning."""
    ours, theirs = _by_meaning(kept, meaning), _by_meaning(left, meaning)
    out = []
    for key in left.columns:
        name = meaning(key), key.rsplit("/", 1)[-1]
        other = key if key in kept.columns else None
        if other is None and len(theirs[name]) == len(ours.get(name, ())) == 1:
            other = ours[name][0]
        if other is not None:
            one, two = kept.series(other), left.series(key)
            if one is not None and two is not None:
                out.append((key, one, two))
    return out


def _by_meaning(table: Table, meaning: Callable[[str], str]) -> dict[tuple[str, str], list[str]]:
    found: dict[tuple[str, str], list[str]] = {}
    for key in table.columns:
        found.setdefault((meaning(key), key.rsplit("/", 1)[-1]), []).append(key)
    return found


def _pair(key: str, kept: Series, left: Series, ahead: int = 0, until: int | None = None) -> _Pair | None:
    one, two = kept.finite(), left.finite()
    moved_to = two.steps - ahead if ahead else two.steps
    there = one.steps.searchsorted(moved_to)
    there[there == len(one.steps)] = 0
    both = one.steps[there] == moved_to if len(one.steps) else np.zeros(len(moved_to), dtype=np.bool_)
    if until is not None:
        both &= moved_to < until
    if np.count_nonzero(both) < LEAST:
        return None
    a, b = one.values[there[both]], two.values[both]
    differ = np.abs(a - b) > SAME * np.maximum(np.abs(a), np.abs(b))
    at = np.flatnonzero(differ)
    if len(at):
        differ[at] = np.abs(a - b)[at] > np.maximum(_rounding(a, at), _rounding(b, at))
    return _Pair(key, moved_to[both], a, b, differ)


def _rounding(values: Floats, at: Ints) -> Floats:
    """How far rounding for human readers can have moved the values at these places: half a unit of the last digit that
    the column shows."""
    sample = values[:: max(1, len(values) // SAMPLE)]
    written = [f"{value:.{DIGITS}e}".split("e")[0] for value in sample.tolist() if value]
    shown = sorted(len(mantissa.replace(".", "").lstrip("-").rstrip("0")) for mantissa in written)
    digits = shown[int(MOSTLY * (len(shown) - 1))] if shown else 1
    out: Floats = np.zeros(len(at))
    if digits < DIGITS:
        with np.errstate(divide="ignore"):
            size = np.floor(np.log10(np.abs(values[at])))
        out = np.where(np.isfinite(size), 0.51 * 10.0 ** (size - digits + 1), 0.0)
    for decimals in range(DECIMALS):
        scaled = sample * 10.0**decimals
        if np.allclose(scaled, np.round(scaled), rtol=0.0, atol=1e-6):
            return np.maximum(out, 0.51 * 10.0**-decimals)
    return out


def _measured(values: Floats) -> bool:
    moves = np.sign(np.diff(values))
    moves = moves[moves != 0]
    return bool(np.count_nonzero(moves[1:] != moves[:-1]) > MEASURED * len(values))

"""What every detector has at hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from rltui.evidence.look import Look
from rltui.evidence.signal import WARNING, Signal
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.run.sums import median
from rltui.run.table import Floats

Params = Mapping[str, float]
Memory = dict[str, float]
"""A detector's own notes from look to look; plain numbers, so that a snapshot is a copy."""

Detector = Callable[[Look, Params, Memory], list[Signal]]


def held(look: Look, rule: str) -> bool:
    """The finding is open: its numbers are wanted even where its condition no longer holds (`EASED`)."""
    return look.open.get(rule, 0) > 0


def loud(look: Look, trait: Trait) -> bool:
    """A finding with this trait is open as a warning or worse."""
    return any(look.open.get(rule, 0) >= WARNING for rule in having(trait))


def lasting(bad: np.ndarray[tuple[int], np.dtype[np.bool_]], p: Params) -> bool:
    """More than half of the rows, and these are `rows` at least: a single odd row is a fault of one line."""
    return len(bad) >= p["rows"] and bool(2 * np.count_nonzero(bad) > len(bad))


def side_by_side(look: Look, *names: str) -> tuple[Floats, ...]:
    """Values of several metrics in the rows that hold all of them: trainers log some of them every so many steps only,
    and a hole in one is no hole in the others. Empty if one of them is not logged."""
    logged = [series for name in names if (series := look.series(name)) is not None]
    if len(logged) < len(names):
        return tuple(np.empty(0) for _ in names)
    if all(np.array_equal(series.rows, logged[0].rows) for series in logged[1:]):
        return tuple(series.values for series in logged)
    rows = reduce(np.intersect1d, (series.rows for series in logged))
    return tuple(series.values[np.isin(series.rows, rows)] for series in logged)


def tail(x: Floats, rows: float) -> float:
    """Median of the last rows."""
    return median(x[-int(rows) :])


def head(x: Floats, rows: float) -> float:
    """Median of the first rows."""
    return median(x[: int(rows)])


def compared(look: Look, name: str, rows: float, skip: float = 0) -> str:
    """Which rows a sentence compares, where it gives a `head` after `skip` rows and a `tail`: evidence beside it gives
    means of other windows, and the numbers differ a little."""
    series = look.series(name)
    if series is None:
        return ""
    steps, n, k = series.steps, int(rows), int(skip)
    first, last = steps[k : k + n], steps[-n:]
    return f"medians of steps {first[0]} to {first[-1]} and {last[0]} to {last[-1]}"


def gaining(look: Look, rows: int = 0, errors: float = 2.0) -> bool:
    """Train reward is `errors` standard errors better than before, over the last `rows` rows (0: since the start)."""
    return look.change(look.reward, rows) >= errors and not farmed(look)


def farmed(look: Look) -> bool:
    """The total reward no longer stands for the task."""
    return loud(look, Trait.FARMS_REWARD)


def losing(look: Look, rows: int = 200) -> bool:
    """Train reward falls: a collapse or decline is open, or its trend points down."""
    return loud(look, Trait.REWARD_FALLS) or farmed(look) or (look.trend(look.reward, rows).direction < 0)


def solved(look: Look, level: float = 0.9) -> bool:
    """Reward near its ceiling: what then falls (entropy, length, gradient) has nothing left to buy."""
    profile = look.profile
    if farmed(look):
        return False
    if profile.ceiling is None or profile.floor is None or profile.ceiling <= profile.floor:
        return False
    return tail(look.values(look.reward), 20) >= profile.floor + level * (profile.ceiling - profile.floor)


def validation_over(look: Look, rows: int) -> float | None:
    """As `validation`, of the evaluations of the last `rows` rows and of as many rows before; of all where those are
    fewer than 4."""
    series = look.series("val_score")
    if series is None:
        return None
    recent = series.values[int(series.rows.searchsorted(look.n - 2 * rows)) :]
    return _gain(recent if len(recent) >= 4 else series.values)


def validation(look: Look) -> float | None:
    """Newest validation against the one before its last third, in standard errors; None below 4 evaluations."""
    return _gain(look.values("val_score"))


def _gain(values: Floats) -> float | None:
    if len(values) < 4:
        return None
    third = max(2, len(values) // 3)
    before, after = values[:-third], values[-third:]
    noise = max(1e-9, float(abs(values[1:] - values[:-1]).mean()) / 1.128)
    return float(
        (after.mean() - before[-2 * third :].mean()) / (noise * (1 / third + 1 / min(len(before), 2 * third)) ** 0.5)
    )

"""The series behind a canonical metric, in canonical units.

If a key changes in mid-run, for example after an upgrade of the trainer, both keys make one course under the newest
name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rltui.frameworks.resolve import Meaning
from rltui.run.names import Names, converts
from rltui.run.table import Series, Table

LEAST = 3
"""The least number of points that the old key has before the new one begins, and the new one after the old one has
ended. The mean loss of the whole run, in its last row, is not a new name of the loss."""
LATE = 3
"""The new key begins at most this many times the usual distance between two points after the old one has ended."""
_MEAN_AT = re.compile(r"mean@(\d+)")


class Renamed(NamedTuple):
    """A metric's `old` and `new` key, and the first step of the new one."""

    old: str
    new: str
    step: int


def canonical_series(table: Table, names: Names, canonical: str, rows: int | None = None) -> Series | None:
    """The series of a canonical metric, in canonical units: the first of its keys that holds points. `rows`: uses only
    this many first rows of the run.

    A key that is always zero yields to a later one that is not (verl writes `actor/kl_loss` 0.0 while the KL term is in
    the reward). Of several validation sets it is the one with the most points, then with the most samples a prompt.
    """
    keys = names.sources(canonical)
    found = [s for key in keys if (s := table.series(key)) is not None and len(s)]
    if rows is not None:
        found = [part for s in found if len(part := s.until_row(rows))]
    return preferred(canonical, courses(found, names.meanings))


def preferred(canonical: str, found: Sequence[Series]) -> Series | None:
    """The candidate that represents a canonical metric; None if there are no candidates."""
    if not found:
        return None
    return max(found, key=_evaluations) if canonical == "val_score" else in_use(found)


def in_use(found: Sequence[Series]) -> Series:
    """The first of the candidates (preferred ones first) that is not always 0, else the first of all."""
    if len(found) == 1:
        return found[0]
    return next((s for s in found if s.values[-1] or s.values.any()), found[0])


def _evaluations(series: Series) -> tuple[int, int]:
    match = _MEAN_AT.search(series.key)
    return len(series), int(match[1]) if match else 0


def converted(series: Series, meaning: Meaning) -> Series:
    """The series in canonical units (a percentage as a fraction, a flipped sign turned back)."""
    if not converts(meaning):
        return series
    values = series.values * meaning.scale + meaning.shift
    return Series(series.key, series.steps, values, series.rows, series.times)


def courses(found: Iterable[Series], meanings: Mapping[str, Meaning]) -> list[Series]:
    """The series of one canonical metric in canonical units, in the order given. If one takes over from another, they
    are joined at the place of the first."""
    alike: dict[str, list[Series]] = {}
    for series in found:
        alike.setdefault(meanings[series.key].member, []).append(converted(series, meanings[series.key]))
    out: list[Series] = []
    for same in alike.values():
        ordered = in_turn(same)
        out += [_joined(ordered)] if ordered else same
    return out


def columns_by_key(table: Table, names: Names) -> dict[str, Series]:
    """Every column in canonical units. A key that took over from another one has the points of both, and the old key is
    dropped."""
    out = {key: column.series(key) for key, column in table.columns.items()}
    for key in names.converting:
        if key in out:
            out[key] = converted(out[key], names.meanings[key])
    for keys in names.alike:
        if ordered := in_turn([out[key] for key in keys if key in out]):
            whole = _joined(ordered)
            for one in ordered[:-1]:
                out.pop(one.key, None)
            out[whole.key] = whole
    return out


def renamed(table: Table, names: Names) -> Iterator[Renamed]:
    """The places at which a key took over from another one."""
    for keys in names.alike:
        for old, new in pairwise(in_turn([one for key in keys if (one := table.series(key)) is not None])):
            yield Renamed(old.key, new.key, int(new.steps[0]))


def in_turn(same: Sequence[Series]) -> list[Series]:
    """The series by time if each takes over from the one before, or their parts if they take turns; else, or if there
    is only one, empty. A resumed run repeats some rows under the new key, so the old one may end a little after the new
    one begins."""
    if len(same) < 2 or any(len(one.rows) < LEAST for one in same):
        return []
    lasts = [one.rows.item(-1) for one in same]
    newest = lasts.index(max(lasts))
    begun = same[newest].rows.item(-LEAST)
    if any(last >= begun for at, last in enumerate(lasts) if at != newest):
        return []  # logged side by side. This is asked at each new row, so do not look at all rows
    ordered = sorted(same, key=lambda one: int(one.rows[0]))
    return ordered if all(_takes_over(old, new) for old, new in pairwise(ordered)) else _stretches(ordered)


def _stretches(same: Sequence[Series]) -> list[Series]:
    """The parts of series that take turns, because the run used an older trainer for a while; empty if they do not take
    turns: they share rows, or one is logged in only a few rows."""
    rows = np.concatenate([one.rows for one in same])
    owner = np.repeat(np.arange(len(same)), [len(one) for one in same])[np.argsort(rows, kind="stable")]
    if len(np.unique(rows)) < len(rows):
        return []
    ends = [*(np.flatnonzero(np.diff(owner)) + 1).tolist(), len(owner)]
    sizes = np.diff([0, *ends])
    if sizes.min() < LEAST:
        return []
    out, begun = [], [0] * len(same)
    for size, end in zip(sizes.tolist(), ends, strict=True):
        which = int(owner[end - 1])
        one, part = same[which], slice(begun[which], begun[which] + size)
        begun[which] += size
        out.append(Series(one.key, one.steps[part], one.values[part], one.rows[part], one.times[part]))
    return out if all(_takes_over(old, new) for old, new in pairwise(out)) else []


def _takes_over(old: Series, new: Series) -> bool:
    begins, ended = int(new.rows[0]), int(old.rows[-1])
    before, after = int(old.rows.searchsorted(begins)), len(new) - int(new.rows.searchsorted(ended, "right"))
    if before < LEAST or after < LEAST:
        return False
    return begins <= ended or begins - ended <= LATE * max(_usual(old), _usual(new))


def _usual(series: Series) -> int:
    """Rows from one point to the next."""
    return int(np.median(np.diff(series.rows)))


def _joined(ordered: Sequence[Series]) -> Series:
    """The points of each series until the next one begins."""
    ends = [int(one.rows[0]) for one in ordered[1:]]
    parts = [one.until_row(end) for one, end in zip(ordered, ends, strict=False)] + [ordered[-1]]
    return Series(
        parts[-1].key,
        np.concatenate([one.steps for one in parts]),
        np.concatenate([one.values for one in parts]),
        np.concatenate([one.rows for one in parts]),
        np.concatenate([one.times for one in parts]),
    )

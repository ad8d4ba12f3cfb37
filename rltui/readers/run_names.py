"""Finds to which runs the rows of one file belong, if a column names them: `method`, `run_id`, and also `seed`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rltui.readers.keys import first_of, step_of
from rltui.readers.row_kinds import of_seed, run_column, seed_column

MOST = 500
"""The most runs in a file: a column with more values does not name runs."""


class RowOfRun(NamedTuple):
    """The run to which a row belongs, and its step."""

    run: str
    seed: str
    step: int | None


def row_of_run(row: Mapping[str, object]) -> RowOfRun | None:
    """The run to which a row belongs; None if the row names none."""
    column = run_column(row)
    if column is None or not isinstance(row[column], str | int):
        return None
    seed, step = seed_column(row, column), first_of("step", row)
    return RowOfRun(
        str(row[column]), "" if seed is None else str(row[seed]), None if step is None else step_of(row[step])[0]
    )


def run_names(rows: Iterable[RowOfRun]) -> list[str]:
    """The names of the rows' runs. A name with several seeds side by side becomes one run for each seed."""
    by_name: dict[str, _Span] = {}
    by_seed: dict[str, dict[str, _Span]] = {}
    for row in rows:
        by_name.setdefault(row.run, _Span()).take(row.step)
        seeds = by_seed.setdefault(row.run, {})
        if row.seed in seeds or len(seeds) <= MOST:
            seeds.setdefault(row.seed, _Span()).take(row.step)
        if len(by_name) > MOST:
            return [""]
    names = [*by_name] if _are_apart(by_name) else [""]
    if len(names) < len(by_name):
        return names
    found = []
    for name, seeds in by_seed.items():
        found += [of_seed(name, seed) for seed in seeds] if _are_apart(seeds) else [name]
    return found if len(found) > len(names) else names


class _Span:
    """The rows of one name: their count, the step of the first row and the highest step."""

    def __init__(self) -> None:
        self.count = 0
        self.first: int | None = None
        self.last: int | None = None

    def take(self, step: int | None) -> None:
        self.count += 1
        if step is not None:
            self.first = step if self.first is None else self.first
            self.last = step if self.last is None else max(self.last, step)

    def goes_on(self, before: _Span) -> bool:
        return self.first is not None and before.last is not None and self.first > before.last


def _are_apart(found: Mapping[str, _Span]) -> bool:
    """Whether these are runs side by side. If each continues where the one before ended, they are launches of one run;
    if each has a single row, the names do not name runs."""
    spans = [*found.values()]
    if not 2 <= len(spans) <= MOST or max(span.count for span in spans) < 2:
        return False
    return not all(b.goes_on(a) for a, b in itertools.pairwise(spans))

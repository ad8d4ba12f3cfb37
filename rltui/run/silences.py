"""Hours in which a run wrote no row because it waited in a queue or hung: between two rows, or before a restart."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from msgspec import Struct

from rltui.readers.base import Note
from rltui.run.stall import span
from rltui.run.sums import quantile
from rltui.run.table import Floats, Ints

LEAST_S = 1800.0
"""A shorter time is not a silence: validations and saves take minutes, and nobody asks where they went."""
TIMES = 10.0
"""A silence is longer than this many times the 95th percentile of the times between rows."""
FEWEST = 5
"""The fewest times between rows that show what is usual."""
MOST = 20
"""The most silences that are reported: the longest ones."""
_LAUNCHES = frozenset(("start", "resume"))


class Silence(Struct, frozen=True):
    """`seconds` without a row, before the row of `step`. `after`: the step of the previous row. `restarted`: the run
    was started again there."""

    after: int
    step: int
    seconds: float
    restarted: bool

    @property
    def text(self) -> str:
        again = ", where it was started again" if self.restarted else ""
        return f"{span(self.seconds)} between steps {self.after} and {self.step}{again}"


def silences(steps: Ints, times: Floats, restarts: Collection[int], notes: Iterable[Note]) -> tuple[Silence, ...]:
    """The silences of a run, by step. `times`: those of the rows, NaN if unknown."""
    known = np.flatnonzero(np.isfinite(times))
    if len(known) <= FEWEST:
        return ()
    passed = np.diff(times if len(known) == len(times) else times[known])
    if passed.max() <= LEAST_S:  # called at each row: sorting all times would cost more than the row
        return ()
    usual = quantile(passed[passed > 0], 0.95) if (passed > 0).any() else 0.0
    found = np.flatnonzero(passed > max(LEAST_S, TIMES * usual))
    if not len(found):
        return ()
    launched = {note.after for note in notes if note.kind in _LAUNCHES and note.after is not None}
    again = set(restarts)
    out = []
    for at in sorted(found[np.argsort(-passed[found], kind="stable")][:MOST].tolist()):
        after, step = int(steps[known[at]]), int(steps[known[at + 1]])
        begun = any(after < one <= step for one in again) or any(after <= one < step for one in launched)
        out.append(Silence(after, step, float(passed[at]), begun))
    return tuple(out)

"""Answers that are all as long as the limit lets them be, in a log that does not count those that are cut."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.frameworks.load import prefix_groups
from rltui.run.sums import median
from rltui.run.table import Floats

MEAN, LONGEST, SHORTEST = "response_length_mean", "response_length_max", "response_length_min"
CUT, FINISHED = "response_clip_ratio", "finish_ratio"
ENDED = "response_length_terminated_mean"
ROWS = 10
"""Rows in which several answers that end by themselves do not all have one length by chance."""
ALL_BUT = 0.9
"""Share of these rows at least: now and then an answer ends before the limit."""
FORMAL = 32
"""Tokens below which answers may have one length by their form, as a choice, a move or a number has. They are cut only
if the config says that this is the limit."""


class OneLength(Struct, frozen=True):
    """In `rows` of the newest `of_rows` rows, from step `since` on, the mean answer has `tokens` tokens. `always`: it
    was so from the first row on."""

    tokens: int
    rows: int
    of_rows: int
    since: int
    always: bool

    @property
    def told(self) -> str:
        rows = f"all {self.rows} rows" if self.rows == self.of_rows else f"{self.rows} of {self.of_rows} rows"
        return f"the mean response has {self.tokens} tokens in {rows}, as if all end at a limit"


def one_length(look: Look) -> OneLength | None:
    """A mean over several answers that is the same whole number in each row, and never more, tells that no answer ended
    by itself. None if the log counts those that are cut, if some are shorter, or if the number may be that of something
    else, as a batch."""
    found = look.series(MEAN)
    if found is None or any(look.series(name) is not None for name in (CUT, FINISHED)):
        return None
    mean = found.finite()
    if not enough(ROWS, mean.steps):
        return None
    top = float(mean.values.max())
    limit, longest = look.settings.length_cap, _level(look, LONGEST, np.max, 0)
    if top < 1 or top != round(top) or limit not in (None, top) or longest not in (None, top):
        return None
    if limit is None and (top < FORMAL or (longest is None and not _of_answers(mean.key))):
        return None
    at = mean.values == top
    off = np.flatnonzero(~(at[1:] | at[:-1]))  # two rows in a row in which some were shorter
    begin = int(off[-1]) + 2 if len(off) else 0
    since, rows, of_rows = int(mean.steps[min(begin, len(at) - 1)]), int(at[begin:].sum()), len(at) - begin
    if not enough(ROWS, mean.steps[begin:]) or rows < ALL_BUT * of_rows:
        return None
    shortest, ended = (_level(look, name, median, since) for name in (SHORTEST, ENDED))
    if (shortest is not None and shortest < top) or (ended is not None and ended > 0.0):
        return None
    return OneLength(int(top), rows, of_rows, since, begin == 0)


def _level(look: Look, name: str, of: Callable[[Floats], float], since: int) -> float | None:
    """The median or the highest value of a metric from a step on; None if it is not logged."""
    found = look.series(name)
    series = None if found is None else found.finite()
    series = None if series is None else series.where(series.steps >= since)
    return None if series is None or not len(series) else float(of(series.values))


def _of_answers(key: str) -> bool:
    """Whether a key says that it counts tokens or answers: the length of anything may be called "length"."""
    return any(prefix_groups().get(word) == "length" for word in re.split(r"[^a-z]+", key.lower()))

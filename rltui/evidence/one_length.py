"""Detects that all answers are as long as the limit allows, in a log that does not count truncated answers."""

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
"""Over this many rows, several answers that end by themselves do not all have the same length by chance."""
ALL_BUT = 0.9
"""Least share of these rows: now and then an answer ends before the limit."""
FORMAL = 32
"""Below this number of tokens, answers may have the same length because of their form (a choice, a move, a number).
They count as cut only if the config says that this is the limit."""


class OneLength(Struct, frozen=True):
    """In `rows` of the newest `of_rows` rows, from step `since` on, the mean answer has `tokens` tokens. `always`: this
    holds from the first row on."""

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
    """If a mean over several answers is the same whole number in each row, and never more, no answer ended by itself.
    None if the log counts truncated answers, if some answers are shorter, or if the number may belong to something
    else, such as a batch."""
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
    off = np.flatnonzero(~(at[1:] | at[:-1]))  # two consecutive rows in which some answers were shorter
    begin = int(off[-1]) + 2 if len(off) else 0
    since, rows, of_rows = int(mean.steps[min(begin, len(at) - 1)]), int(at[begin:].sum()), len(at) - begin
    if not enough(ROWS, mean.steps[begin:]) or rows < ALL_BUT * of_rows:
        return None
    shortest, ended = (_level(look, name, median, since) for name in (SHORTEST, ENDED))
    if (shortest is not None and shortest < top) or (ended is not None and ended > 0.0):
        return None
    return OneLength(int(top), rows, of_rows, since, begin == 0)


def _level(look: Look, name: str, of: Callable[[Floats], float], since: int) -> float | None:
    """The median or the highest value of a metric from step `since` on; None if it is not logged."""
    found = look.series(name)
    series = None if found is None else found.finite()
    series = None if series is None else series.where(series.steps >= since)
    return None if series is None or not len(series) else float(of(series.values))


def _of_answers(key: str) -> bool:
    """Whether the key says that it counts tokens or answers: the length of anything may be called "length"."""
    return any(prefix_groups().get(word) == "length" for word in re.split(r"[^a-z]+", key.lower()))

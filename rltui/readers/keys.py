"""The keys under which rows hold their step and time. They are listed in a data file (`data/keys.json`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.lazy_regex import lazy
from rltui.readers.base import NO_STEP
from rltui.readers.rows import number

MAX_STEP = (1 << 53) - 1
"""The largest step: up to here a float holds whole numbers exactly."""
COUNTED = "steps that are not whole numbers from 0 on: their rows are counted instead"
LAST_SECOND = 1e11
"""Seconds since the epoch stay below this until the year 5138. Larger time stamps are milli-, micro- or
nanoseconds."""
FINER_UNITS = 3
NOTEBOOK_LOSS, _VALIDATION = "Training Loss", "Validation "
"""HF's name for the training loss in its notebook table, and the prefix there of an evaluation's names."""
SINCE_EPOCH = 1e8
"""Fewer seconds than this are not a time since the epoch, but counted from the start of the run."""

RISING = 3
"""How many rows show whether a column with a doubtful name holds the steps."""
EQUALS = ("step", "global_step", "update")
"""Names that are equally good, so that the first in a line counts: a `step` may begin again in each epoch, and beside
an `update` it may count samples."""


KeyKind = Literal[
    "step", "perhaps_step", "checkpoint", "epoch", "total", "time", "config", "whole_config", "update", "text"
]


class Keys(Record):
    """Keys by kind, the most reliable first. `perhaps_step`: holds the step if no other key does and the values rise;
    `checkpoint`: name or path of the checkpoint that a row is about; `config`: above the settings in a row or document;
    `whole_config`: above all settings of a config file; `update`: metrics of a policy update; `text`: texts of
    samples."""

    step: tuple[str, ...]
    perhaps_step: tuple[str, ...]
    checkpoint: tuple[str, ...]
    epoch: tuple[str, ...]
    total: tuple[str, ...]
    time: tuple[str, ...]
    config: tuple[str, ...]
    whole_config: tuple[str, ...]
    update: tuple[str, ...]
    text: tuple[str, ...]


@kept
def _keys() -> Keys:
    return read(Path(__file__).with_name("data") / "keys.json", Keys)


def names(kind: KeyKind) -> tuple[str, ...]:
    """The keys of one kind, the most reliable first."""
    found: tuple[str, ...] = getattr(_keys(), kind)
    return found


def step_key(cells: Mapping[str, object]) -> str | None:
    """The key of a row's step; else the key of the checkpoint that the row is about, if that names a step; else
    None."""
    told = first_of("step", cells)
    if told is None:
        told = next((key for key in names("checkpoint") if key in cells and step_of(cells[key])[0] is not None), None)
    return told


def first_of(kind: KeyKind, keys: Container[str]) -> str | None:
    """The first key of a kind that is among `keys`."""
    return next((name for name in names(kind) if name in keys), None)


@kept
def _places() -> dict[str, int]:
    places: dict[str, int] = {}
    for place, name in enumerate(names("step")):
        places.setdefault(_spelt(name), place)
    return places


def _spelt(name: str) -> str:
    return name.lower().replace(" ", "_")


def place_of_step(name: str) -> int:
    """How reliable a name is as that of the step: its place among the step keys. The names in `EQUALS` share the first
    place; a name that is not among the keys comes after all of them."""
    spelt = _spelt(name)
    return 0 if spelt in EQUALS else 1 + _places().get(spelt, len(names("step")))


def of_headings(headings: Sequence[str]) -> dict[str, str]:
    """The keys of HF's dict lines for the columns of its notebook table: `loss` for `Training Loss`, `eval_loss` for
    `Validation Loss`. Beside the latter, any other column that begins with a capital belongs to the evaluation, too:
    `eval_reward` for `Reward`."""
    evaluated = any(heading.startswith(_VALIDATION) for heading in headings)

    def key(heading: str) -> str:
        if heading == NOTEBOOK_LOSS:
            return "loss"
        if heading.startswith(_VALIDATION) or (evaluated and heading[:1].isupper()):
            return "eval_" + heading.removeprefix(_VALIDATION).strip().lower().replace(" ", "_")
        return heading.replace(" / ", "/")

    return {heading: key(heading) for heading in headings}


_CHECKPOINT = lazy(r"(?:^|[/_-])(?:step|iter|iteration|checkpoint|ckpt)s?[-_ ]?(\d{1,15})/?$", re.I)


def step_of(value: object) -> tuple[int | None, int | None]:
    """The step and the planned steps in a step cell: 3, 3.0, "3", "3/100" or "out/checkpoint-3". Each is None if the
    cell does not hold it."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value if 0 <= value <= MAX_STEP else None), None
    if isinstance(value, str) and (named := _CHECKPOINT.search(value)) is not None:
        return int(named[1]), None
    if isinstance(value, str) and "/" in value:
        step, _, total = value.partition("/")
        return step_of(step)[0], step_of(total)[0]
    x = number(value)
    if x is None or not isfinite(x) or x != int(x) or not 0 <= x <= MAX_STEP:
        return None, None
    return int(x), None


class StepColumn:
    """The steps of one file. A column with fractions does not hold steps but, say, epochs: from the first fraction on,
    rows are counted instead. So are rows whose step is negative or beyond `MAX_STEP`. `skip` is called for each.

    `in_doubt`: the column's name is doubtful. It holds steps if the values rise in the first `RISING` rows and are not
    times."""

    def __init__(self, skip: Callable[[str, int], None]) -> None:
        self._skip = skip
        self.counted = self.in_doubt = False
        self._doubtful: list[int] = []

    def look_at(self, values: Sequence[object]) -> None:
        """Decides by the first values, if there are enough, whether a column with a doubtful name holds the steps."""
        first = [step_of(value)[0] for value in values[:RISING]]
        if len(first) > 1 or (first and first[0] is not None and first[0] >= SINCE_EPOCH):
            rising = all(step is not None and step < SINCE_EPOCH for step in first)
            rising = rising and all(a < b for a, b in pairwise(step for step in first if step is not None))
            self.in_doubt, self.counted = rising and len(first) < RISING, not rising

    def step(self, value: object, line: int) -> int:
        """The step of one row; `NO_STEP` if the row has to be counted."""
        step = None if self.counted else step_of(value)[0]
        if step is not None and self.in_doubt:
            self._doubtful.append(step)
            self.look_at(self._doubtful)
            return NO_STEP if self.counted else step
        if step is not None:
            return step
        x = number(value)
        if x is not None and isfinite(x):
            self.counted |= x != int(x)
            self._skip(COUNTED, line)
        return NO_STEP


def time_of(value: object) -> float:
    """Seconds since the epoch in a time cell, which may hold a number, ISO 8601 text, or a date as in e-mails; NaN for
    anything else."""
    x = number(value)
    if x is None and isinstance(value, str):
        try:
            x = _date(value.strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            return nan
    return nan if x is None else in_seconds(x)


def is_time(value: object) -> bool:
    """Whether a cell holds a point in time. A cell called `time` may also hold a duration."""
    return not isnan(time_of(value))


def in_seconds(stamp: float) -> float:
    """Seconds since the epoch of a time stamp in seconds, milli-, micro- or nanoseconds; NaN if it is not a time since
    the epoch."""
    for _ in range(FINER_UNITS):
        if stamp > LAST_SECOND:
            stamp /= 1000
    return stamp if SINCE_EPOCH < stamp <= LAST_SECOND else nan


def _date(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text.replace("/", "-"))
    except ValueError:
        from email.utils import parsedate_to_datetime  # rarely needed, and 8 ms to import

        return parsedate_to_datetime(text)


def names_zone(value: object) -> bool:
    """Whether a time cell is a text that names its time zone. A number may come from a clock in another zone."""
    if not isinstance(value, str) or number(value) is not None:
        return False
    try:
        return _date(value.strip()).tzinfo is not None
    except ValueError:
        return False


def times_of(values: list[object]) -> list[float]:
    """`time_of` for each value."""
    return list(map(time_of, values))

"""The keys by which containers name the step and the time of a row. Which they are is data (`data/keys.json`)."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from datetime import datetime
from math import isfinite, isnan, nan
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.readers.base import NO_STEP
from rltui.readers.rows import number

MAX_STEP = (1 << 53) - 1
"""The largest step: what a float still holds exactly."""
COUNTED = "steps that are no whole numbers from 0 on: their rows are counted"
LAST_SECOND = 1e11
"""Seconds since the epoch stay below this until the year 5138: larger time stamps are milliseconds, micro- or
nanoseconds."""
FINER_UNITS = 3
NOTEBOOK_LOSS, _VALIDATION = "Training Loss", "Validation "
"""What HF's table in a notebook calls its loss, and what stands before what is held out."""
SINCE_EPOCH = 1e8
"""Up to so many seconds are counted from the start of the run."""


KeyKind = Literal["step", "epoch", "total", "time", "config", "update", "text"]


class Keys(Record):
    """Keys by kind, the most telling first. `update`: what an update of the policy logs; `text`: samples."""

    step: tuple[str, ...]
    epoch: tuple[str, ...]
    total: tuple[str, ...]
    time: tuple[str, ...]
    config: tuple[str, ...]
    update: tuple[str, ...]
    text: tuple[str, ...]


@kept
def _keys() -> Keys:
    return read(Path(__file__).with_name("data") / "keys.json", Keys)


def names(kind: KeyKind) -> tuple[str, ...]:
    """Keys of one kind, the most telling first."""
    found: tuple[str, ...] = getattr(_keys(), kind)
    return found


def first_of(kind: KeyKind, keys: Container[str]) -> str | None:
    """The first key of a kind that is there."""
    return next((name for name in names(kind) if name in keys), None)


def of_headings(headings: Sequence[str]) -> dict[str, str]:
    """The keys that HF's dict lines have for the columns of the table that a notebook shows: `Training Loss` is loss,
    `Validation Loss` eval_loss, and so is any other that begins with a capital beside it, `Reward` eval_reward."""
    evaluated = any(heading.startswith(_VALIDATION) for heading in headings)

    def key(heading: str) -> str:
        if heading == NOTEBOOK_LOSS:
            return "loss"
        if heading.startswith(_VALIDATION) or (evaluated and heading[:1].isupper()):
            return "eval_" + heading.removeprefix(_VALIDATION).strip().lower().replace(" ", "_")
        return heading.replace(" / ", "/")

    return {heading: key(heading) for heading in headings}


def step_of(value: object) -> tuple[int | None, int | None]:
    """Step and planned steps of a step cell: 3, 3.0, "3" or "3/100". None where it holds none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value if 0 <= value <= MAX_STEP else None), None
    if isinstance(value, str) and "/" in value:
        step, _, total = value.partition("/")
        return step_of(step)[0], step_of(total)[0]
    x = number(value)
    if x is None or not isfinite(x) or x != int(x) or not 0 <= x <= MAX_STEP:
        return None, None
    return int(x), None


class StepColumn:
    """The steps of one file. A column with fractions holds something else (an epoch): from the first of them on rows
    are counted instead, as those are whose step is negative or beyond `MAX_STEP`; `skip` is told of each."""

    def __init__(self, skip: Callable[[str, int], None]) -> None:
        self._skip = skip
        self.counted = False

    def step(self, value: object, line: int) -> int:
        """The step of one row, `NO_STEP` where it is to be counted."""
        step = None if self.counted else step_of(value)[0]
        if step is not None:
            return step
        x = number(value)
        if x is not None and isfinite(x):
            self.counted |= x != int(x)
            self._skip(COUNTED, line)
        return NO_STEP


def time_of(value: object) -> float:
    """Seconds since the epoch of a time cell: a number, ISO 8601 text, or a date as e-mails have it; NaN where it holds
    none."""
    x = number(value)
    if x is None and isinstance(value, str):
        try:
            x = _date(value.strip()).timestamp()
        except (ValueError, OverflowError, OSError):
            return nan
    return nan if x is None else in_seconds(x)


def is_time(value: object) -> bool:
    """Whether a cell holds a time since the epoch. What is called `time` may be a duration."""
    return not isnan(time_of(value))


def in_seconds(stamp: float) -> float:
    """Seconds since the epoch of a stamp in seconds or a thousandth, millionth or billionth of them; NaN for what is no
    time since the epoch."""
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
    """Whether a time cell is a text that names its zone. A number may be made of the clock of another one."""
    if not isinstance(value, str) or number(value) is not None:
        return False
    try:
        return _date(value.strip()).tzinfo is not None
    except ValueError:
        return False


def times_of(values: list[object]) -> list[float]:
    """Of each `time_of`."""
    return list(map(time_of, values))

"""Step lines in the user's own words: `--line 'round {step}/{total} -> {reward} ({})'`.

`{name}` is a number, `{step}` the step, `{total}` the planned steps, `{}` a number to ignore, `...` any text. A blank
matches any number of blanks. Without `{step}` rows are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.console.line_clock import LineClock, lead_of
from rltui.readers.console.step_template import StepRow
from rltui.readers.number_text import NUMBER, value

_PLACE = lazy(r"\{([^{}]*)\}")
_ANY = "..."


class LinePattern(Struct, frozen=True):
    """One pattern. `names`: the name of each number, "" for one to ignore."""

    regex: re.Pattern[str]
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> LinePattern:
        """The pattern of a text. Raises ValueError if it names no number, or one name twice."""
        parts = _PLACE.split(text.strip())
        names = tuple(name.strip() for name in parts[1::2])
        if not any(names):
            raise ValueError("it names no number: write {step} in place of the step, {NAME} in place of a metric")
        twice = next((name for name, count in Counter(filter(None, names)).items() if count > 1), None)
        if twice is not None:
            raise ValueError(f"it names {{{twice}}} twice")
        literal = [_literal(part) for part in parts[::2]]
        return cls(re.compile(f"({NUMBER})".join(literal)), names)

    def cells(self, message: str) -> dict[str, float] | None:
        """Name -> number, including `step` and `total`; None for a line that does not match."""
        found = self.regex.search(message)
        if found is None:
            return None
        return {name: value(text) for name, text in zip(self.names, found.groups(), strict=True) if name}


class PatternLines:
    """Reads the lines of one log by patterns. `counts`: rows are counted, as no pattern names a step."""

    def __init__(self, patterns: Sequence[LinePattern], clock: LineClock) -> None:
        self.counts = False
        self._clock = clock
        self._patterns = patterns
        self._stepless = not any("step" in pattern.names for pattern in patterns)

    def line(self, message: str, newest: int | None) -> list[StepRow] | None:
        """The row of a line; None if no pattern matches. A row without a step belongs to the `newest` step, if another
        pattern names the step; it is dropped if that is not known yet."""
        cells = next((cells for pattern in self._patterns if (cells := pattern.cells(message)) is not None), None)
        if cells is None:
            return None
        step, total = newest, _whole(cells.pop("total", None))
        if "step" in cells:
            step = _whole(cells.pop("step"))
        elif self._stepless:
            self.counts, step = True, (newest or 0) + 1
        return [] if step is None else [StepRow(step, cells, total, time=self._clock.of(lead_of(message)))]


def _whole(number: float | None) -> int | None:
    """A number as a step; None if it cannot be one."""
    return None if number is None or not abs(number) < 1e15 else int(number)


def _literal(text: str) -> str:
    words = [".*?".join(map(re.escape, word.split(_ANY))) for word in re.split(r"\s+", text)]
    return r"\s+".join(words)


_patterns: tuple[LinePattern, ...] = ()


def use(texts: Sequence[str]) -> None:
    """Sets the patterns for every console log that is opened from now on. Raises ValueError as `LinePattern.of`."""
    global _patterns
    _patterns = tuple(map(LinePattern.of, texts))


def in_use() -> tuple[LinePattern, ...]:
    """The user's patterns."""
    return _patterns

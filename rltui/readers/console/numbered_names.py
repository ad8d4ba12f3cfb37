"""Names with a number that is another one at each step, `sample 7 reward`, `checkpoint-500`: it says which of many the
line is about, and each would be a metric with a single value."""

from __future__ import annotations

from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.console.name_words import NAMES
from rltui.readers.console.step_template import StepRow

PATIENCE = 3
"""Steps, each with other numbers in a name, after which further ones tell nothing."""
MOST = 2000
"""Wordings of names that are kept."""
_NUMBER = lazy(r"(?:(?<=[\s#\[(-])|^)\d+(?![\w.@])")


@lru_cache(maxsize=NAMES)
def _wording(name: str) -> str:
    """The name with a mark for its numbers, "" for a name without one that stands apart."""
    marked = _NUMBER.sub("#", name)
    return "" if marked == name else marked


class NumberedNames:
    """Takes rows in file order. A name that comes again at a later step is one, and so are all of its wording."""

    def __init__(self) -> None:
        self._first: dict[str, dict[str, int]] = {}  # by wording: name -> step; none once one came again

    def changing(self, row: StepRow) -> list[str]:
        """The names of a row that tell nothing."""
        return [name for name in row.cells if (wording := _wording(name)) and self._changes(wording, name, row.step)]

    def _changes(self, wording: str, name: str, step: int) -> bool:
        known = self._first.get(wording)
        if known is None:
            if len(self._first) < MOST:
                self._first[wording] = {name: step}
            return False
        if not known:
            return False
        if name in known:
            if known[name] != step:
                known.clear()
            return False
        steps = set(known.values())
        if len(steps - {step}) >= PATIENCE:
            return True
        known[name] = step
        return False

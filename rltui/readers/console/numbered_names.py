"""Names with a number that changes at each step, `sample 7 reward`, `checkpoint-500`: the number says which of many
items the line is about, so each name would be a metric with a single value."""

from __future__ import annotations

from functools import lru_cache

from rltui.lazy_regex import lazy
from rltui.readers.console.step_template import StepRow
from rltui.readers.name_words import NAMES

PATIENCE = 3
"""After this many steps with different numbers in a name, further such names are ignored."""
MOST = 2000
"""Most wordings of names that are kept."""
_NUMBER = lazy(r"(?:(?<=[\s#\[(-])|^)\d+(?![\w.@])")


@lru_cache(maxsize=NAMES)
def _wording(name: str) -> str:
    """The name with a mark in place of its numbers; "" for a name without a separate number."""
    marked = _NUMBER.sub("#", name)
    return "" if marked == name else marked


class NumberedNames:
    """Takes rows in file order. A name that comes again at a later step is a metric, and so are all names of its
    wording."""

    def __init__(self) -> None:
        self._first: dict[str, dict[str, int]] = {}  # wording -> {name: step}; empty once a name came again

    def changing(self, row: StepRow) -> list[str]:
        """The names of a row that are to be ignored."""
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

"""Settings that are printed above the rows, one a line: a number of steps among them heads no rows, `steps: 60`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.config import MAX_PAIRS, PrintedPairs
from rltui.readers.name_words import either, is_named, words
from rltui.readers.row_kinds import is_config, measures, row_words

FEWEST = 2
"""Fewest lines that are settings."""
_APART = lazy(r"^\W*([A-Za-z_][\w.\-]{0,60})(?:[ ]{2,}|\t\s*)(\S+(?: \S+)*)$")
"""Name and value that only a gap sets apart: `steps       60`."""


def are_set(count: float, names: Iterable[str]) -> bool:
    """Whether numbers of these names, beside a step of 0, are settings: a list of them may hold where training begins,
    `step: 0, lr: 1e-6, kl_coef: 0.05`."""
    told = dict.fromkeys(names, 0.0)
    measured = either("limited", "shares") | {"loss"}
    return not count and is_config(told) and not any(is_named(name, measured) for name in told)


def all_set(names: Iterable[str]) -> bool:
    """Whether numbers of these names are settings, `config: lr=2e-6 batch=256 beta=0.04`, and none was measured or
    counts steps."""
    told = dict.fromkeys(names, 0.0)
    return is_config(told) and not measures(told) and not any(is_named(name, words().counters) for name in told)


class SettingsAbove(Struct):
    """Takes the lines above the first step, without what a logger puts before them."""

    lines: range = range(0)
    """Numbers of the newest lines that hold settings, from the first to the last of them."""
    _values: dict[str, object] = field(default_factory=dict)
    _first: int = 0
    _last: int = 0

    def copy(self) -> SettingsAbove:
        return SettingsAbove(self.lines, dict(self._values), self._first, self._last)

    def take(self, message: str, line: int) -> None:
        """Takes a line, with its number. One that holds no name with its value ends the settings."""
        pair = PrintedPairs.pair(message)
        if pair is None and (apart := _APART.match(message.rstrip())) is not None:
            pair = apart[1], apart[2]
        if pair is None or len(self._values) >= MAX_PAIRS:
            if self._are_set():
                self.lines = range(self._first, self._last + 1)
            self._values = {}
        if pair is not None:
            self._first = self._first if self._values else line
            self._last = line
            # by the last part of a name, as it is spelled in lists of settings
            self._values.setdefault(pair[0].rpartition(".")[2].replace("-", "_").lower(), pair[1])

    def _are_set(self) -> bool:
        """Whether the lines so far hold what somebody set, and nothing that was measured."""
        values = self._values
        known = not row_words().settings.isdisjoint(values)
        return len(values) >= FEWEST and known and (not measures(values) or is_config(values))

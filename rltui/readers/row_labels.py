"""Rows that state a step again with a label: `{"step": 5, "reward": 0.3}`, then `{"step": 5, "tag": "best", "reward":
0.4}`. Their numbers are not those of the step's own row, so they get the label as a prefix and overwrite nothing.

A row of an event that holds only times, `{"event": "save", "step": 5, "seconds": 12}`, gives the time of that event.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rltui.readers.base import NO_STEP
from rltui.readers.keys import is_time, names
from rltui.readers.name_words import words
from rltui.readers.row_kinds import LONGEST_NAME, beside, is_measure, row_words, words_of
from rltui.readers.rows import number

MOST = 400
"""The most labels that are kept."""
Row = dict[str, object]


class RowLabels:
    """Finds such rows in one file. It must get the rows in order. Rows that hold only numbers need not go through
    `told`; it is enough to give the newest of them to `own`.

    Rows with equal keys may be samples of a step, which are averaged. Only the name of an agent or group distinguishes
    them.
    """

    def __init__(self) -> None:
        self._own: Mapping[str, object] = {}  # the newest row that is the log's own
        self._step = NO_STEP
        self._beside: set[str] = set()  # labels of other rows

    def own(self, row: Mapping[str, object], step: int) -> None:
        """Takes note of one of the log's own rows."""
        self._own, self._step = row, step

    def told(self, row: Row, step: int, kind: str | None) -> Row:
        """The row with its label in its names, if it is not one of the log's own rows; else the row itself. `kind`: the
        kind that its flags state."""
        key, label = self._label(row)
        if not label:
            self.own(row, step)
            return row
        cells = _cells(row)
        said = {*words_of(label), label.lower()}
        known = row_words()
        if key in known.flags and not said.isdisjoint(known.events) and _only_times(cells):
            event = "checkpoint" if not said.isdisjoint(known.saves) else label
            return _renamed(row, {name: f"time/{event}" if _is_duration(name) else f"{event}/{name}" for name in cells})
        if not self._is_beside(cells, key, label, step, tuple(row)):
            self.own(row, step)
            return row
        group = f"eval/{label}" if not said.isdisjoint(known.held_out) else label
        shared = cells.keys() & _cells(self._own).keys()
        of_step = kind == "train" or not said.isdisjoint(known.events)
        return _renamed(row, {name: _within(group, name) for name in (shared if of_step else cells)})

    def _is_beside(self, cells: Mapping[str, object], key: str, label: str, step: int, keys: tuple[str, ...]) -> bool:
        if label in self._beside:
            return True
        if step == NO_STEP or step != self._step or cells.keys().isdisjoint(_cells(self._own)):
            return False
        if keys == tuple(self._own) and key not in row_words().agents and label.lower() not in words().groups:
            return False
        if len(self._beside) < MOST:
            self._beside.add(label)
        return True

    def _label(self, row: Mapping[str, object]) -> tuple[str, str]:
        """The first text of a row that the own row does not have, with its key; two empty texts if there is none."""
        for key, value in row.items():
            if not isinstance(value, str) or not 0 < len(value) <= LONGEST_NAME or self._own.get(key) == value:
                continue
            if key.lower() in _no_labels() or not any(map(str.isalpha, value)) or is_time(value):
                continue
            return key, "_".join(value.split())
        return "", ""


@cache
def _no_labels() -> frozenset[str]:
    """Keys whose texts are not labels of rows, in lower case."""
    known = row_words()
    kinds = (names("time"), names("step"), names("total"), names("text"), known.messages, known.records, known.items)
    return frozenset(key.lower() for keys in (*kinds, known.runs) for key in keys)


def _cells(row: Mapping[str, object]) -> dict[str, object]:
    """The numbers of a row, by the names that the row gives them."""
    data = row.get("data")
    inner = data if isinstance(data, dict) else row
    aside = beside(inner) - set(names("time"))
    return {key: x for key, x in inner.items() if key not in aside and number(x) is not None and not _is_point(key, x)}


def _is_point(key: str, value: object) -> bool:
    return key in names("time") and is_time(value)


def _is_duration(name: str) -> bool:
    return not row_words().durations.isdisjoint(words_of(name))


def _only_times(cells: Mapping[str, object]) -> bool:
    return any(map(_is_duration, cells)) and not any(map(is_measure, cells))


def _within(group: str, name: str) -> str:
    return f"time/{group}" if _is_duration(name) and not group.startswith("eval/") else f"{group}/{name}"


def _renamed(row: Row, new: Mapping[str, str]) -> Row:
    data = row.get("data")
    if isinstance(data, dict):
        return {**row, "data": {new.get(key, key): value for key, value in data.items()}}
    return {new.get(key, key): value for key, value in row.items()}

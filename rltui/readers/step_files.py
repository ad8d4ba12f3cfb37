"""JSON files of one step each, as some loops save them: `step_000010.json` and `step_000020.json`, or the scores of an
evaluation, `eval/step_100.json`. One reader reads them all."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from rltui.readers.base import Record
from rltui.readers.jsonl import JsonlReader
from rltui.readers.keys import first_of, names, step_of
from rltui.readers.row_kinds import is_sample, measures, words_of
from rltui.readers.rows import number

FORMAT = "json-files"
FEWEST = 3
"""Fewer such files are results, not the steps of a run."""
_NAME = re.compile(r"(.*?)(\d{1,15})\.json", re.IGNORECASE)
_RESULTS = ("results", "scores", "metrics")
"""Keys of what an evaluation measured, beside how it was done."""
_OTHER_COUNTS = ("epoch", "episode")


def family(name: str) -> tuple[str, int] | None:
    """The common part of the names of such files, and the number of this one; None for any other name."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2])) if found is not None else None


def are_enough(name: str, count: int, evaluates: bool) -> bool:
    """Whether so many files of one family may be steps: one evaluation is enough if its name says so."""
    named = family(name)
    return count >= FEWEST or (evaluates and named is not None and _counts_steps(named[0]))


def is_row(text: bytes, name: str, evaluates: bool = False) -> bool:
    """Whether a file holds the metrics of the step in its name: the number may also be a rank or a seed. `evaluates`:
    its path says that it holds an evaluation, whose scores may be called after the data sets."""
    named = family(name)
    row = _parsed(text) if named is not None else None
    if named is None or row is None:
        return False
    cells = {
        k: v for key, value in row.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])
    }
    numbers = [key for key, value in cells.items() if number(value) is not None]
    if is_sample(row) or not (numbers if evaluates else measures(numbers)):
        return False
    key = first_of("step", row)
    if key is not None:
        return step_of(row[key])[0] == named[1]
    return _counts_steps(named[0]) or (evaluates and not named[0])


def _counts_steps(stem: str) -> bool:
    return words_of(stem)[-1:] != [] and words_of(stem)[-1] in (*names("step"), *_OTHER_COUNTS)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _measured(row: dict[str, Any]) -> dict[str, Any]:
    """What an evaluation measured, of a row that may hold its settings too."""
    return next((found for key in _RESULTS if isinstance(found := row.get(key), dict)), row)


class StepFilesReader:
    """Takes whole files, each of which is the row of a step."""

    format = FORMAT
    whole = True

    def __init__(self, evaluates: bool = False) -> None:
        self._evaluates = evaluates
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}

    def read(self, files: Iterable[tuple[str, bytes]]) -> list[Record]:
        """The rows of files. `files`: path and bytes of each, in the order of their steps."""
        lines = JsonlReader()
        out: list[Record] = []
        for path, text in files:
            name = os.path.basename(path)
            row = _parsed(text) if is_row(text, name, self._evaluates) else None
            named = family(name)
            if row is None or named is None:
                self.skipped["file without metrics of its step"] += 1
                self.skipped_at.setdefault("file without metrics of its step", name)
                continue
            if self._evaluates:
                row = {key: value for key, value in row.items() if number(value) is not None} | _measured(row)
            row = row if first_of("step", row) is not None else {"step": named[1], **row}
            out += lines.feed((json.dumps(row) + "\n").encode())
        return [*out, *lines.finish()]

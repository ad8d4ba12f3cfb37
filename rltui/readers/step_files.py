"""JSON files of one step each, as some loops save them: `step_000010.json` and `step_000020.json`. One reader reads
them all."""

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
_OTHER_COUNTS = ("epoch", "episode")


def family(name: str) -> tuple[str, int] | None:
    """The common part of the names of such files, and the number of this one; None for any other name."""
    found = _NAME.fullmatch(name)
    return (found[1], int(found[2])) if found is not None else None


def is_row(text: bytes, name: str) -> bool:
    """Whether a file holds the metrics of the step in its name: the number may also be a rank or a seed."""
    named = family(name)
    row = _parsed(text) if named is not None else None
    if named is None or row is None:
        return False
    cells = {
        k: v for key, value in row.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])
    }
    numbers = [key for key, value in cells.items() if number(value) is not None]
    if is_sample(row) or not measures(numbers):
        return False
    key = first_of("step", row)
    if key is not None:
        return step_of(row[key])[0] == named[1]
    return _counts_steps(named[0])


def _counts_steps(stem: str) -> bool:
    return words_of(stem)[-1:] != [] and words_of(stem)[-1] in (*names("step"), *_OTHER_COUNTS)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


class StepFilesReader:
    """Takes whole files, each of which is the row of a step."""

    format = FORMAT
    whole = True

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.skipped_at: dict[str, str] = {}

    def read(self, files: Iterable[tuple[str, bytes]]) -> list[Record]:
        """The rows of files. `files`: path and bytes of each, in the order of their steps."""
        lines = JsonlReader()
        out: list[Record] = []
        for path, text in files:
            name = os.path.basename(path)
            row = _parsed(text) if is_row(text, name) else None
            named = family(name)
            if row is None or named is None:
                self.skipped["file without metrics of its step"] += 1
                self.skipped_at.setdefault("file without metrics of its step", name)
                continue
            row = row if first_of("step", row) is not None else {"step": named[1], **row}
            out += lines.feed((json.dumps(row) + "\n").encode())
        return [*out, *lines.finish()]

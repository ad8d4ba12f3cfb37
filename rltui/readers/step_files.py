"""JSON files that hold one step each, as some loops save them: `step_000010.json`, `step_10/metrics.json`, or the
scores of an evaluation: `eval/step_100.json`, `eval/step_100/gsm8k.json`, `eval/gsm8k/step_100.json`. One reader reads
all files of a run."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from msgspec import Struct

from rltui.lazy_regex import lazy
from rltui.readers.base import Record
from rltui.readers.jsonl import JsonlReader
from rltui.readers.keys import first_of, names, step_of
from rltui.readers.row_kinds import is_sample, measures, of_a_set, row_words, words_of
from rltui.readers.rows import number

FORMAT = "json-files"
FEWEST = 3
"""Fewer such files than this are results, not the steps of a run."""
_NAME = lazy(r"(.*?)(\d{1,15})", re.DOTALL)
_ENDING = ".json"
_RESULTS = ("results", "scores", "metrics")
"""Keys of what an evaluation measured, in files that also state how it was done."""
_OTHER_COUNTS = ("epoch", "episode", "checkpoint", "ckpt")
EVALUATIONS = frozenset(("eval", "evals", "evaluation", "evaluations", "val", "valid", "validation", "test", "dev"))
_HELD = frozenset((*_RESULTS, "result", "output", "outputs", "summary", "report", "reports", "history", "data"))
"""Words for what such a file or folder holds."""
_TOLD = frozenset(("metrics", "metric", "stats", "statistics", "scalars", "losses", "train", "training", "log", "logs"))
"""Words for the metrics of a step, in the name of a file in its folder."""
_LEVELS = 3
"""How many folders above a file may show that it holds an evaluation."""


class Family(Struct, frozen=True):
    """The family to which the file of one step belongs. `paths`: what the paths of the family have in common, without
    the number; `counted`: the words before the number; `folder`: the deepest folder that holds all files; `home`: the
    folder to which they belong; `of_set`: the evaluated data set, "" if the paths name none; `evaluates`: whether the
    paths show that the files hold evaluations."""

    paths: str
    number: int
    counted: str
    folder: str
    home: str
    of_set: str
    evaluates: bool


@lru_cache(maxsize=4096)
def family(path: str) -> Family | None:
    """The family of a file, by its path; None if the path names no number."""
    folder, name = os.path.split(path)
    stem, ending = os.path.splitext(name)
    if ending.lower() != _ENDING:
        return None
    above = os.path.basename(folder)
    evaluates = any(map(_is_of_evaluations, folder.split(os.sep)[-_LEVELS:]))
    own, above_it = _NAME.fullmatch(stem), _NAME.fullmatch(above)
    counts = own is not None and _counts_steps(own[1])
    if evaluates and not counts and above_it is not None and _counts_steps(above_it[1]):
        top = os.path.dirname(folder)
        of_set = stem if _is_set(stem) else ""
        return Family(
            os.path.join(top, above_it[1], "", name), int(above_it[2]), above_it[1], top, top, of_set, evaluates
        )
    if not counts and above_it is not None and _counts_steps(above_it[1]) and is_of_step(path):
        top = os.path.dirname(folder)
        return Family(os.path.join(top, above_it[1], "", name), int(above_it[2]), above_it[1], top, top, "", evaluates)
    if own is None:
        return None
    of_set = above if evaluates and counts and not _is_of_evaluations(above) and _is_set(above) else ""
    home = os.path.dirname(folder) if of_set else folder
    return Family(os.path.join(folder, own[1]), int(own[2]), own[1], folder, home, of_set, evaluates)


def _is_of_evaluations(folder: str) -> bool:
    """Whether a folder's name says only that evaluations are below it: `eval`, `val_results`."""
    words = {*words_of(folder)}
    return words <= EVALUATIONS | _HELD and not words.isdisjoint(EVALUATIONS)


def is_of_step(path: str) -> bool:
    """Whether a file in the folder of a step holds its metrics, by its name: `step_100/metrics.json`."""
    stem, ending = os.path.splitext(os.path.basename(path))
    said = {*words_of(stem)}
    return ending.lower() == _ENDING and said <= _HELD | _TOLD and not said.isdisjoint(_TOLD)


def _is_set(name: str) -> bool:
    """Whether a file or folder of an evaluation is named after a data set, and not after what it holds."""
    return not {*words_of(name)} <= EVALUATIONS | _HELD | row_words().measures


def are_enough(path: str, count: int, evaluates: bool) -> bool:
    """Whether `count` files of one family are enough to be steps. One evaluation is enough if its path shows that it is
    one."""
    named = family(path)
    return count >= FEWEST or (named is not None and (evaluates or named.evaluates) and _counts_steps(named.counted))


def is_row(text: bytes, path: str, evaluates: bool = False) -> bool:
    """Whether a file holds the metrics of the step in its path. The number in the path may also be a rank or a seed.
    `evaluates`: the path shows that the file holds an evaluation, whose scores may be named after the data sets."""
    named = family(path)
    row = _parsed(text) if named is not None else None
    if named is None or row is None:
        return False
    evaluates |= named.evaluates
    cells = {
        k: v for key, value in row.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])
    }
    numbers = [key for key, value in cells.items() if number(value) is not None]
    measured = numbers or _measured(row) is not row if evaluates else measures(numbers)
    if is_sample(row) or not measured:
        return False
    key = first_of("step", row)
    if key is not None:
        return step_of(row[key])[0] == named.number
    return _counts_steps(named.counted) or (evaluates and not named.counted)


def _counts_steps(stem: str) -> bool:
    return words_of(stem)[-1:] != [] and words_of(stem)[-1] in (*names("step"), *_OTHER_COUNTS)


def _parsed(text: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _measured(row: dict[str, Any]) -> dict[str, Any]:
    """What an evaluation measured, from a row that may also hold its settings."""
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
            named = family(path)
            row = _parsed(text) if named is not None and is_row(text, path, self._evaluates) else None
            if row is None or named is None:
                self.skipped["file without metrics of its step"] += 1
                self.skipped_at.setdefault("file without metrics of its step", os.path.basename(path))
                continue
            if self._evaluates:
                row = {key: value for key, value in row.items() if number(value) is not None} | _measured(row)
            if named.of_set:
                row = {of_a_set(key, named.of_set): value for key, value in row.items() if key not in names("step")}
            row = row if first_of("step", row) is not None else {"step": named.number, **row}
            out += lines.feed((json.dumps(row) + "\n").encode())
        return [*out, *lines.finish()]

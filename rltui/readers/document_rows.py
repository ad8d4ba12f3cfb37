"""The rows of a JSON document of any shape, and their records. A document may be a list of rows, columns, rows by step
or points by metric. Any of these may be beside a config or below other keys, and there may be one each for training and
evaluation, or one for each run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from math import isfinite, nan
from typing import Any

from msgspec import Struct, field

from rltui.readers.base import ConfigRecord, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.jsonl import JsonlReader
from rltui.readers.keys import first_of, names, step_of
from rltui.readers.row_kinds import (
    as_evaluation,
    is_measure,
    is_of_run,
    is_sample,
    measures,
    of_training,
    row_words,
    words_of,
)
from rltui.readers.rows import number
from rltui.readers.run_names import row_of_run, run_names
from rltui.text import clean

Row = dict[str, Any]
MAX_DEPTH = 4
OTHER_LENGTH = "column whose length differs from that of the others"
_SUMMARY = "wandb-summary.json"


class Held(Struct):
    """`rows`: in the document's order; `config`: the settings beside them; `runs`: the rows of each run, if there are
    several (`rows` then has all of them, or none); `left_out`: how often and where something could not be read."""

    rows: list[Row] = field(default_factory=list)
    config: dict[str, object] = field(default_factory=dict)
    runs: dict[str, Held] = field(default_factory=dict)
    left_out: dict[str, tuple[int, str]] = field(default_factory=dict)


def held(document: Any, name: str = "") -> Held | None:
    """What a document holds; None if it holds no metrics. `name`: the file's name, used if the content is
    ambiguous."""
    if name == _SUMMARY and isinstance(document, dict) and measures(document):
        return Held([document])
    found = _held(document, 0)
    if found is None and isinstance(document, list) and (points := _points(document)):
        key = name.partition(".")[0] or "value"
        found = Held([{"step": step, key: value} for step, value in points])
    return found


def _held(document: Any, depth: int) -> Held | None:
    if isinstance(document, list):
        return _headed(document) or _listed(_joined(document))
    if not isinstance(document, dict) or depth > MAX_DEPTH or not document:
        return None
    for shape in (_columns, _split, _pairs, _chunks, _by_step):
        found = shape(document)
        if found is not None:
            return found
    return _below(document, depth)


def _listed(items: list[Any]) -> Held | None:
    """A list of rows. If they have no step, all their keys must look like metrics."""
    rows = [item for item in items if isinstance(item, dict)]
    if 2 * len(rows) <= len(items) or all(map(is_sample, rows[:20])):
        return None
    looked_at = [_inner(row) for row in rows[:20]]
    if not any(
        first_of("step", row) is not None and _numbers(inner) for row, inner in zip(rows, looked_at, strict=False)
    ):
        if len(rows) < 2:
            return None
        texts = any(isinstance(v, str) for row in looked_at for k, v in row.items() if k not in names("time"))
        if texts or not any(len(_numbers(row)) > 1 and measures(row) for row in looked_at):
            return None
    left_out = (
        {} if len(rows) == len(items) else {"element that is not an object": (len(items) - len(rows), "document")}
    )
    return Held(rows, runs=_by_run(rows), left_out=left_out)


def _by_run(rows: list[Row]) -> dict[str, Held]:
    """The rows of each run, if all state their steps and a column names several runs side by side."""
    named = [row_of_run(row) for row in rows]
    stated = [one for one in named if one is not None and one.step is not None]
    runs = run_names(stated) if len(stated) == len(rows) else [""]
    return {} if runs == [""] else {run: Held([row for row in rows if is_of_run(row, run)]) for run in runs}


def _joined(items: list[Any]) -> list[Any]:
    """The rows of several lists of rows (one list for each launch) in one list; other items unchanged."""
    lists = bool(items) and all(isinstance(item, list) and item and isinstance(item[0], dict) for item in items)
    return [row for item in items for row in item] if lists else items


def _headed(items: list[Any]) -> Held | None:
    """The rows, if they are lists and the first list holds the names."""
    first = items[0] if items else None
    named = isinstance(first, list) and len(first) > 1 and all(isinstance(name, str) for name in first)
    return _split({"columns": first, "data": items[1:]}) if named else None


def _inner(row: Row) -> Row:
    return {
        k: v for key, value in row.items() for k, v in (value.items() if isinstance(value, dict) else [(key, value)])
    }


def _numbers(row: Mapping[str, object]) -> list[str]:
    return [key for key, value in row.items() if number(value) is not None]


def _columns(document: Row) -> Held | None:
    """Lists of equal length under the names of metrics."""
    columns = {str(k): v for k, v in document.items() if isinstance(v, list) and v and _is_column(v)}
    if not columns or any(isinstance(v, list) and k in names("text") for k, v in document.items()):
        return None
    step = _step_column(columns)
    if step is None and not measures(columns):
        return None
    lengths = Counter(len(column) for column in columns.values())
    length = len(columns[step]) if step is not None else max(lengths, key=lambda n: (lengths[n], n))
    fitting = {k: v for k, v in columns.items() if len(v) == length}
    if step is not None and not measures(k for k in fitting if k != step):
        return _columns({k: v for k, v in document.items() if k != step})  # without steps: the rows are counted
    if length < 2 or not measures(fitting):
        return None
    if step is not None and first_of("step", fitting) is None:
        fitting = {"step": fitting.pop(step), **fitting}
    rows = [dict(zip(fitting, cells, strict=True)) for cells in zip(*fitting.values(), strict=True)]
    other = [k for k in columns if k not in fitting and k != step]
    left_out = {OTHER_LENGTH: (len(other), other[0])} if other else {}
    return Held(rows, _rest(document, columns), left_out=left_out)


def evened(document: Any) -> Any:
    """A document that is cut off within its last column, with all columns brought to one length: that of the step
    column if it is the last, else that of the other columns."""
    if isinstance(document, dict):
        columns = {str(key): value for key, value in document.items() if isinstance(value, list)}
        if len(columns) > 1 and (name := list(columns)[-1]) == str(list(document)[-1]):
            last, length = columns.pop(name), max(map(len, columns.values()))
            if _step_column({name: last}) is None:
                last += [None] * (length - len(last))
            else:
                for column in columns.values():
                    del column[len(last) :]
        for value in document.values():
            evened(value)
    return document


def begins_columns(document: Any) -> bool:
    """Whether a document that is cut off begins with a column of steps: columns of metrics may follow."""
    if not isinstance(document, dict):
        return False
    columns = {str(k): v for k, v in document.items() if isinstance(v, list) and len(v) > 1 and _is_column(v)}
    step = _step_column(columns)
    return step is not None and all(a is not None and b is not None and a < b for a, b in pairwise(columns[step]))


def _is_column(values: list[Any]) -> bool:
    return all(value is None or isinstance(value, bool) or number(value) is not None for value in values)


def _step_column(columns: Mapping[str, list[Any]]) -> str | None:
    """The column of steps, found by its name: `step`, `steps` or another such name."""
    known = first_of("step", columns)
    plural = next((key for key in columns if key.lower().rstrip("s") in names("step")), None)
    return known or plural


def _pairs(document: Row) -> Held | None:
    """Points (step and value) under the names of metrics."""
    by_step: dict[int, Row] = {}
    used = {}
    for key, values in document.items():
        if isinstance(values, dict) and values and all(str(step).isdecimal() for step in values):
            values = [[step, value] for step, value in values.items()]
        values = _drawn(values)
        points = _points(values) if isinstance(values, list) else None
        if points and is_measure(str(key)):
            used[key] = values
            for step, value in points:
                by_step.setdefault(step, {"step": step})[str(key)] = value
    return Held([by_step[step] for step in sorted(by_step)], _rest(document, used)) if by_step else None


_ACROSS, _UP = ("x", "step", "steps", "iteration", "iterations"), ("y", "value", "values")


def _drawn(values: Any) -> Any:
    """The points of a curve saved for plotting, `{"x": [1, 2], "y": [0.5, 0.6]}`; other values unchanged."""
    if not isinstance(values, dict):
        return values
    x, y = (next((values[key] for key in keys if isinstance(values.get(key), list)), None) for keys in (_ACROSS, _UP))
    return [list(point) for point in zip(x, y, strict=True)] if x and y and len(x) == len(y) else values


def _split(document: Row) -> Held | None:
    """Names of columns, and rows as lists: pandas' `orient="split"`."""
    names_, data = document.get("columns"), document.get("data") or document.get("rows")
    if not isinstance(names_, list) or not isinstance(data, list) or not all(isinstance(name, str) for name in names_):
        return None
    rows = [dict(zip(names_, row, strict=True)) for row in data if isinstance(row, list) and len(row) == len(names_)]
    found = _listed(rows)
    if found is None:
        return None
    used = {key: document[key] for key in ("columns", "data", "rows", "index") if key in document}
    return Held(found.rows, _rest(document, used))


def _chunks(document: Row) -> Held | None:
    """Columns in pieces, one piece for each epoch."""
    parts = {
        key: part
        for key, value in document.items()
        if isinstance(value, dict) and _stands_for_a_step(str(key)) and (part := _columns(value)) is not None
    }
    if len(parts) < 2 or not all("".join(words_of(str(key))[-1:]).isdecimal() for key in parts):
        return None
    return Held([row for part in parts.values() for row in part.rows], _rest(document, parts))


def _points(values: list[Any]) -> list[tuple[int, Any]] | None:
    """Points given as pairs of step and value, as TensorBoard's triples of time, step and value, or as objects with
    step and value; None for anything else."""
    out = []
    for item in values:
        if isinstance(item, dict) and (key := first_of("step", item)) is not None:
            named = next((k for k in row_words().values if k in item), None)
            if named is None:
                return None
            item = [item[key], item[named]]
        if not isinstance(item, list) or len(item) not in (2, 3) or any(isinstance(part, list | dict) for part in item):
            return None
        step, value = item[-2:]
        whole = number(step)
        if whole is None or whole != whole // 1 or whole < 0 or (value is not None and number(value) is None):
            return None
        out.append((int(whole), value))
    return out if len(out) > 1 else None


def _by_step(document: Row) -> Held | None:
    """Rows under their steps: `{"1": {...}, "2": {...}}`, `{"step_1": {...}}`."""
    rows, used = [], {}
    for key, row in document.items():
        digits = "".join(words_of(str(key))[-1:])
        if isinstance(row, dict) and digits.isdecimal() and len(digits) < 16 and _stands_for_a_step(str(key)):
            used[key] = row
            rows.append({"step": int(digits), **row} if first_of("step", row) is None else row)
    if len(rows) < 2 or not any(measures(_inner(row)) and not is_sample(row) for row in rows[:20]):
        return None
    return Held(rows, _rest(document, used))


def _stands_for_a_step(key: str) -> bool:
    words = words_of(key)
    return len(words) == 1 or (len(words) == 2 and words[0] in (*names("step"), "epoch", "episode"))


def _below(document: Row, depth: int) -> Held | None:
    """The rows under the keys of an object: one table, one each for training and evaluation, or one for each run."""
    parts = {str(key): part for key, value in document.items() if (part := _held(value, depth + 1)) is not None}
    if not parts:
        return None
    if any(part.runs for part in parts.values()):
        found = next(part for part in parts.values() if part.runs)
        for run in (found, *found.runs.values()):
            run.config = {**_rest(document, parts), **run.config}
        return found
    config = _rest(document, parts)
    kinds = {key: _kind(key) for key in parts}
    if len(parts) > 1 and not any(kinds.values()) and len(parts) > len(document) - len(parts) - 2:
        for part in parts.values():
            part.config = {**config, **part.config}
        return Held(runs=parts, config=config)
    rows: list[Row] = []
    left_out: dict[str, tuple[int, str]] = {}
    for key, part in parts.items():
        rows += [as_evaluation(row, kinds[key]) for row in part.rows] if kinds[key] in ("eval", "test") else part.rows
        config.update(part.config)
        left_out.update(part.left_out)
    if len(parts) > 1 and all(_rises(part.rows) for part in parts.values()):
        rows.sort(key=_step_of)
    return Held(rows, config, left_out=left_out)


def _step_of(row: Row) -> float:
    """The step that a row states, NaN if it states none."""
    key = first_of("step", row)
    step = None if key is None else number(row[key])
    return nan if step is None else step


def _rises(rows: list[Row]) -> bool:
    """Whether all rows state their steps, and the steps never fall."""
    steps = [_step_of(row) for row in rows]
    return all(a <= b for a, b in pairwise(steps)) and steps[0] == steps[0]


def _kind(key: str) -> str:
    """`train`, `eval` or `test` if a key has a word for it; `part` if it has a word for a part of a document; empty if
    it may name a run."""
    known, said = row_words().words, set(words_of(key))
    for kind in ("eval", "test", "train"):
        if said & set(known[kind]):
            return kind
    return "part" if said & row_words().parts or said & row_words().histories else ""


def _rest(document: Row, used: Mapping[Any, object]) -> dict[str, object]:
    """The config beside the rows: single values, and the content of an object that is called config."""
    out: dict[str, object] = {}
    for key, value in document.items():
        if str(key) in used or key in used or (isinstance(value, list) and len(value) > 20):
            continue
        out.update(value if key in names("config") and isinstance(value, dict) else {str(key): value})
    return out


END = "train_runtime"
"""A key of the last entry that the HF Trainer logs, which is a summary and not a row."""


class Read(Struct):
    """`skipped` and `skipped_at`: see `Reader`."""

    records: list[Record] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_at: dict[str, str] = field(default_factory=dict)


def records(found: Held, origin: str) -> Read:
    """The records of a document. Each row is read as a line of JSON."""
    out = Read()
    for reason, (count, where) in found.left_out.items():
        out.skipped[reason] += count
        out.skipped_at.setdefault(reason, where)
    if found.config:
        out.records.append(ConfigRecord(flatten(found.config), origin))
    lines = JsonlReader()
    out.records += lines.feed("".join(json.dumps(row) + "\n" for row in found.rows if END not in row).encode())
    out.records += lines.finish()
    out.records += [end_of_training(row) for row in found.rows if END in row]
    for reason, count in lines.skipped.items():
        out.skipped[reason] += count
        out.skipped_at.setdefault(reason, lines.skipped_at[reason].replace("line", "element"))
    return out


def end_of_training(row: Mapping[str, object]) -> Note:
    """The note of the HF Trainer's summary."""
    key = first_of("step", row)
    cells = ((name, number(raw)) for name, raw in row.items())
    text = ", ".join(f"{name} {x:.6g}" for name, x in cells if x is not None and isfinite(x))
    return Note("end", clean(text, 500), 0, None if key is None else step_of(row[key])[0])


def training_steps(rows: Iterable[Mapping[str, object]]) -> list[int]:
    """The steps of the training rows in the HF Trainer's history."""
    trains = (row for row in rows if END not in row and of_training(row))
    stated = (step_of(row[key])[0] for row in trains if (key := first_of("step", row)) is not None)
    return [step for step in stated if step is not None]

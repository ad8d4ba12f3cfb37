"""The records of rows that a document or a printed list holds: one home for both."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite

from rltui.readers.base import ConfigRecord, Note, Record
from rltui.readers.config_file import flatten
from rltui.readers.document_rows import Held
from rltui.readers.jsonl import JsonlReader
from rltui.readers.keys import first_of, step_of
from rltui.readers.rows import number
from rltui.text import clean

END = "train_runtime"
"""A key of the last row that the HF Trainer logs: a summary, no row."""


@dataclass(slots=True)
class Read:
    """`skipped` and `skipped_at` as those of a reader."""

    records: list[Record] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    skipped_at: dict[str, str] = field(default_factory=dict)


def records(found: Held, origin: str) -> Read:
    """What is held, each row read as a line of JSON."""
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
    """What the HF Trainer's last row says."""
    key = first_of("step", row)
    cells = ((name, number(raw)) for name, raw in row.items())
    text = ", ".join(f"{name} {x:.6g}" for name, x in cells if x is not None and isfinite(x))
    return Note("end", clean(text, 500), 0, None if key is None else step_of(row[key])[0])


def training_steps(rows: Iterable[Mapping[str, object]]) -> list[int]:
    """The steps that rows of training state, in the HF Trainer's history."""
    trains = (row for row in rows if END not in row and not any(key.startswith("eval_") for key in row))
    stated = (step_of(row[key])[0] for row in trains if (key := first_of("step", row)) is not None)
    return [step for step in stated if step is not None]

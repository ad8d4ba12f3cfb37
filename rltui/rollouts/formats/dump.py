"""A dump file by its name: which reader reads it, of which step and split it is."""

from __future__ import annotations

import os
import re
from typing import Literal

from rltui.rollouts.formats import json_lines, printed, tables
from rltui.rollouts.formats.base import Block, Split
from rltui.rollouts.formats.fields import table

Kind = Literal["parquet", "jsonl", "json", "csv", "table", "log"]
KINDS: tuple[Kind, ...] = ("parquet", "jsonl", "json", "csv", "table", "log")
"""In the order in which they are believed where several hold the same step."""

_STEPS = (
    re.compile(r"(?:^|[^a-z])(?:global_?)?(?:step|iteration|iter)[_=-]?(\d{1,12})(?!\d)", re.I),
    re.compile(
        r"(?:^|[_-])(?:completion|rollout|generation|sample|gen|traj|episode|response|group|output|dump)s?[_-](\d{1,12})\.(?:parquet|jsonl?|[ct]sv)$",
        re.I,
    ),
    re.compile(r"^(\d{1,12})\.(?:jsonl|parquet|[ct]sv)$"),
    re.compile(r"^(\d{1,12})$"),
)


def kind(path: str) -> Kind:
    """How a file holds its samples. What is no dump by its name is a log."""
    name = os.path.basename(path).lower()
    if name.endswith(".table.json"):
        return "table"
    extension = name.rpartition(".")[2]
    if extension == "tsv":
        return "csv"
    return extension if extension in ("parquet", "jsonl", "json", "csv") else "log"  # type: ignore[return-value]


def step_of(path: str, root: str) -> int | None:
    """The step that a dump's name or folder states. A W&B table states W&B's own step, which need not be the
    trainer's."""
    if kind(path) in ("table", "log"):
        return None
    parts = os.path.relpath(path, root).split(os.sep)
    folders = parts[-2::-1]
    numbered_folder = bool(folders) and folders[0].isdecimal()
    for part in [*folders, parts[-1]] if numbered_folder else [parts[-1], *folders]:
        for pattern in _STEPS:
            if match := pattern.search(part):
                return int(match[1])
    return None


def split_of(path: str, root: str) -> Split:
    """Whether a dump is of validation, by the words of its path."""
    words = set(re.split(r"[^a-z]+", os.path.relpath(path, root).lower()))
    return "validation" if words & table().validation_folders else "train"


def read(path: str, data: bytes, *, cut: bool = False) -> Block:
    """The samples of a file's bytes. Never raises: what cannot be read is an empty block with a note. `cut`: there is
    more in the file than `data`."""
    found = kind(path)
    note = "only its beginning was read" if cut else ""
    try:
        if found == "parquet":
            return tables.read_parquet(data)
        if found == "table":
            return tables.read_wandb(data)
        if found == "csv":
            block = tables.read_csv(data[: data.rfind(b"\n") + 1] if cut else data)
            block.note = note
            return block
        if found == "json":
            return json_lines.read_list(data)
        block = printed.read(data) if found == "log" else json_lines.read(data, complete=not cut)
    except (ValueError, RecursionError) as error:
        why = "larger than what is read of one dump" if cut else str(error)
        return Block([], lambda _: [], skipped=1, note=why)
    block.note = note
    return block


def read_end(path: str, data: bytes) -> Block:
    """The samples of the end of a file of lines, of which the first may be cut."""
    data = data[data.find(b"\n") + 1 :]  # the same name, so that not both are kept
    block = read(path, data)
    block.note = block.note or "only its end was read"
    return block


def count(path: str, data: bytes) -> int | None:
    """How many samples a file holds at a glance, None where only reading it would tell."""
    found = kind(path)
    if found == "jsonl":
        return json_lines.count(data)
    return tables.count_parquet(data) if found == "parquet" else None

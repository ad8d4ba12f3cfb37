"""What the name of a dump file shows: which reader reads it, and to which step and split it belongs."""

from __future__ import annotations

import os
import re
from typing import Literal

from rltui.rollouts.formats import json_lines, printed, tables
from rltui.rollouts.formats.base import Block, Split
from rltui.rollouts.formats.fields import table

Kind = Literal["parquet", "jsonl", "json", "csv", "table", "log"]
KINDS: tuple[Kind, ...] = ("parquet", "jsonl", "json", "csv", "table", "log")
"""The most trusted kind first, for steps that several kinds of files hold."""

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
    """The format of the samples in a file. A file without the name of a dump is a log."""
    name = os.path.basename(path).lower()
    if name.endswith(".table.json"):
        return "table"
    extension = name.rpartition(".")[2]
    if extension == "tsv":
        return "csv"
    return extension if extension in ("parquet", "jsonl", "json", "csv") else "log"  # type: ignore[return-value]


def step_of(path: str, root: str) -> int | None:
    """The step that a dump's name or folder states; else None. W&B tables give None: they state W&B's own step, which
    may differ from the trainer's."""
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
    """Train or validation, from the words in a dump's path."""
    words = set(re.split(r"[^a-z]+", os.path.relpath(path, root).lower()))
    return "validation" if words & table().validation_folders else "train"


def read(path: str, data: bytes, *, cut: bool = False) -> Block:
    """The samples in a file's bytes. Never raises: if they cannot be read, the block is empty and has a note. `cut`:
    `data` is only the file's beginning."""
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
        why = "larger than the part of a dump that is read" if cut else str(error)
        return Block([], lambda _: [], skipped=1, note=why)
    block.note = note
    return block


def read_end(path: str, data: bytes) -> Block:
    """The samples at the end of a file of lines. The first line may be incomplete and is dropped."""
    data = data[data.find(b"\n") + 1 :]  # reusing the name keeps memory from holding both
    block = read(path, data)
    block.note = block.note or "only its end was read"
    return block


def count(path: str, data: bytes) -> int | None:
    """How many samples a file holds, if they can be counted quickly; None if the file must be read for that."""
    found = kind(path)
    if found == "jsonl":
        return json_lines.count(data)
    return tables.count_parquet(data) if found == "parquet" else None

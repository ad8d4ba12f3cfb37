"""Checkpoints, on disk or named by a log. They are recognised by the names of their directories."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from statistics import median

from msgspec import Struct

from rltui.agent.tree import is_of_steps
from rltui.frameworks.load import dialect, dialect_names

_WEIGHTS = re.compile(r"\.(?:safetensors|bin|pt|pth|distcp|ckpt|npz|gguf)$")
_NOT_WEIGHTS = re.compile(r"(?:^|/)(?:training_args|rng_state[^/]*|scheduler|data|tokenizer[^/]*)\.(?:bin|pt|pth)$")
_PATH = re.compile(r"[^\s'\"`,;:()]*/[^\s'\"`,;:()]*")
_IN_FOLDER = (
    r"(?:^|/)(?:ckpts?|checkpoints?|saves?|saved|weights)/(?:(?:[\w.\-]*[-_=.])?(?:global[-_]?)?"
    r"(?:step|iter|iteration|update|ckpt|checkpoint|model|policy|actor)s?[-_=]?)?(\d{1,7})"
)
_HOME_MADE = re.compile(_IN_FOLDER + "$")
"""How home-made loops name them: `ckpt/step-20`, `checkpoints/iteration_20`, `ckpts/20`, `ckpt/ckpt-20`."""
_ONE_FILE = re.compile(_IN_FOLDER + r"\.(?:safetensors|pt|pth|bin|ckpt|npz)$")
"""A checkpoint that is a single file: `ckpts/step_000120.pt`."""
GB = 1e9
_MUCH_SMALLER = 0.5
"""A checkpoint below this share of its siblings' median size was cut off while it was written."""


class Checkpoint(Struct, frozen=True):
    """A saved state. `complete` is None if that is unknown (this copy has no weights). `size_gb` is None if none of its
    files was seen."""

    step: int
    path: str
    complete: bool | None
    time: float | None = None
    size_gb: float | None = None


@cache
def _layouts() -> tuple[tuple[re.Pattern[str], ...], tuple[re.Pattern[str], ...]]:
    rules = [dialect(name).checkpoints for name in dialect_names()]
    whole = dict.fromkeys(pattern for rule in rules for pattern in rule.dirs)
    partial = dict.fromkeys(pattern for rule in rules for pattern in rule.partial)
    return (*map(re.compile, whole), _HOME_MADE), tuple(map(re.compile, partial))


def step_of(path: str) -> int | None:
    """The step in the name of a checkpoint directory; None for any other directory."""
    whole, partial = _layouts()
    clean_path = path.rstrip("/")
    if any(pattern.search(clean_path) for pattern in partial) or is_of_steps(_parent(clean_path)):
        return None
    for pattern in whole:
        match = pattern.search(clean_path)
        if match:
            return int(match[1])
    return None


def named_in(text: str) -> tuple[int, str] | None:
    """The step and directory of the checkpoint that a log line names, directly or by a file in it."""
    for word in _PATH.findall(text):
        path = word.rstrip(".")
        while path:
            step = step_of(path) if (one := _ONE_FILE.search(path)) is None else int(one[1])
            if step is not None:
                return step, path
            path = _parent(path)
    return None


def find(dirs: Iterable[str], files: Iterable[tuple[str, int]]) -> list[Checkpoint]:
    """The checkpoints among directories, and among the files directly in them, one for each step. `files`: (path, size
    in bytes) from the same listing.

    A checkpoint is complete if it holds weights and every file that all its siblings hold, and is not much smaller than
    they are. If neither it nor a sibling holds weights (only the logs were copied), completeness is unknown: None.
    """
    dirs, files = {path.rstrip("/") for path in dirs}, list(files)
    steps = {path: step for path in dirs if (step := step_of(path)) is not None}
    contents: dict[str, dict[str, int]] = {path: {} for path in steps}
    for path, size in files:
        owner = _owner(path, contents)
        if owner is not None:
            contents[owner][path[len(owner) + 1 :]] = size
    siblings: dict[str, list[str]] = defaultdict(list)
    for path in steps:
        siblings[_parent(path)].append(path)
    best = _single_files([(path, size) for path, size in files if _parent(path) in dirs and _parent(path) not in steps])
    for path in sorted(steps, key=lambda p: (steps[p], "/critic/" in p, p)):
        complete = _complete(path, [p for p in siblings[_parent(path)] if p != path], contents)
        size_gb = sum(contents[path].values()) / GB or None
        found = Checkpoint(steps[path], path, complete, size_gb=size_gb)
        kept = best.get(found.step)
        if kept is None or (kept.complete is not True and complete is True):
            best[found.step] = found
    return list(best.values())


def _single_files(files: Iterable[tuple[str, int]]) -> dict[int, Checkpoint]:
    """The checkpoints that are single files. One is complete if its file is not much smaller than the others."""
    found = [(int(one[1]), path, size) for path, size in files if (one := _ONE_FILE.search(path)) is not None]
    if not found:
        return {}
    usual = median(size for _, _, size in found)
    return {
        step: Checkpoint(step, path, size >= max(1, _MUCH_SMALLER * usual), size_gb=size / GB or None)
        for step, path, size in sorted(found)
    }


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _owner(path: str, contents: dict[str, dict[str, int]]) -> str | None:
    parent = _parent(path)
    while parent:
        if parent in contents:
            return parent
        parent = _parent(parent)
    return None


def _holds_weights(inside: dict[str, int]) -> bool:
    return any(size > 0 and _WEIGHTS.search(name) and not _NOT_WEIGHTS.search(name) for name, size in inside.items())


def _complete(path: str, others: list[str], contents: dict[str, dict[str, int]]) -> bool | None:
    mine = contents[path]
    peers = [contents[other] for other in others if _holds_weights(contents[other])]
    if not _holds_weights(mine):
        return False if peers else None
    if not peers:
        return True
    common = set.intersection(*(set(peer) for peer in peers)) if len(peers) > 1 else set()
    if not common <= set(mine):
        return False
    return sum(mine.values()) >= _MUCH_SMALLER * median(sum(peer.values()) for peer in peers)

"""What is kept of every rollout of a step while its text stays in the dump: numbers, and what its text is known by."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from rltui.readers.rollouts.base import Block, Raw

_FORMAT_NAME = re.compile(r"format|valid", re.I)


class Numbers(NamedTuple):
    """One rollout, and where its text is: place `at` of its block."""

    block: Block
    at: int
    reward: float | None
    advantage: float | None
    length: int | None
    truncated: bool | None
    group: str | None
    prompt: str | None  # its key
    chars: int | None  # None: the dump holds no text
    empty: bool
    text_hash: int
    format_failed: bool | None


class Numbering:
    """Makes the numbers of samples of one step. `weights`: of the reward functions, as the config has them."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._keys: dict[int, str] = {}  # of a prompt's hash, its key

    def of(self, block: Block, at: int, raw: Raw) -> Numbers:
        completion, prompt, failed = raw.completion, None, None
        if raw.prompt is not None:
            known = hash(raw.prompt)
            prompt = self._keys.get(known)
            if prompt is None:
                prompt = self._keys[known] = prompt_key(raw.prompt)
        for name, value in raw.components.items():
            if _is_about_format(name):
                failed = value <= 0 or bool(failed)
        return Numbers(
            block,
            at,
            raw.reward if raw.reward is not None else self._total(raw),
            raw.advantage,
            raw.length,
            raw.truncated,
            prompt if raw.group is None else raw.group,
            prompt,
            None if completion is None else len(completion),
            completion is not None and (not completion or completion.isspace()),
            hash(completion),
            failed,
        )

    def _total(self, raw: Raw) -> float | None:
        values = raw.components.values()
        if not values:
            return None
        if len(self._weights) != len(values):
            return sum(values)
        return sum(weight * value for weight, value in zip(self._weights, values, strict=True))


@lru_cache(maxsize=1024)
def _is_about_format(component: str) -> bool:
    return _FORMAT_NAME.search(component) is not None


def prompt_key(prompt: str) -> str:
    """A short name of a prompt that is the same in every step."""
    return blake2b(prompt.encode("utf-8", "replace"), digest_size=6).hexdigest()

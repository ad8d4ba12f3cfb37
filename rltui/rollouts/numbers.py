"""What is kept of each rollout of a step while its text stays in the dump: numbers and hashes of its texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from statistics import fmean
from typing import NamedTuple, Protocol

from rltui.rollouts.formats.base import Block, Raw


class SampleNumbers(Protocol):
    """The samples of a step (`StepRollouts`), looked up by their places."""

    def rewards_of(self, places: Sequence[int]) -> tuple[float, ...]: ...

    def truncated(self, place: int) -> bool | None: ...

    def length(self, place: int) -> int | None: ...

    def extreme(self, places: Sequence[int], *, highest: bool, default: int) -> int: ...


class Group:
    """The samples of one prompt within a step, as places in the step. `zero_variance`: None for a group of one."""

    __slots__ = ("_step", "key", "members", "rewards", "spread", "zero_variance")

    def __init__(self, step: SampleNumbers, key: str, members: tuple[int, ...]) -> None:
        self._step = step
        self.key = key
        self.members = members
        self.rewards = step.rewards_of(members)
        self.spread = max(self.rewards) - min(self.rewards) if self.rewards else None  # highest minus lowest reward
        self.zero_variance = None if self.spread is None or len(self.rewards) < 2 else self.spread < 1e-9

    @property
    def mean(self) -> float | None:
        return fmean(self.rewards) if self.rewards else None

    @property
    def truncated(self) -> int | None:
        """How many are truncated; None if the dump does not show it for any of them."""
        cut = [found for place in self.members if (found := self._step.truncated(place)) is not None]
        return sum(cut) if cut else None

    @property
    def length_mean(self) -> float | None:
        """The mean length in tokens; None if no length is known."""
        lengths = [length for place in self.members if (length := self._step.length(place)) is not None]
        return fmean(lengths) if lengths else None

    @property
    def best(self) -> int:
        """The place of the sample with the highest reward; of equal ones the shortest."""
        return self._step.extreme(self.members, highest=True, default=self.members[0])

    @property
    def worst(self) -> int:
        """The place of the sample with the lowest reward; of equal ones the longest."""
        return self._step.extreme(self.members, highest=False, default=self.members[0])


_FORMAT_NAME = re.compile(r"format|valid", re.I)


class Numbers(NamedTuple):
    """The numbers of one rollout. Its text is at place `at` in its block."""

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
    """Computes the numbers of one step's samples. `weights`: the weights of the reward functions, from the config."""

    def __init__(self, weights: Sequence[float]) -> None:
        self._weights = tuple(weights)
        self._keys: dict[int, str] = {}  # hash of a prompt -> its key

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
            raw.reward if raw.reward is not None or raw.no_number else self._total(raw),
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

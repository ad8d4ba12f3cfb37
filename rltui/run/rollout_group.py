"""The samples of one prompt within a step."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Protocol


class Samples(Protocol):
    """The samples of a step (`StepRollouts`), by their places."""

    def rewards_of(self, places: Sequence[int]) -> tuple[float, ...]: ...

    def truncated(self, place: int) -> bool | None: ...

    def length(self, place: int) -> int | None: ...

    def extreme(self, places: Sequence[int], *, highest: bool, default: int) -> int: ...


class Group:
    """Samples of one prompt within a step, as places in the step. `zero_variance` is None for a group of one."""

    __slots__ = ("_step", "key", "members", "rewards", "spread", "zero_variance")

    def __init__(self, step: Samples, key: str, members: tuple[int, ...]) -> None:
        self._step = step
        self.key = key
        self.members = members
        self.rewards = step.rewards_of(members)
        self.spread = max(self.rewards) - min(self.rewards) if self.rewards else None  # highest less lowest
        self.zero_variance = None if self.spread is None or len(self.rewards) < 2 else self.spread < 1e-9

    @property
    def mean(self) -> float | None:
        return fmean(self.rewards) if self.rewards else None

    @property
    def truncated(self) -> int | None:
        """How many are cut at the limit; None where nothing tells of any."""
        cut = [found for place in self.members if (found := self._step.truncated(place)) is not None]
        return sum(cut) if cut else None

    @property
    def length_mean(self) -> float | None:
        """In tokens."""
        lengths = [length for place in self.members if (length := self._step.length(place)) is not None]
        return fmean(lengths) if lengths else None

    @property
    def best(self) -> int:
        """The place of the highest reward; of equals the shortest."""
        return self._step.extreme(self.members, highest=True, default=self.members[0])

    @property
    def worst(self) -> int:
        """The place of the lowest reward; of equals the longest."""
        return self._step.extreme(self.members, highest=False, default=self.members[0])

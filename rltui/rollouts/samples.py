"""The numbers of the rollouts that a diagnosis may look at: of a few steps, which are a function of the steps there
are, so that a run that was followed and one that is read at once are judged alike."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.rollouts.statistics import SampleStats

EARLIER = 4
"""At most one more than so many earlier dumps are read, evenly spread, the first among them..."""
NEWEST = 3
"""...and so many of the newest: a level counts once it has held for two or three dumps."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What is known of a run's rollouts. `steps` are those with a dump, ascending; `stats` those that were read.

    `nameless` are samples that name no step: they tell of the whole run only. `pending`: still being read. `missing`
    says what was looked for in vain, `enable` how this framework is told to keep its rollouts.
    """

    steps: tuple[int, ...] = ()
    stats: Mapping[int, SampleStats] = field(default_factory=dict)
    nameless: SampleStats | None = None
    pending: bool = True
    missing: str = ""
    enable: str = ""

    def until(self, step: int) -> tuple[SampleStats, ...]:
        """The dumps to judge by at a step, oldest first: nothing after it."""
        return tuple(self.stats[one] for one in chosen(self.steps, step) if one in self.stats)


def chosen(steps: Sequence[int], until: int) -> tuple[int, ...]:
    """Of ascending steps the ones to read at a step: an even spread from the first on, and the newest.

    The spread is over places that are multiples of a power of two: of those that were read while a run grew, none has
    to be read again.
    """
    count = bisect_right(steps, until)
    stride = 1
    while (count - 1) // stride > EARLIER:
        stride *= 2
    places = {*range(0, count, stride), *range(max(0, count - NEWEST), count)}
    return tuple(steps[place] for place in sorted(places))

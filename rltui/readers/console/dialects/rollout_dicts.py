"""slime: several dicts for one rollout, each with a number: `rollout 12: {...}`, `perf 12: {...}` twice,
`eval 12: {...}`, and `step 24: {...}` for each optimizer step on it. They make one row, that of the rollout.

If a rollout is used in several optimizer steps, the row holds the mean of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, field

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import Step
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.lead import bare

_LINE = lazy(r"(rollout|perf|passrate|multi_turn|eval|step|critic-step) (\d{1,15}): (\{['\"].*\})\s*$")


class _Trained(Struct):
    """The optimizer steps on one rollout so far."""

    rollout: int
    sums: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, cells: Mapping[str, float]) -> None:
        for key, value in cells.items():
            total, count = self.sums.get(key, (0.0, 0))
            self.sums[key] = (total + value, count + 1)

    def step(self) -> Step:
        return Step(self.rollout, {key: total / count for key, (total, count) in self.sums.items()})


class RolloutDicts:
    """The trainer names a rollout before its optimizer steps. Meanwhile another process may print about the next
    one."""

    marks = ("rollout ", "perf ", "passrate ", "multi_turn ", "eval ", "step ")
    late = False
    is_open = False

    def __init__(self) -> None:
        self._trained: dict[str, _Trained] = {}  # by Ray's prefix

    def line(self, prefix: str, message: str) -> list[Step] | None:
        found = _LINE.match(bare(message))
        if found is None:
            return None
        cells = dict_cells(found[3])
        if not cells:
            return None
        word, number = found[1], int(found[2])
        held = self._trained.get(prefix)
        if word in ("step", "critic-step"):
            if held is None:
                return [Step(number, cells)]  # an optimizer step of an unknown rollout
            held.add(cells)
            return []
        done = []
        if held is not None and held.sums and (word == "rollout" or number >= held.rollout):
            done = [held.step()]
            self._trained[prefix] = _Trained(held.rollout)
        if word == "rollout" and len(self._trained) < 64:
            self._trained[prefix] = _Trained(number)
        return [*done, Step(number, cells)]

    def close(self) -> list[Step]:
        done = [held.step() for held in self._trained.values() if held.sums]
        for held in self._trained.values():
            held.sums = {}
        return done

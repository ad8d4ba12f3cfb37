"""A run over arrays, with the real history under it and nothing read from files."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

import numpy as np

from rltui.readers.base import Rows
from rltui.run.history import Part, Series
from rltui.run.run import ConfigValue, Run, RunState


class FakeRun(Run):
    """Columns are canonical names. NaN in a column is a logged NaN, None a missing cell."""

    def __init__(
        self,
        columns: Mapping[str, Sequence[float | None] | np.ndarray],
        steps: Sequence[int] | None = None,
        config: Mapping[str, object] | None = None,
        state: RunState | None = None,
        planned: int | None = None,
        framework: str = "trl",
        algorithm: str = "grpo",
        times: Sequence[float] | None = None,
    ) -> None:
        super().__init__("fake", "fake")
        self.framework, self.algorithm, self.planned_steps = framework, algorithm, planned
        self.dialect = framework
        self._values = {k: ConfigValue(v, k, "test") for k, v in (config or {}).items()}
        self._given_state = state or RunState("running", "rows arrive")
        self.part = Part("fake", (0, 0.0))
        self.history.add_part(self.part)
        self.columns = {k: v.copy() if isinstance(v, np.ndarray) else list(v) for k, v in columns.items()}
        n = len(next(iter(self.columns.values()), []))
        self.all_steps = list(steps) if steps is not None else list(range(1, n + 1))
        self.times = list(times) if times is not None else [np.nan] * len(self.all_steps)
        self.taken = 0

    def grow(self, n: int | None = None) -> FakeRun:
        """Takes rows up to number `n` (default: all) into the history."""
        end = len(self.all_steps) if n is None else n
        a, b = self.taken, end
        rows = Rows(array("q", self.all_steps[a:b]), array("d", self.times[a:b]))
        for key, values in self.columns.items():
            part = np.array(values[a:b], dtype=float)  # None is NaN there
            gone = np.flatnonzero(~np.isfinite(part)).tolist()
            bad = [i for i in gone if values[a + i] is not None]
            if len(gone) == len(part) and not bad:
                continue
            part[gone] = np.nan
            rows.values[key] = array("d", part.tobytes())
            if bad:
                rows.nonfinite[key] = bad
        self.history.add(self.part, rows)
        self.taken = end
        return self

    @property
    def config(self) -> dict[str, ConfigValue]:
        return self._values

    @property
    def raw_config(self) -> dict[str, ConfigValue]:
        return self._values

    def series(self, name: str) -> Series | None:
        return self.history.table.series(name)

    def family(self, canonical: str) -> dict[str, Series]:
        table = self.history.table
        keys = [k for k in table.columns if k.startswith(canonical + ":")]
        return {k.split(":", 1)[1]: s for k in keys if (s := table.series(k)) is not None}

    def state(self, now: float | None = None) -> RunState:
        return self._given_state

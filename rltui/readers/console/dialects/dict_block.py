"""A pretty-printed dict below its step: SkyRL's `Step 12: `, then `{'reward/avg_raw_reward': '0.5312',` on the
following lines, with floats as text."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import MAX_CELLS, MAX_LINES, Step
from rltui.readers.console.dict_numbers import dict_cells
from rltui.readers.console.lead import bare

_HEAD = lazy(r"^Step (\d{1,15}):$")


class DictBlock:
    """Reads one block at a time; lines of other processes in between are skipped."""

    marks = ("Step ",)
    late = True

    def __init__(self) -> None:
        self._step: int | None = None
        self._cells: dict[str, object] = {}
        self._prefix = ""
        self._lines = 0
        self._depth = 0

    @property
    def is_open(self) -> bool:
        return self._step is not None

    def line(self, prefix: str, message: str) -> list[Step] | None:
        if self._step is None or prefix != self._prefix:
            return self._head(prefix, message)
        self._lines += 1
        starts = message.startswith("{'" if self._depth == 0 else " ")
        if not starts or self._lines > MAX_LINES:
            return [*self.close(), *(self._head(prefix, message) or [])] or None
        self._depth += message.count("{") - message.count("}")
        if len(self._cells) < MAX_CELLS:
            self._cells.update(dict_cells(message))
        return self.close() if self._depth <= 0 else []

    def _head(self, prefix: str, message: str) -> list[Step] | None:
        found = _HEAD.match(bare(message))
        if found is None:
            return None
        done = self.close()
        self._step, self._prefix, self._lines, self._depth = int(found[1]), prefix, 0, 0
        return done or None  # it may be another's heading

    def close(self) -> list[Step]:
        step, cells, self._step, self._cells = self._step, self._cells, None, {}
        return [Step(step, cells)] if step is not None and cells else []

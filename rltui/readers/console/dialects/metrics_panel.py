"""open-instruct's panel: `│ objective  kl2_avg: 0.01 | verifiable_correct_rate: 0.50 │`. It has one row for each first
part of the keys, wrapped to the terminal's width, with two decimals. W&B has the same numbers in full."""

from __future__ import annotations

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import MAX_LINES, Step
from rltui.readers.rows import number

STEP_KEY = "training_step"
"""The step; `global_step` counts episodes."""

_TOP = lazy(r"^╭─+ Metrics ─+╮$")
_OTHER = "other"  # the row of keys without a first part
_LEFT = lazy(r"^│ {1,3}(\S+) {2,}(\S.*?) *│$")
_ON = lazy(r"^│ {3,}(\S.*?) *│$")


class MetricsPanel:
    """Reads panels. A panel without the step is dropped: it is that of an evaluation."""

    marks = ("─ Metrics ─",)
    late = False

    def __init__(self) -> None:
        self._rows: dict[str, str] | None = None
        self._newest = ""
        self._prefix = ""
        self._lines = 0

    @property
    def is_open(self) -> bool:
        return self._rows is not None

    def line(self, prefix: str, message: str) -> list[Step] | None:
        text = message.strip()
        if _TOP.match(text):
            self._rows, self._prefix, self._lines = {}, prefix, 0
            return []
        if self._rows is None or prefix != self._prefix:
            return None
        self._lines += 1
        if found := _LEFT.match(text):
            self._newest = found[1]
            self._rows[self._newest] = found[2]
        elif self._newest and (more := _ON.match(text)):
            self._rows[self._newest] += " " + more[1]
        if text.startswith("╰") or self._lines > MAX_LINES:
            return self.close()
        return []

    def close(self) -> list[Step]:
        rows, self._rows, self._newest = self._rows or {}, None, ""
        cells: dict[str, object] = {}
        for category, values in rows.items():
            for pair in values.split(" | "):
                name, _, value = pair.rpartition(":")
                if name and number(value.strip()) is not None:
                    cells[name.strip() if category == _OTHER else f"{category}/{name.strip()}"] = value.strip()
        step = number(cells.get(STEP_KEY))
        return [Step(int(step), cells)] if step is not None and 0 <= step < 1e15 else []

"""prime-rl's lines for one environment: `Evaluated gsm8k (Step 10) | Policy v10 | 12.0s | Reward 0.25 | ...`, or in
older versions `Evaluated gsm8k in 12.0s (Avg@4=0.25, Pass@4: 0.5, ...)` for the step that began last; and below the
line of a step `╰─ math | Ratio 40.0% | Reward 0.1 | ...`. The line of the step itself is read elsewhere."""

from __future__ import annotations

import re

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import Step

_STEP = lazy(r"(?:^|\s)Step (\d{1,15}) \|")
_EVALUATED = lazy(r"(?:^|\s)Evaluated (\S{1,100}) \(Step (\d{1,15})\) \| (.*)")
_BEGUN = lazy(r"(?:^|\s)Starting orchestrator step (\d{1,15})\b")
_TOOK = lazy(r"(?:^|\s)Evaluated (\S{1,100}) in \d[\d.]{0,20}s \((.*)\)")
_NAMED = lazy(r"([A-Z][A-Za-z@\d -]{0,40})(?:=|: )(-?\d{1,20}(?:\.\d{1,20})?)(%?)")
_CELL = lazy(r"([A-Z][A-Za-z. -]{0,40}) (-?\d{1,20}(?:\.\d{1,20})?)(%?)")
_BELOW = lazy(r"\s*╰─ (\S{1,100})\s+\| (Ratio .*)")


class Environments:
    """Gives cells such as `eval/gsm8k/reward` and `train/math/reward`."""

    marks = ("Evaluated ", "╰─ ", "Step ", "Starting orchestrator step ")
    late = False
    is_open = False

    def __init__(self) -> None:
        self._step: int | None = None  # the step of the newest step line
        self._now: int | None = None  # the current step

    def line(self, prefix: str, message: str) -> list[Step] | None:
        evaluated, below, step = _EVALUATED.search(message), _BELOW.match(message), _STEP.search(message)
        begun, took = _BEGUN.search(message), _TOOK.search(message)
        if evaluated is not None:
            return [Step(int(evaluated[2]), _cells(f"eval/{evaluated[1]}", evaluated[3]), beside=True)]
        if below is not None and self._step is not None:
            return [Step(self._step, _cells(f"train/{below[1]}", below[2]), beside=True)]
        if took is not None and self._now is not None:
            return [Step(self._now, _shares(f"eval/{took[1]}", took[2]), beside=True)]
        if step is not None:
            self._step = int(step[1])
            self._now = self._step + 1
        if begun is not None:
            self._now = int(begun[1])
        return None

    def close(self) -> list[Step]:
        return []


def _cells(prefix: str, text: str) -> dict[str, object]:
    """The parts `Name 0.25` and `Name 3.1%` between the bars; a percentage becomes a share."""
    cells: dict[str, object] = {}
    for part in text.split("|"):
        found = _CELL.fullmatch(part.strip())
        if found is not None:
            cells |= _cell(prefix, found)
    return cells


def _shares(prefix: str, text: str) -> dict[str, object]:
    """The parts `Name=0.25`, `Name: 0.25` and `Name: 3.1%`; a percentage becomes a share."""
    cells: dict[str, object] = {}
    for found in _NAMED.finditer(text):
        cells |= _cell(prefix, found)
    return cells


def _cell(prefix: str, found: re.Match[str]) -> dict[str, object]:
    name = found[1].lower().replace(" ", "_").replace("-", "_")
    return {f"{prefix}/{name}": float(found[2]) / (100 if found[3] else 1)}

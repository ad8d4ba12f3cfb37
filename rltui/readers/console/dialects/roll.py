"""ROLL: `metrics_tag: {"step": 3, "metrics": {...}}`, or, if no tracker writes to the console, the plain JSON that its
driver prints after `pipeline step 3 start...`."""

from __future__ import annotations

import json

import orjson

from rltui.lazy_regex import lazy
from rltui.readers.console.dialects.base import Step
from rltui.readers.rows import number

_TAG = "metrics_tag: {"
_START = lazy(r"\bpipeline step (\d{1,15}) start")
_REDUCED = lazy(r"@(?:sum|mean|max|min)$")  # how a value is reduced; trackers get names without it
_MARK = '{"'


class RollJson:
    """Reads these lines. After a tracker's line the driver's own lines are skipped, as they hold the same."""

    marks = ("metrics_tag: ", "pipeline step ")
    late = False

    def __init__(self) -> None:
        self._step: int | None = None
        self._tagged = False

    @property
    def is_open(self) -> bool:
        return self._step is not None

    def line(self, prefix: str, message: str) -> list[Step] | None:
        if _TAG in message:
            row = _parsed(message[message.index(_TAG) + len(_TAG) - 1 :])
            metrics, step = row.get("metrics"), number(row.get("step"))
            if not isinstance(metrics, dict) or step is None or not 0 <= step < 1e15:
                return None
            self._tagged, self._step = True, None
            return [Step(int(step), metrics)]
        started = _START.search(message)
        if started is not None:
            self._step = None if self._tagged else int(started[1])
            return []
        if self._step is not None and _MARK in message and message.rstrip().endswith("}"):
            metrics = _parsed(message[message.index(_MARK) :])
            cells = {_REDUCED.sub("", key): value for key, value in metrics.items() if number(value) is not None}
            if 2 * len(cells) > len(metrics):
                step, self._step = self._step, None
                return [Step(step, cells)]
        return None

    def close(self) -> list[Step]:
        return []


def _parsed(text: str) -> dict[str, object]:
    try:
        row = orjson.loads(text)
    except orjson.JSONDecodeError:
        try:
            row = json.loads(text)  # NaN and Infinity
        except (ValueError, RecursionError):
            return {}
    return row if isinstance(row, dict) else {}

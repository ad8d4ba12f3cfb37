"""Cases of the rules of pages/tool.json."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.run.run import RunState
from tests.unit.rollouts.dumps import GOOD
from tests.unit.rules.given import CRITICAL, LEVEL, NOTICE, WARNING, Case, N, Stands, Writer, ramp, rows, samples, wave

CALLS = {"tool_calls_mean": 2.0 - 1.7 * ramp(100, 50)}

CALL = '<tool_call>{"name": "add"}</tool_call>'


def calling(broken: str, every: int) -> Writer:
    """One of so many calls is broken."""
    return lambda step, n: (GOOD + (f"<tool_call>{broken}</tool_call>" if n % every == 0 else CALL), float(n % 2))


def fewer(every: int) -> Writer:
    """After the first half, of so many samples one still calls a tool; before, each did."""
    return lambda step, n: (GOOD + (CALL if step <= N // 2 or n % every == 0 else ""), float(n % 2))


def unclosed(every: int) -> Writer:
    """Of so many samples one does not close its thought."""
    return lambda step, n: (GOOD.replace("</think>", "") if n % every == 0 else GOOD, float(n % 2))


def failing(steps: Iterable[int]) -> Stands:
    """The log says behind each of these steps that answers could not be graded."""
    return Stands({}, RunState("running", "rows arrive"), ungraded=tuple(steps))


CASES = (
    rows("tool-call-invalid", {**LEVEL, "tool_failure_rate": wave(0.4)}, {**LEVEL, "tool_failure_rate": wave(0.08)}),
    rows("tool-use-collapse", {"tool_calls_mean": 2.0 - 1.95 * ramp(100, 50)}, CALLS, WARNING, NOTICE),
    rows("env-errors-contaminate", {**LEVEL, "aborted_ratio": wave(0.08)}, {**LEVEL, "aborted_ratio": wave(0.01)}),
    Case("grading-fails", failing(range(N - 10, N)), failing(range(N - 9, N)), NOTICE),
    samples("tool-call-invalid", calling("{name: add", 2), calling("{name: add", 32)),
    samples("tool-call-invalid", calling("{name: add", 1), calling("{name: add", 32), CRITICAL),
    samples("tool-use-collapse", fewer(8), fewer(2)),
    samples("format-invalid", unclosed(2), unclosed(32)),
)

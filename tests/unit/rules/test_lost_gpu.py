"""A GPU that is lost: a run that uses it is stopped, a run beside it is told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from rltui.diagnosis.engine import Engine
from rltui.hardware.base import GpuProcess, GpuSample
from rltui.run.run import RunState
from tests.unit.diagnosis.machines import gpus, sampled


def with_processes(lost: int) -> Callable[[float], tuple[GpuSample, ...]]:
    """This run holds GPUs 0 to 3, another one the rest; GPU 3 or 5 is lost from step 30 on, and its processes too."""
    own, foreign = GpuProcess(1, 50.0, "me", "main_ppo", ours=True), GpuProcess(2, 50.0, "other", "eval", ours=False)

    def cards(step: float) -> tuple[GpuSample, ...]:
        held = (replace(g, processes=(own if g.index < 4 else foreign,)) for g in gpus())
        return tuple(replace(g, lost=True, processes=()) if g.index == lost and step >= 30 else g for g in held)

    return cards


@pytest.mark.parametrize(
    ("lost", "state", "severity", "decision"),
    [
        (3, "running", "critical", "abort-now"),
        (3, "stalled", "critical", "abort-now"),
        (3, "crashed", "critical", "pause-and-fix"),
        (3, "finished", "critical", "continue-watch"),
        (5, "running", "warning", "continue-watch"),
    ],
)
def test_a_run_that_lost_a_gpu_is_stopped_and_one_beside_it_is_not(
    lost: int, state: str, severity: str, decision: str
) -> None:
    run = sampled(60, cards=with_processes(lost=lost))
    d = Engine().advance(run, RunState(state, "by its log"))  # type: ignore[arg-type]
    fault = next(f for f in d.findings if f.id == "gpu-fault-or-throttle")
    assert (fault.severity, fault.subject) == (severity, f"n GPU {lost}")
    assert ("no process of this run" in fault.summary) == (severity == "warning")
    assert d.verdict.decision == decision
    assert "gpu-fault-or-throttle" in d.verdict.because

"""A finding stays for as long as its fault does: what no longer moves has not come back."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.evidence.model import Diagnosis
from rltui.evidence.signal import WARNING
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run
from tests.unit.rules.asked import near
from tests.unit.rules.cases import CASES
from tests.unit.rules.given import Case, N, Rows

LAST = int(0.85 * N)
IN_A_ROW = 9
TIMES = 2

OVER = {
    "grad-norm-explosion": "spikes, none of which lies in the last rows",
    "metric-vanished": "what is gone stays gone: there is nothing to draw from",
    "reward-function-fault": "an outage that begins in the last rows, of which those before it are drawn as well",
    "truncation-high": "a reward that gains on pays for long answers",
}
"""Faults that the rows which follow no longer have, and why."""


def prolonged(column: object, seed: int) -> list[float | None]:
    """The column, and stretches of its last part for `TIMES` its length; of what is logged now and then, as often."""
    x: list[float | None] = list(column)  # type: ignore[call-overload]
    draw = np.random.default_rng(seed)
    points = [v for v in x if v is not None]
    if len(points) < 0.5 * N:
        every = N // max(1, len(points))
        newest = [v for v in x[LAST:] if v is not None] or points[-3:]
        rows = [float(draw.choice(newest)) if newest and i % every == 0 else None for i in range(TIMES * N)]
        return x + rows
    begins = draw.integers(LAST, N - IN_A_ROW, TIMES * N // IN_A_ROW)
    return x + [x[i + k] for i in begins for k in range(IN_A_ROW)]


def run_of(given: Rows, columns: dict[str, list[float | None]]) -> FakeRun:
    return FakeRun(
        columns,
        config=given.config,
        framework=given.framework,
        algorithm=given.algorithm,
        planned=given.planned,
    )


def loud(rule: str, found: Diagnosis) -> bool:
    return any(f.id == rule and f.status == "active" and f.severity != "info" for f in found.findings)


STANDING = [case for case in CASES if isinstance(case.fault, Rows) and case.level >= WARNING and case.rule not in OVER]


@pytest.mark.parametrize("case", STANDING, ids=lambda case: case.rule)
def test_a_finding_stays_while_its_fault_does(case: Case) -> None:
    assert isinstance(case.fault, Rows)
    columns = {name: prolonged(x, 1) for name, x in {**learning_run(0, N), **case.fault.columns}.items()}
    run, engine = run_of(case.fault, columns), near(case.rule)
    if not loud(case.rule, engine.advance(run.grow(N))):
        pytest.skip("loud only beside findings that the case takes for open")
    assert loud(case.rule, engine.advance(run.grow()))

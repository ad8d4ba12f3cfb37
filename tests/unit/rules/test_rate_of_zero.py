"""A learning rate of 0 in a log with few digits: rounded, unless the log shows how small its numbers may be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS = 60
CASES = {
    "numbers of 1e-17 are logged": (-2.8e-17, 0.0, "critical"),
    "small numbers are 0 as well": (0.0, 0.0, None),
    "the policy moves": (-2.8e-17, 0.02, None),
}


@pytest.mark.parametrize(("rest", "kl", "severity"), CASES.values(), ids=list(CASES))
def test_a_rate_of_zero(
    rest: float, kl: float, severity: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {"score": wave(0.3, 0.03, ROWS, 1), "kl": np.linspace(0.0, kl, ROWS)}
    columns = {name: np.round(x, 4) for name, x in columns.items()} | {"lr": np.zeros(ROWS)}
    columns["critic/advantages/mean"] = np.full(ROWS, rest)
    found = finding(report(write(tmp_path / "run", columns), capsys), "no-learning-signal")
    assert (None if found is None else found["severity"]) == severity
    assert found is None or found["summary"].startswith("The learning rate is 0 to the last digit in all 60 rows")

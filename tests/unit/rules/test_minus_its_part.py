"""A total that takes a part off instead of adding it, told by its own arithmetic."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.rules.asked import asking

ROWS, RULE = 60, "reward-function-fault"
RIGHT = np.linspace(0.6, 0.3, ROWS) + wave(0, 0.02, ROWS, 1)
FORM = wave(0.8, 0.02, ROWS, 2)
CASES = {
    "the task alone": ({"accuracy": RIGHT}, -RIGHT, "critical"),
    "the task beside another part": ({"accuracy": RIGHT, "format": FORM}, FORM - RIGHT, "critical"),
    "a part of any name": ({"judge": RIGHT}, -RIGHT, "info"),
    "a cost": ({"length_penalty": RIGHT}, -RIGHT, None),
    "a penalty beside the task": ({"accuracy": RIGHT, "overlong": 0.1 * FORM}, RIGHT - 0.1 * FORM, None),
    "as it should be": ({"accuracy": RIGHT, "format": FORM}, RIGHT + FORM, None),
}


@pytest.mark.parametrize(("parts", "total", "severity"), CASES.values(), ids=list(CASES))
def test_a_part_that_is_taken_off(
    parts: dict[str, np.ndarray],
    total: np.ndarray,
    severity: str | None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    usual = {name: x for name, x in learning(ROWS).items() if name in ("entropy", "kl", "grad", "length")}
    columns = usual | {"reward": total} | {f"rewards/{name}/mean": x for name, x in parts.items()}
    with asking(RULE):
        found = finding(report(write(tmp_path / "run", columns), capsys), RULE)
    assert (None if found is None else found["severity"]) == severity
    if found is not None and severity == "critical":
        assert "is minus “accuracy” to the last digit" in found["summary"]

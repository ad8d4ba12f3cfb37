"""A small spike of the gradient norm right after a huge one makes the huge one no smaller."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main


def finding(path: Path, spikes: dict[int, float], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    draw = random.Random(11)
    with path.open("w", encoding="utf-8") as out:
        for step in range(1, 221):
            norm = 0.3 * (1.0 + draw.gauss(0, 0.05)) * spikes.get(step, 1.0)
            row = {"step": step, "grad_norm": norm, "score_mean": 0.4 + 0.0005 * step + draw.gauss(0, 0.01)}
            out.write(json.dumps(row) + "\n")
    main(["report", "--format", "json", str(path)])
    report = json.loads(capsys.readouterr().out)
    (found,) = (one for one in report["findings"] if one["id"] == "grad-norm-explosion")
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("later", [{}, {212: 20.0}])
def test_its_severity_stays(later: dict[int, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = finding(tmp_path / "log.jsonl", {205: 2000.0, **later}, capsys)
    assert found["severity"] == "warning"
    assert ("the largest" in found["summary"]) == bool(later)

"""Rules that look at the run as it stands: a state of a run that nobody watches is no finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main


def test_a_log_that_merely_ends_is_stalled_and_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = ({"step": n, "max_steps": 400, "reward": 0.001 * n, "_timestamp": 1.7e9 + 10 * n} for n in range(1, 100))
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "config.yaml").write_text("max_steps: 400\n")
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["run"]["state"] == "stalled"
    assert "run-stalled" not in {f["id"] for f in data["findings"]}

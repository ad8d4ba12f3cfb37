"""What is said of a run in two places is one statement."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

ROWS = 400


def written(folder: Path) -> Path:
    """A verl log of half a megabyte; validation before the first step and in the middle of it, no clipping at all."""
    folder.mkdir()
    lines = []
    for i in range(ROWS):
        cells = {"critic/score/mean": 0.2 + i / 1000, "actor/pg_clipfrac": 0.0, "actor/grad_norm": 0.4}
        cells |= {f"timing_s/part_{k}": 1.0 + k / 100 for k in range(60)}
        if i in (0, 200):
            cells["val-core/gsm8k/acc/mean@1"] = 0.1 + i / 400
        lines.append(f"step:{i + 1} - " + " - ".join(f"{k}:{v:.6g}" for k, v in cells.items()))
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--format", "json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_the_ends_tell_no_value_that_may_have_a_newer_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path / "run")
    rows = told(capsys, "runs", str(tmp_path))["runs"]
    assert isinstance(rows, list)
    values, metrics = rows[0]["values"], told(capsys, "report", str(path))["metrics"]
    assert isinstance(metrics, dict)
    assert values["score_mean"] == pytest.approx(metrics["score_mean"]["last_value"], rel=1e-4)
    assert "val_score" not in values


def test_what_is_0_in_every_row_is_not_called_not_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = told(capsys, "report", str(written(tmp_path / "run")))
    unknowns, metrics = report["unknowns"], report["metrics"]
    assert isinstance(unknowns, list)
    assert isinstance(metrics, dict)
    assert metrics["clip_frac"]["count"] == ROWS
    about = [text for text in unknowns if text.startswith("clip_frac ")]
    assert about
    assert all("0 throughout" in text for text in about)


@pytest.mark.parametrize(("rows", "stub"), [(9, False), (10, True)])
def test_a_few_zeros_are_measurements(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int, stub: bool
) -> None:
    log = tmp_path / "metrics.jsonl"
    cells = ({"step": step, "reward": 0.1 * step, "kl": 0.0} for step in range(1, rows + 1))
    log.write_text("".join(f"{json.dumps(row)}\n" for row in cells))
    coverage = told(capsys, "report", str(log))["coverage"]
    assert isinstance(coverage, dict)
    assert ("kl_ref" in {one["metric"] for one in coverage["missing"]}) is stub

"""A log that holds warnings and errors and no metric belongs to the run beside it, and is none by itself."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.cli import main

REFUSED = "2026-11-24 10:00:%02d WARNING reward server http://10.0.0.3:8000/score: Connection refused, returning 0.0\n"


def metrics(path: Path) -> None:
    """The reward is 0 from step 70 on, as of a grader that fails."""
    rng = random.Random(3)
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = (
        {"step": i, "reward": 0.3 + 0.003 * i + rng.gauss(0, 0.02) if i < 70 else 0.0, "kl": 0.001 * i, "entropy": 0.8}
        for i in range(1, 121)
    )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def messages(path: Path) -> None:
    path.write_text("".join(REFUSED % i for i in range(40)))


def told(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str]:
    code = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return code, out + err


def test_what_it_says_is_a_cause(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metrics(tmp_path / "metrics.jsonl")
    messages(tmp_path / "train.log")
    code, page = told(capsys, "report", tmp_path)
    assert code == 0
    why = next(line for line in page.splitlines() if line.startswith("- Why:"))
    assert "Connection refused" in why


def test_alone_it_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messages(tmp_path / "train.log")
    code, page = told(capsys, "report", tmp_path)
    assert code == 2
    assert "no training log recognised" in page
    assert told(capsys, "report", tmp_path / "train.log")[0] == 2


@pytest.mark.parametrize("names", [("a/metrics.jsonl", "b/metrics.jsonl")])
def test_beside_two_runs_it_is_of_neither(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], names: tuple[str, str]
) -> None:
    for name in names:
        metrics(tmp_path / name)
    messages(tmp_path / "train.log")
    code, page = told(capsys, "report", tmp_path / "a")
    assert code == 0
    assert "Connection refused" not in page
    listed = told(capsys, "runs", tmp_path)[1]
    assert "train" not in listed.replace("training", "")


def test_json_rows_without_metrics_are_named_by_their_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rows that have names already need no pattern."""
    row = '{"trial": %d, "answer": "x + %d", "verdict": {"right": false}, "why": "illegal"}\n'
    (tmp_path / "ledger.jsonl").write_text("".join(row % (7, i % 3) for i in range(40)))
    code, page = told(capsys, "report", tmp_path / "ledger.jsonl")
    assert code == 2
    assert "keys trial, answer, verdict and why" in page
    assert "--line" not in page

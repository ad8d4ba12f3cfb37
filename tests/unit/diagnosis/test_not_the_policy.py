"""A reward that falls at once after updates as before is a matter of data, grader or tools: validation, which the same
grader scores, falls with it, and an earlier checkpoint would fare no better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import CONFIG
from tests.unit.diagnosis.written import finding, learning, wave
from tests.unit.reported import told

ROWS, AT = 220, 130
GIVEN = "The data, the grader or the tools changed"
PARSER = "The grader cannot read the answers"


def run(folder: Path, *lines: str, moved: float = 1.0, validated: bool = True, left: float = 0.35) -> dict[str, Any]:
    """From a row on the reward is a share of what it was; the update of that row is so many times the usual."""
    columns = learning(ROWS)
    columns["score"] = 0.3 + 0.3 * np.linspace(0, 1, ROWS) + wave(0, 0.02, ROWS, 1)
    columns["val"] = 0.9 * columns["score"]
    late = np.arange(ROWS) >= AT
    for name in ("score", "val"):
        columns[name] = np.where(late, left * columns[name], columns[name])
    if not validated:
        del columns["val"]
    for name in ("grad", "kl", "clip"):
        columns[name] = np.where(late, moved * columns[name], columns[name])
    path = verl(folder, columns, CONFIG)
    if lines:
        (path / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return told(path)[2]


def first(report: dict[str, Any]) -> str:
    found = finding(report, "reward-collapse") or finding(report, "reward-peak-decline")
    assert found is not None, [f["id"] for f in report["findings"]]
    return str(found["causes"][0]["text"])


def test_it_is_paused_and_not_ended(tmp_path: Path) -> None:
    report = run(tmp_path / "run")
    assert first(report).startswith(GIVEN)
    assert report["verdict"]["decision"] == "pause-and-fix"


def test_without_validation_harder_data_are_watched(tmp_path: Path) -> None:
    report = run(tmp_path / "run", validated=False, left=0.6)
    assert first(report).startswith(GIVEN)
    assert report["verdict"]["decision"] == "continue-watch"


def test_a_policy_that_broke_ends_it(tmp_path: Path) -> None:
    report = run(tmp_path / "run", moved=8.0)
    assert not first(report).startswith(GIVEN)
    assert report["verdict"]["decision"] in ("abort-now", "stop-use-best")


def test_a_parser_that_the_log_blames_leads(tmp_path: Path) -> None:
    report = run(tmp_path / "run", "ERROR: reward.py:88 could not parse the answer of completion 12; reward set to 0")
    assert first(report).startswith(PARSER)
    assert report["verdict"]["decision"] == "pause-and-fix"


def test_validation_does_not_call_the_policy_damaged(tmp_path: Path) -> None:
    found = finding(run(tmp_path / "run"), "val-regression")
    assert found is not None
    assert not any("damaged" in cause["text"] for cause in found["causes"])


def test_a_judge_that_the_log_says_timed_out_leads_and_stops_nothing(tmp_path: Path) -> None:
    line = "WARNING: judge request timed out after 60 s, score set to 0 (21 of 64)"
    report = run(tmp_path / "run", line, validated=False, left=0.6)
    assert first(report) == "The reward service fails"
    assert report["verdict"]["decision"] == "continue-watch"

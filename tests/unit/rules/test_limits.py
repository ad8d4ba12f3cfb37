"""Metrics whose level alone tells: past a limit they are told, near it or beside it they are not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.frameworks.load import metrics
from rltui.rules.catalogue import rules

Course = Callable[[int], float]
ROWS = 120
FAULT = 60


def written(folder: Path, courses: dict[str, Course], reward: Course = lambda step: 0.3 + step / 400) -> Path:
    """A run that goes well but for what `courses` say."""
    chance = random.Random(7)
    rows = []
    for step in range(1, ROWS + 1):
        row = {"step": step, "reward_mean": reward(step) + chance.gauss(0, 0.02), "reward_std": chance.gauss(0.4, 0.01)}
        row |= {"entropy": chance.gauss(0.6, 0.01), "grad_norm": chance.gauss(0.4, 0.02), "kl_ref": 1e-4 * step}
        row |= {name: course(step) * chance.gauss(1, 0.01) for name, course in courses.items()}
        rows.append(json.dumps(row))
    log = folder / "metrics.jsonl"
    log.write_text("\n".join(rows) + "\n")
    return log


def reported(log: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    main(["report", str(log), "--format", "json"])
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def loud(report: dict[str, Any]) -> dict[str, str | None]:
    """Rules that speak at a warning or worse, each with what it speaks of."""
    return {f["id"]: f["subject"] for f in report["findings"] if f["status"] == "active" and f["severity"] != "info"}


def steps_to(before: float, after: float) -> Course:
    return lambda step: before if step < FAULT else after


FAULTS = [
    ("is_ratio_max", 2.0, 1e6, "is-weight-degenerate"),
    ("ppo_ratio_max", 1.2, 1e6, "policy-step-too-large"),
    ("clip_frac_high", 0.02, 0.8, "policy-step-too-large"),
    ("staleness_mean", 1.0, 60.0, "staleness-high"),
    ("staleness_max", 2.0, 60.0, "staleness-high"),
    ("repetition_frac", 0.02, 0.97, "degenerate-samples"),
    ("frac_groups_all_wrong", 0.2, 0.98, "zero-variance-groups"),
    ("finish_ratio", 0.97, 0.05, "truncation-high"),
    ("invalid_output_rate", 0.02, 0.95, "format-invalid"),
    ("vf_clip_frac", 0.05, 0.95, "critic-uninformative"),
    ("throughput_tokens_per_gpu", 3000.0, 200.0, "step-time-regression"),
    ("advantage_abs_mean", 0.6, 0.01, "no-learning-signal"),
]


@pytest.mark.parametrize(("metric", "before", "after", "rule"), FAULTS)
def test_a_level_that_no_healthy_run_shows_is_told_while_reward_rises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], metric: str, before: float, after: float, rule: str
) -> None:
    report = reported(written(tmp_path, {metric: steps_to(before, after)}), capsys)
    assert list(loud(report)) == [rule]
    (found,) = (f for f in report["findings"] if f["id"] == rule)
    assert abs(found["onset_step"] - FAULT) <= 3
    assert report["verdict"]["decision"] == "continue-watch"
    assert "All clear" not in report["verdict"]["text"]
    titles = {entry["title"] for entry in report["not_evaluable"]}
    assert rules()[rule].title not in titles, "it ran"


def test_levels_of_usual_runs_are_not_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = {metric: steps_to(before, before) for metric, before, _, _ in FAULTS}
    report = reported(written(tmp_path, usual), capsys)
    assert loud(report) == {}


def test_between_two_limits_a_gain_excuses_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    between = {"repetition_frac": steps_to(0.05, 0.5)}
    assert loud(reported(written(tmp_path, between), capsys)) == {}
    flat = reported(written(tmp_path, between, lambda step: 0.4), capsys)
    assert loud(flat)["degenerate-samples"] == metrics()["repetition_frac"].label


def test_what_stood_there_from_the_start_is_a_note(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = reported(written(tmp_path, {"is_ratio_max": steps_to(2e4, 2e4)}), capsys)
    assert loud(report) == {}
    assert [f["severity"] for f in report["findings"] if f["id"] == "is-weight-degenerate"] == ["info"]


def test_it_is_over_when_it_is_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def bump(step: int) -> float:
        return 0.9 if 40 <= step < 70 else 0.02

    report = reported(written(tmp_path, {"repetition_frac": bump}), capsys)
    (found,) = (f for f in report["findings"] if f["id"] == "degenerate-samples")
    assert found["status"] == "resolved"
    assert report["verdict"]["decision"] == "continue"


def test_a_metric_that_the_rule_itself_reads_better_is_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = {"frac_groups_all_wrong": steps_to(0.1, 0.98), "frac_reward_zero_std": steps_to(0.2, 0.2)}
    assert loud(reported(written(tmp_path, both), capsys)) == {}


def test_explain_tells_the_limits(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "degenerate-samples"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "repetitive samples above 0.2 is a note, above 0.4 without a gain a warning, above 0.7 a warning" in told


def test_limits_are_of_metrics_that_rltui_knows() -> None:
    for rule in rules().values():
        for name, limit in rule.limits.items():
            assert {name, *limit.unless} <= set(metrics()), rule.id
            assert name in rule.metrics, rule.id

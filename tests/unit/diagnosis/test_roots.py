"""Roots: a symptom is never louder than its root and never began before it; what is only a notice is no root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.diagnosis.roots import Fired, dating_tolerance, roots
from rltui.evidence.signal import CRITICAL, WARNING
from rltui.rules.catalogue import rules
from tests.conftest import REPO
from tests.unit.diagnosis.written import finding, learning, report, wave, write

RANK = {"info": 0, "warning": 1, "critical": 2}
N = 300


def wrong_folds(of: Mapping[str, Any]) -> Iterator[str]:
    """What no report may say of roots and symptoms."""
    active = [f for f in of["findings"] if f["status"] == "active"]
    steps = of["run"]["steps"]
    late = dating_tolerance((steps["last"] or 0) - (steps["first"] or 0))
    for f in of["findings"]:
        if f["root"] is None:
            continue
        roots = [r for r in active if r["id"] == f["root"]]
        said = f"{f['id']} under {f['root']}"
        if f["status"] != "active" or not roots:
            yield f"{said}: one of them is over"
        elif any(r["root"] is not None for r in roots):
            yield f"{said}, which is itself a symptom"
        else:
            root = max(roots, key=lambda r: RANK[r["severity"]])
            if RANK[root["severity"]] < max(1, RANK[f["severity"]]):
                yield f"{said}: {f['severity']} under {root['severity']}"
            if (root["onset_step"] or 0) > (f["onset_step"] or 0) + late:
                yield f"{said}: {f['onset_step']} before {root['onset_step']}"


def ends(rows: int, before: float, after: float, at: int, size: float = 0.0, seed: int = 0) -> np.ndarray:
    """A level that turns into another one at a row, over 30 rows."""
    return np.interp(np.arange(rows), [0, at, at + 30, rows], [before, before, after, after]) + wave(
        0, size, rows, seed
    )


SICK: dict[str, dict[str, np.ndarray]] = {
    "KL runs away after a rate that is merely high": {
        "lr": np.full(N, 6e-6),
        "kl": np.geomspace(0.005, 6.0, N),
        "score": np.r_[np.linspace(0.2, 0.6, 150), np.linspace(0.6, 0.1, 150)] + wave(0, 0.02, N, 1),
    },
    "collapse with entropy, length and truncation": {
        "entropy": ends(N, 0.8, 4.0, 150, 0.02, 2),
        "length": ends(N, 300, 1000, 160, 5, 3),
        "cut": np.clip(ends(N, 0.02, 0.9, 165, 0.01, 4), 0, 1),
        "score": ends(N, 0.6, 0.02, 170, 0.02, 5),
        "kl": ends(N, 0.02, 3.0, 155, 0.005, 6),
    },
    "solved": {
        "score": np.minimum(1.0, np.linspace(0.2, 1.6, N)),
        "score_min": np.zeros(N),
        "score_max": np.ones(N),
        "grad": ends(N, 0.5, 0.0, 170),
        "frac_reward_zero_std": ends(N, 0.2, 1.0, 170),
    },
}


@pytest.mark.parametrize("name", SICK)
@pytest.mark.parametrize("at", [None, 190, 220])
def test_folds_are_sound(name: str, at: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning(N) | SICK[name])
    assert not list(wrong_folds(report(run, capsys, *(["--at", str(at)] if at else []))))


def test_a_learning_rate_that_is_only_noticed_is_the_root_of_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", learning(N) | SICK["KL runs away after a rate that is merely high"])
    of = report(run, capsys)
    assert finding(of, "kl-runaway") is not None
    quiet = {f["id"] for f in of["findings"] if f["status"] == "active" and f["severity"] == "info"}
    assert not {f["root"] for f in of["findings"]} & quiet


def test_a_solved_run_is_no_critical_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write(tmp_path / "run", learning(N) | SICK["solved"])
    of = report(run, capsys)
    assert finding(of, "no-learning-signal") is not None
    assert {f["severity"] for f in of["findings"]} <= {"info", "warning"}
    assert main(["report", str(run), "--fail-on", "critical"]) == 0
    assert main(["report", str(run), "--fail-on", "warning"]) == 1


def test_the_earlier_of_two_that_explain_as_much_leads() -> None:
    """A critic that fails long before the KL rises: neither leads to the other, and the KL explains more at first
    hand."""
    falls = ("reward-collapse", "reward-peak-decline", "val-regression", "kl-up-reward-flat")
    onsets = {"critic-uninformative": 101, "kl-runaway": 139} | dict.fromkeys(falls, 155)
    found = roots([Fired(i, CRITICAL, onset, 0.9) for i, onset in onsets.items()], rules(), 260)
    assert {found[i, None] for i in falls} == {"critic-uninformative"}


def test_of_a_loop_the_one_that_explains_most_at_first_hand_leads() -> None:
    onsets = {"length-explosion": 37, "truncation-high": 39, "entropy-explosion": 39, "kl-runaway": 39}
    found = roots([Fired(i, CRITICAL, onset, 0.9) for i, onset in onsets.items()], rules(), 70)
    assert set(found.values()) == {"entropy-explosion"}


def test_what_goes_with_a_fall_from_outside_is_folded_with_it() -> None:
    """A grader at fault explains the collapse, and the collapse the decline; neither is of the policy."""
    falls = [Fired(rule, WARNING, 202, 0.9, outside=True) for rule in ("reward-collapse", "reward-peak-decline")]
    fired = [Fired("reward-function-fault", CRITICAL, 202, 0.9), *falls]
    assert set(roots(fired, rules(), 300).values()) == {"reward-function-fault"}
    assert len(roots(fired, rules(), 300)) == len(falls)


def test_a_fall_from_outside_is_no_symptom_of_what_the_policy_did_since() -> None:
    fired = [Fired("kl-runaway", CRITICAL, 202, 0.9), Fired("reward-collapse", CRITICAL, 196, 0.9, outside=True)]
    assert not roots(fired, rules(), 300)
    assert roots([fired[0], Fired("reward-collapse", CRITICAL, 196, 0.9)], rules(), 300)
    grader = Fired("reward-function-fault", CRITICAL, 195, 0.9)
    assert set(roots([grader, fired[1]], rules(), 300)) == {("reward-collapse", None)}


def test_a_reward_that_changed_its_sign_leads_what_the_policy_did_since(capsys: pytest.CaptureFixture[str]) -> None:
    of = report(REPO / "sample_runs" / "trl-reward-flip", capsys)
    assert of["verdict"]["because"][0] == "reward-function-fault"
    assert of["answer"]["why"].startswith("The sign of the reward")


def test_slow_checkpoints_are_the_root_of_slow_steps_whose_cause_is_not_the_policy() -> None:
    steps = Fired("step-time-regression", WARNING, 105, 0.9, outside=True)
    found = roots([Fired("checkpoint-slow", WARNING, 100, 0.9), steps], rules(), 300)
    assert found == {("step-time-regression", None): "checkpoint-slow"}

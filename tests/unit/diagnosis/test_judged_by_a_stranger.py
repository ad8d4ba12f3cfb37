"""What runs of another generator showed: verdicts, causes and advice that a careful engineer would not give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS = 300
LEVEL = [0.57, 0.68, 0.66, 0.69, 0.75, 0.78, 0.77, 0.74, 0.76, 0.73, 0.79, 0.79, 0.73, 0.69, 0.8]


def configured(run: Path, **settings: Any) -> Path:
    (run / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return run


def sparse(values: list[float], every: int = 20) -> np.ndarray:
    return np.repeat(values, every)


@pytest.mark.parametrize(
    ("val", "severity"),
    [(LEVEL, "warning"), ([*LEVEL[:9], 0.7, 0.62, 0.55, 0.48, 0.4, 0.33], "critical")],
    ids=["jumps", "falls"],
)
def test_a_drift_without_gain_is_critical_only_if_validation_falls(
    val: list[float], severity: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One low evaluation among level ones is no harm: the report says itself that validation holds."""
    ends = np.minimum(np.arange(ROWS) / 60, 1)
    columns = learning(ROWS) | {
        "score": 0.5 + 0.25 * ends + wave(0, 0.03, ROWS, 1),
        "kl": np.linspace(0.004, 0.09, ROWS),
        "val": sparse(val),
    }
    found = finding(report(write(tmp_path / "run", columns, {"val": 20}), capsys), "kl-up-reward-flat")
    assert found is not None
    assert found["severity"] == severity


@pytest.mark.parametrize(
    ("val", "beats", "decision"),
    [([0.0, 0.0, 1 / 256, 1 / 256], False, "pause-and-fix"), ([0.1, 0.1, 0.8, 0.8], True, "stop-use-best")],
    ids=["one right answer more", "gains"],
)
def test_one_right_answer_more_is_no_best_checkpoint(
    val: list[float], beats: bool, decision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All answers are cut from the first step on. Evaluations that are nearly all alike tell no noise, and their
    counting alone leaves some."""
    columns = learning(80) | {
        "score": np.abs(wave(0.002, 0.002, 80, 1)),
        "cut": np.full(80, 0.99),
        "length": wave(511, 0.5, 80, 2),
        "val": sparse(val),
    }
    run = configured(write(tmp_path / "run", columns, {"val": 20}), max_response_length=512, total_steps=300)
    verdict = report(run, capsys)["verdict"]
    assert verdict["best_checkpoint"]["beats_start"] is beats
    assert verdict["decision"] == decision


@pytest.mark.parametrize(("rate", "decision"), [(0.0, "pause-and-fix"), (1e-6, "continue-watch")])
def test_a_learning_rate_that_is_set_to_0_is_no_reason_to_wait(
    rate: float, decision: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log that shows three digits writes 0.000 for any usual rate: then only the course tells."""
    columns = learning(150) | {"score": wave(0.34, 0.03, 150, 1), "kl": np.zeros(150), "lr": np.zeros(150)}
    columns = {name: np.round(x, 3) for name, x in columns.items()}
    run = configured(write(tmp_path / "run", columns), lr=rate, total_steps=300, kl_coef=0.001)
    of = report(run, capsys)
    assert of["verdict"]["decision"] == decision
    assert (finding(of, "no-learning-signal") is not None) is (rate == 0.0)


@pytest.mark.parametrize(("late", "told"), [(0.02, True), (0.3, False)], ids=["training goes on alone", "both go on"])
def test_validation_that_is_left_behind_lately_is_told(
    late: float, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both gain at first. Then the judge becomes lenient: training goes on to its ceiling, and validation does not."""
    first, then = np.minimum(np.arange(ROWS) / 120, 1), np.clip((np.arange(ROWS) - 130) / 130, 0, 1)
    columns = learning(ROWS) | {
        "score": 0.36 + 0.18 * first + 0.36 * then + wave(0, 0.03, ROWS, 1),
        "score_min": np.zeros(ROWS),
        "score_max": np.ones(ROWS),
        "val": 0.36 + 0.15 * first + late * then + wave(0, 0.02, ROWS, 2),
    }
    of = report(write(tmp_path / "run", columns, {"val": 20}), capsys)
    found = finding(of, "train-val-divergence")
    assert (found is not None) is told
    if found is not None:
        assert f"since step {found['onset_step']}" in of["verdict"]["text"]
        assert of["verdict"]["text"].count("since step") == of["verdict"]["text"].count(
            f"since step {found['onset_step']}"
        )


@pytest.mark.parametrize(("rises", "leads"), [(True, "prompts became harder"), (False, "Entropy is used up")])
def test_what_validation_keeps_the_policy_did_not_lose(
    rises: bool, leads: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A curriculum: the train reward comes down, little by little, and validation goes on rising. A note that KL has
    grown is no proof that the policy got worse."""
    t = np.arange(ROWS)
    falls = 0.16 * np.clip((t - 190) / 40, 0, 1)
    learnt = 0.5 + 0.25 * np.minimum(t / 180, 1)
    columns = learning(ROWS) | {
        "score": learnt - falls + wave(0, 0.03, ROWS, 1),
        "kl": np.linspace(0.03, 0.09, ROWS),
        "val": learnt + (0.05 * np.clip((t - 180) / 100, 0, 1) if rises else -falls) + wave(0, 0.012, ROWS, 2),
    }
    of = report(configured(write(tmp_path / "run", columns, {"val": 15}), kl_coef=0.001), capsys)
    found = finding(of, "reward-peak-decline")
    assert found is not None
    assert leads in found["causes"][0]["text"]
    assert found["causes"][0]["status"] == ("supported" if rises else "untestable")
    if rises:
        assert "gets worse" not in of["outlook"]["kl_reward"]["reading"]


def test_a_part_that_pays_for_length_is_the_cause_of_long_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The total falls, as the task loses more than the bonus brings: that refutes no bonus."""
    k = np.clip((np.arange(260) - 110) / 80, 0, 1)
    right, bonus = 0.6 - 0.45 * k + wave(0, 0.03, 260, 1), 0.27 + 0.57 * k + wave(0, 0.01, 260, 2)
    columns = learning(260) | {
        "rewards/accuracy_reward/mean": right,
        "rewards/length_reward/mean": bonus,
        "reward": right + 0.5 * bonus,
        "length": 250 * (1 + 2.5 * k) + wave(0, 6, 260, 3),
    }
    del columns["score"]
    found = finding(report(write(tmp_path / "run", columns), capsys), "length-explosion")
    assert found is not None
    assert "A part of the reward pays for length" in found["causes"][0]["text"]
    assert "length_reward" in found["causes"][0]["because"]


def test_short_answers_alone_prove_no_length_penalty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hardly an answer was ever cut, and no part of the reward speaks of length."""
    k = np.clip((np.arange(240) - 110) / 40, 0, 1)
    columns = learning(240) | {
        "score": 0.35 + 0.3 * np.minimum(np.arange(240) / 100, 1) - 0.42 * k + wave(0, 0.03, 240, 1),
        "length": 380 * (1 - 0.92 * k) + wave(0, 4, 240, 2),
        "cut": 0.012 * (1 - k),
    }
    found = finding(report(write(tmp_path / "run", columns), capsys), "length-collapse")
    assert found is not None
    assert not [c for c in found["causes"] if c["status"] == "supported" and "penalty" in c["text"]]
    assert not [c for c in found["causes"] if c["status"] == "supported" and "length mean" in c["because"]]


WATCHDOG = (
    "[rank5]:[E301 02:03:04.123456789 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88121, OpType=ALLGATHER, Timeout(ms)=600000) ran for 600041 milliseconds before timing out.\n"
)
SIGNAL = "Signal 6 (SIGABRT) received by PID 998\n"


@pytest.mark.parametrize(
    ("ends", "name"),
    [
        (WATCHDOG + SIGNAL, "a collective operation timed out"),
        (SIGNAL, "the program aborted itself"),
        ("Fatal Python error: Segmentation fault\n", "native code crashed"),
    ],
)
def test_a_program_that_aborts_does_so_after_an_error(
    ends: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it says last is the consequence of what it said first."""
    run = write(tmp_path / "run", learning(90))
    (run / "train.log").write_text(f"2026-03-01 10:00:00 INFO training\n{ends}", encoding="utf-8")
    found = finding(report(run, capsys), "run-crashed")
    assert found is not None
    assert found["causes"][0]["text"].lower() == name


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ("GRPOConfig(epsilon=20.0, beta=0.001, max_steps=300)", True),
        ("GRPOConfig(epsilon=20.0, epsilon_high=None, beta=0.001, max_steps=300)", True),
        ("GRPOConfig(epsilon=0.2, epsilon_high=0.28, beta=0.001, max_steps=300)", False),
        ("GRPOConfig(epsilon=20.0, epsilon_high=5.0, loss_type='cispo', beta=0.001, max_steps=300)", False),
    ],
    ids=["one", "one, and the other unset", "usual", "CISPO bounds above alone"],
)
def test_one_clip_range_bounds_both_sides(
    config: str, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    t = np.arange(150)
    kl, reward = 0.004 + 2.0 * np.clip((t - 30) / 60, 0, 1), 0.4 + 0.15 * np.minimum(t / 40, 1)
    reward = reward - 0.3 * np.clip((t - 50) / 60, 0, 1) + wave(0, 0.02, 150, 1)
    lines = [
        str(
            {"loss": 0.001, "grad_norm": 0.5 + kl[i], "reward": reward[i], "kl": kl[i], "entropy": 0.5, "epoch": i / 99}
        )
        for i in t
    ]
    (tmp_path / "console.log").write_text("\n".join([config, *lines]) + "\n", encoding="utf-8")
    of = report(tmp_path / "console.log", capsys)
    assert (finding(of, "cfg-clip-range-wrong-scale") is not None) is told
    found = finding(of, "kl-runaway")
    assert found is not None
    wide = next(c for c in found["causes"] if "clip range is so wide" in c["text"])
    if told:
        assert (wide["status"], wide["config_key"]) == ("supported", "epsilon")

"""What holds for most runs is a condition of a cause and proves nothing. A setting is told once, as in the config."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.diagnosis import causes
from tests.unit.diagnosis.test_causes_and_config import verl
from tests.unit.diagnosis.test_planted_causes import ACTOR, CONFIG
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS = 160


def drifting() -> dict[str, np.ndarray]:
    """KL rises on while the reward, which had gained at first, does not."""
    rows = np.arange(ROWS)
    score = 0.3 + 0.12 * (1 - np.exp(-rows / 12)) + wave(0, 0.012, ROWS, 1)
    return learning(ROWS) | {"score": score, "kl": 0.002 + 0.4 * (rows / ROWS) ** 1.5 + np.abs(wave(0, 0.003, ROWS, 3))}


def test_a_gain_at_first_does_not_prove_that_the_penalty_is_weak(tmp_path: Path) -> None:
    page, _, found = told(write(tmp_path / "run", drifting()))
    assert "kl-up-reward-flat" in found["verdict"]["because"]
    assert "Proof: reward" not in found["answer"]["why"]
    assert "Proof: score" not in found["answer"]["why"]
    assert "✓ KL penalty too weak" not in page


def test_a_weak_penalty_of_the_config_is_proof_and_is_raised_to_one_that_acts(tmp_path: Path) -> None:
    page, _, found = told(verl(tmp_path / "run", drifting(), dict(CONFIG) | {f"{ACTOR}.kl_loss_coef": 1e-5}))
    assert "kl_loss_coef = 1e-5 (below" in found["answer"]["why"]
    assert "0.00001" not in page
    assert "kl_loss_coef: 1e-5 → 0.001" in page
    assert found["answer"]["why"].count("kl_loss_coef") == 1


def test_what_follows_from_a_finding_does_not_explain_it(tmp_path: Path) -> None:
    rows = np.arange(100)
    late = np.clip((rows - 45) / 30, 0, 1)
    exploding = {
        "grad": 0.3 * 10 ** (3.5 * late + wave(0, 0.1, 100, 4)),
        "kl": 0.001 + 0.0004 * rows + 0.4 * late,
        "score": 0.3 + 0.3 * np.minimum(rows, 55) / 55 - 0.35 * np.clip((rows - 55) / 40, 0, 1) + wave(0, 0.02, 100, 1),
    }
    found = told(write(tmp_path / "run", learning(100) | exploding))[2]
    assert found["verdict"]["because"][0] == "grad-norm-ramp"
    assert "Proof: the finding" not in found["answer"]["why"], found["answer"]["why"]


def swapped(folder: Path, calm: bool) -> dict[str, str]:
    """The reward falls at once at step 81: the policy is as before, or it broke in that update."""
    rows = np.arange(ROWS)
    kl, grad = np.linspace(0.001, 0.03, ROWS), wave(0.5, 0.05, ROWS, 4)
    if not calm:
        kl[80:] += 2.0
        grad[80:84] = 60.0
    score = 0.3 + 0.4 * (1 - np.exp(-rows / 20)) - 0.3 * (rows >= 80) + wave(0, 0.015, ROWS, 1)
    return dict(told(write(folder, learning(ROWS) | {"score": score, "kl": kl, "grad": grad}))[2]["answer"])


def test_a_fall_that_the_policy_has_no_part_in_is_called_so_and_asks_for_no_other_policy(tmp_path: Path) -> None:
    answer = swapped(tmp_path / "run", calm=True)
    assert "for a reason outside the policy" in answer["what"]
    assert "Grade samples" in answer["do"]
    assert "rate" not in answer["do"]


def test_a_fall_of_the_policy_is_not_called_so(tmp_path: Path) -> None:
    assert "outside the policy" not in swapped(tmp_path / "run", calm=False)["what"]


@pytest.mark.parametrize("broken", ["", "KL penalty too weak for this step size"])
def test_a_cause_whose_test_raises_is_said_to_be_untested(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound = causes._weighed

    def weigh(text: Any, *ground: Any) -> Any:
        if broken in text.text:
            raise ZeroDivisionError("a fault of the test")
        return sound(text, *ground)

    monkeypatch.setattr(causes, "_weighed", weigh)
    found = told(write(tmp_path / "run", drifting()))[2]
    assert found["answer"]["why"] == "not known, as a test of a cause failed by a fault of rltui."
    assert any(one["rule"].startswith("causes of") for one in found["checks_failed"])
    lead = next(f for f in found["findings"] if f["id"] == found["verdict"]["because"][0])
    assert bool(lead["causes"]) == bool(broken)  # the others are weighed all the same


def test_a_kl_that_no_longer_rises_is_not_said_to_rise(tmp_path: Path) -> None:
    rows = np.arange(ROWS)
    kl = 0.002 + 0.4 * np.clip(rows / 90, 0, 1) ** 1.5 + np.abs(wave(0, 0.002, ROWS, 3))
    score = 0.3 + 0.12 * (1 - np.exp(-rows / 12)) + wave(0, 0.012, ROWS, 1)
    found = told(write(tmp_path / "run", learning(ROWS) | {"score": score, "kl": kl}))[2]
    summary = next((f["summary"] for f in found["findings"] if f["id"] == "kl-up-reward-flat"), "")
    assert "rose from 0.40" not in summary
    rising = told(write(tmp_path / "other", drifting()))[2]["findings"]
    assert "rose from" in next(f["summary"] for f in rising if f["id"] == "kl-up-reward-flat")


def longer(folder: Path, cut: float) -> str:
    """The first answer to "why" of a run whose answers grow without a gain, cut at the limit or not."""
    rows = np.arange(ROWS)
    late = np.clip((rows - 50) / 60, 0, 1)
    columns = {
        "length": 300 * (1 + 2.0 * late) + wave(0, 5, ROWS, 5),
        "cut": np.abs(wave(0, 0.003, ROWS, 7)) * (cut > 0) + cut * late,
        "score": 0.5 - 0.1 * late + wave(0, 0.01, ROWS, 6),
    }
    return str(told(verl(folder, learning(ROWS) | columns, CONFIG))[2]["answer"]["why"])


def test_answers_that_all_end_are_not_said_to_end_no_longer(tmp_path: Path) -> None:
    why = longer(tmp_path / "run", 0.0)
    assert "no longer end" not in why
    assert "costs nothing up to the limit. Proof" not in why


def test_answers_that_end_no_longer_are(tmp_path: Path) -> None:
    assert longer(tmp_path / "run", 0.5).startswith("Responses no longer end"), longer(tmp_path / "other", 0.5)


def test_a_grader_that_fails_after_the_fall_did_not_make_it(tmp_path: Path) -> None:
    """The policy breaks at step 1501; from step 1561 on the reward is no number in most rows."""
    rows = 1600
    draw = np.random.default_rng(5)
    at = np.arange(rows)
    lost = np.clip((at - 1500) / 40, 0, 1)
    score = 0.3 + 0.5 * (1 - np.exp(-at / 300)) - 0.7 * lost + wave(0, 0.02, rows, 1)
    score[1560:][draw.random(rows - 1560) < 0.6] = np.nan
    kl = np.linspace(0.001, 0.03, rows) + 3 * lost
    answer = told(write(tmp_path / "run", learning(rows) | {"score": score, "kl": kl}))[2]["answer"]
    assert "outside the policy" not in answer["what"]


@pytest.mark.parametrize("critic", [True, False])
def test_beside_another_critical_fault_a_fall_is_not_laid_outside_the_policy(critic: bool, tmp_path: Path) -> None:
    """The reward falls at once and the updates were calm, but the critic had diverged before."""
    rows = np.arange(ROWS)
    late = np.clip((rows - 60) / 15, 0, 1) * critic
    score = 0.3 + 0.4 * (1 - np.exp(-rows / 20)) - 0.3 * (rows >= 80) + wave(0, 0.015, ROWS, 1)
    columns = {"score": score, "critic/vf_loss": 0.08 * np.exp(6 * late + wave(0, 0.1, ROWS, 8))}
    columns["critic/vf_explained_var"] = 0.55 - 3.5 * late + wave(0, 0.05, ROWS, 9)
    found = told(write(tmp_path / "run", learning(ROWS) | columns))[2]
    others = [f for f in found["findings"] if f["id"] == "critic-uninformative" and f["severity"] == "critical"]
    assert bool(others) == critic
    assert ("outside the policy" in found["answer"]["what"]) == (not critic), found["answer"]["what"]

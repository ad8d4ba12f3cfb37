"""A note that costs time or signal is named by the headline of a run that nothing else speaks against."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, wave, write
from tests.unit.reported import told

ROWS = 280
DEAD = "critic/rewards/frac_zero_std"


def rising() -> np.ndarray:
    """A score that rises to the end, far from its ceiling."""
    return 0.2 + 0.3 * np.arange(ROWS) / ROWS + wave(0, 0.02, ROWS)


def groups(share: float) -> dict[str, Any]:
    """TRL's share of groups without variance beside a score that rises."""
    shares = np.clip(wave(share, 0.02, ROWS, 3), 0, 1)
    return learning(ROWS) | {"score": rising(), "frac_reward_zero_std": shares}


@pytest.mark.parametrize("share", [0.88, 0.92])
def test_a_batch_of_which_nearly_nothing_teaches_is_not_called_clear(tmp_path: Path, share: float) -> None:
    page, _, said = told(write(tmp_path / "run", groups(share), end=True))
    text = said["verdict"]["text"]
    assert said["verdict"]["decision"] == "continue"
    assert text.startswith("No fault found, but some zero-variance groups: ")
    assert "of the groups have no reward variance" in text
    assert "there is nothing to explain" not in page
    assert "No open finding needs a cause" not in page


def test_a_batch_of_which_half_teaches_is_clear(tmp_path: Path) -> None:
    page, _, said = told(write(tmp_path / "run", groups(0.5)))
    assert said["verdict"]["text"].startswith("All clear: ")
    assert "there is nothing to explain" in page


def slower(by: float, longer: float = 1.0) -> dict[str, Any]:
    """Steps that take so many times as long from row 140 on, with answers so many times as long."""
    grown = np.where(np.arange(ROWS) < 140, 1.0, by)
    length = 300 * np.where(np.arange(ROWS) < 140, 1.0, longer) * (1 + wave(0, 0.01, ROWS, 4))
    return learning(ROWS) | {
        "score": rising(),
        "step_s": 40 * grown * (1 + wave(0, 0.02, ROWS, 5)),
        "length": length,
    }


def test_steps_that_take_far_longer_and_only_partly_for_longer_answers_are_told(tmp_path: Path) -> None:
    _page, _, said = told(write(tmp_path / "run", slower(1.65, 1.2)))
    found = finding(said, "step-time-regression")
    assert found is not None
    assert found["severity"] == "info"
    assert said["verdict"]["text"].startswith("No fault found, but steps take longer than the best ones: ")
    assert "times its best" in said["verdict"]["text"]


def test_steps_that_take_longer_as_answers_do_are_clear(tmp_path: Path) -> None:
    said = told(write(tmp_path / "run", slower(1.65, 1.65)))[2]
    assert said["verdict"]["text"].startswith("All clear: ")


def test_weights_that_are_old_beside_a_gain_are_told(tmp_path: Path) -> None:
    stale = {"staleness_mean": wave(5.0, 0.2, ROWS, 6)}
    said = told(write(tmp_path / "run", learning(ROWS) | {"score": rising()} | stale))[2]
    assert said["verdict"]["text"].startswith("No fault found, but rollouts somewhat stale: ")


def test_a_critic_that_explains_next_to_nothing_is_told_with_its_learning_rate(tmp_path: Path) -> None:
    run = write(
        tmp_path / "run",
        learning(ROWS)
        | {
            "score": rising(),
            "critic/vf_explained_var": wave(0.02, 0.01, ROWS, 7),
            "critic/vf_loss": wave(0.4, 0.02, ROWS, 8),
        },
    )
    (run / "config.yaml").write_text(
        "algorithm:\n  adv_estimator: gae\ncritic:\n  optim:\n    lr: 2.0e-8\n"
        "actor_rollout_ref:\n  actor:\n    optim:\n      lr: 1.0e-6\n",
        encoding="utf-8",
    )
    _page, _, said = told(run)
    found = finding(said, "critic-uninformative")
    assert found is not None
    assert found["severity"] == "info"
    assert said["verdict"]["text"].startswith("No fault found, but critic predicts poorly: ")
    assert "lr = 2e-8" in said["answer"]["why"]


@pytest.mark.parametrize("key", ["timing_s/data_load", "timing_s/dataloader"])
@pytest.mark.parametrize(("wait", "level"), [(30.0, "info"), (90.0, "warning")])
def test_steps_that_wait_for_data_name_the_loader(tmp_path: Path, key: str, wait: float, level: str) -> None:
    waits = np.where(np.arange(ROWS) < 150, 0.5, wait) * (1 + wave(0, 0.02, ROWS, 11))
    longer = np.where(np.arange(ROWS) < 150, 300.0, 350.0) * (1 + wave(0, 0.01, ROWS, 12))
    generation, update = wave(24, 0.5, ROWS, 13), wave(22, 0.5, ROWS, 14)
    columns = {key: waits, "timing_s/gen": generation, "timing_s/update_actor": update}
    timed = columns | {"step_s": waits + generation + update, "length": longer}
    said = told(write(tmp_path / "run", learning(ROWS) | {"score": rising()} | timed))[2]
    found = finding(said, "step-time-regression")
    assert found is not None
    assert found["severity"] == level
    assert said["answer"]["why"].startswith("Steps wait for the data loader. Proof: ")
    assert "Load data from a local disk" in said["answer"]["do"]


def test_saves_that_take_most_of_the_time_are_not_called_clear(tmp_path: Path) -> None:
    at = np.arange(1, ROWS + 1)
    saves = {"timing_s/save_checkpoint": np.where(at % 10 == 0, 400.0, 0.0)}
    _page, _, said = told(write(tmp_path / "run", learning(ROWS) | {"score": rising()} | saves))
    assert said["verdict"]["text"].startswith("No fault found, but checkpoints take a visible share of the time: ")

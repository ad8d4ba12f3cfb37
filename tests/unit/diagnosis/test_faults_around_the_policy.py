"""Faults that no metric names by itself: a grader that says so without a logger, weights that no longer arrive, a
sampler that changed, a slower disk, a batch that shrank, LoRA at the rate of full training. And what looks like them
and is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import VERL, finding, learning, report, wave, write

ROWS, AT = 200, 120
AFTER = np.arange(ROWS) >= AT
GAP = "training/rollout_probs_diff_mean"


def asked(
    folder: Path, columns: dict[str, np.ndarray], capsys: pytest.CaptureFixture[str], config: Any = None, log: str = ""
) -> dict[str, Any]:
    write(folder, columns)
    if config:
        (folder / "config.json").write_text(json.dumps(config))
    if log:
        (folder / "train.log").write_text(log)
    return report(folder, capsys)


def console(columns: dict[str, np.ndarray], beside: dict[int, str]) -> str:
    """A log with a line a step, and others before some of them."""
    out = []
    for i in range(len(next(iter(columns.values())))):
        out += [beside[i]] if i in beside else []
        row = " - ".join(f"{name}:{values[i]:.5f}" for name, values in columns.items())
        out.append(f"step:{i + 1} - {row}")
    return "\n".join(out) + "\n"


@pytest.mark.parametrize(
    "said",
    [
        "(RewardManager pid=77) sandbox: request timed out after 30s, returning score 0.0",
        "[grader] timeout while scoring completion",
        "reward_fn failed on sample 12: list index out of range",
    ],
)
def test_a_grader_that_fails_in_its_own_words(said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    less = 1 - 0.8 * np.clip((np.arange(ROWS) - AT) / 50, 0, 1)
    run = learning(ROWS)
    rows = {"critic/score/mean": run["score"] * less, "actor/entropy": run["entropy"], "actor/kl_loss": run["kl"]}
    (tmp_path / "train.log").write_text(console(rows, dict.fromkeys(range(AT, ROWS, 3), said)))
    why = report(tmp_path, capsys)["answer"]["why"]
    assert why.startswith("The reward service fails. Proof: the log says"), why


@pytest.mark.parametrize(
    "said", ["reward 0.53 | failed 3", "sandbox timeout = 30", "the sandbox asks again if a request timed out"]
)
def test_counts_and_settings_of_a_grader_are_no_failure(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    less = 1 - 0.8 * np.clip((np.arange(ROWS) - AT) / 50, 0, 1)
    run = learning(ROWS)
    rows = {"critic/score/mean": run["score"] * less, "actor/entropy": run["entropy"], "actor/kl_loss": run["kl"]}
    (tmp_path / "train.log").write_text(console(rows, dict.fromkeys(range(AT, ROWS, 3), said)))
    assert "the log says" not in report(tmp_path, capsys)["answer"]["why"]


def test_weights_that_no_longer_arrive_are_no_clear_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was learnt before excuses no gap that opened since."""
    run = learning(ROWS)
    run["score"] = np.where(AFTER, run["score"][AT], run["score"]) + wave(0, 0.01, ROWS, 31)
    run[GAP] = np.abs(wave(0.004, 0.0004, ROWS, 32)) + 0.15 * np.clip((np.arange(ROWS) - AT) / 50, 0, 1)
    found = asked(tmp_path, run, capsys)
    told = finding(found, "mismatch-high")
    assert told is not None
    assert told["severity"] != "info"
    assert found["answer"]["why"].startswith("Stale weights, or a failed sync")


def test_a_gap_that_was_there_all_along_costs_a_learning_run_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS) | {GAP: np.abs(wave(0.02, 0.001, ROWS, 33))}
    run["score"] = 0.2 + 0.5 * np.arange(ROWS) / ROWS + wave(0, 0.015, ROWS, 34)
    found = asked(tmp_path, run, capsys)
    assert found["verdict"]["decision"] in ("continue", "continue-watch")
    assert "ampler" not in found["answer"]["what"]


def test_a_sampler_that_changed_at_one_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    run[GAP] = np.where(AFTER, 0.08, 0.004) * np.exp(wave(0, 0.08, ROWS, 35))
    run["score"] = run["score"] * (1 - 0.4 * np.clip((np.arange(ROWS) - AT) / 50, 0, 1))
    found = asked(tmp_path, run, capsys)
    told = finding(found, "mismatch-high")
    assert told is not None
    assert told["causes"][0]["text"].startswith("The sampler changed at one step")


def test_saves_that_take_longer_than_the_first_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    saved = (np.arange(ROWS) + 1) % 10 == 0
    run["timing_s/save_checkpoint"] = np.where(saved, np.where(AFTER, 300.0, 8.0), 0.0)
    told = finding(asked(tmp_path, run, capsys, {"trainer.save_freq": 10}), "checkpoint-slow")
    assert told is not None
    assert told["causes"][0]["text"].startswith("The file system of the checkpoints became slower")
    assert "50 % of the time" in told["summary"], "the time between two saves holds the save"


def test_lora_at_the_rate_of_full_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS) | {"score": wave(0.3, 0.015, ROWS, 36), "kl": np.abs(wave(1e-4, 1e-5, ROWS, 37))}
    run["entropy"] = wave(0.8, 0.01, ROWS, 38)
    rate = {"actor_rollout_ref.actor.optim.lr": 1e-6, "actor_rollout_ref.actor.use_kl_loss": True}
    lora = {"actor_rollout_ref.model.lora_rank": 16}
    low = "Learning rate too low for LoRA"
    assert asked(tmp_path / "a", run, capsys, rate | lora)["answer"]["why"].startswith(low)
    assert not asked(tmp_path / "b", run, capsys, rate)["answer"]["why"].startswith(low)


@pytest.mark.parametrize(
    ("fewer", "says"), [(True, "Fewer responses make up a row"), (False, "Grading became noisier")]
)
def test_noise_of_a_smaller_batch_is_in_all_means(
    fewer: bool, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["score"] = 0.5 + np.where(AFTER, wave(0, 0.1, ROWS, 39), wave(0, 0.02, ROWS, 40))
    if fewer:
        run["length"] = 300 + np.where(AFTER, wave(0, 25, ROWS, 41), wave(0, 5, ROWS, 42))
    told = finding(asked(tmp_path, run, capsys), "reward-noise-dominates")
    assert told is not None
    assert told["causes"][0]["text"].startswith(says)


@pytest.mark.parametrize(("size", "rule"), [(0.3, "reward-peak-decline"), (0.5, "reward-collapse")])
def test_a_penalty_switched_on_is_named(
    size: float, rule: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    right = run["score"]
    fine = np.where(AFTER, -size, 0.0) + wave(0, 0.005, ROWS, 43) * AFTER
    run |= {"score": right + fine, "reward_extra_info/acc/mean": right, "reward_extra_info/overlong_penalty/mean": fine}
    told = finding(asked(tmp_path, run, capsys), rule)
    assert told is not None
    assert told["causes"][0]["text"].startswith("Another part of the reward fell, and the task did not")
    assert "overlong_penalty" in told["causes"][0]["because"]


@pytest.mark.parametrize("rows", [40, 60])
@pytest.mark.parametrize("said", ["judge request timed out after 30s, score set to 0", ""])
def test_a_grader_that_fails_on_half_of_few_rows(
    said: str, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KL to the reference has a trend in so short a run: that is no unusual update."""
    half = rows // 2
    run = learning(rows)
    run["kl"] = np.linspace(0.0, 0.03, rows) * np.exp(wave(0, 0.05, rows, 51))
    run["score"] = np.where(np.arange(rows) >= half, 0.5, 1.0) * run["score"]
    columns = {VERL[name]: values for name, values in run.items()}
    (tmp_path / "train.log").write_text(console(columns, dict.fromkeys(range(half, rows), said) if said else {}))
    (tmp_path / "config.json").write_text(json.dumps({"trainer.total_epochs": 4}))
    why = report(tmp_path, capsys)["answer"]["why"]
    assert why.startswith("The reward service fails" if said else "The data, the grader or the tools changed"), why


@pytest.mark.parametrize("epochs", [1, 4])
def test_a_plan_of_several_epochs_does_not_prove_that_data_repeat(
    epochs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["score"] = run["score"] + 0.2 * np.clip((np.arange(ROWS) - AT) / 60, 0, 1)
    run["val"] = 0.3 + 0.2 * np.clip(np.arange(ROWS) / AT, 0, 1) - 0.2 * np.clip((np.arange(ROWS) - AT) / 60, 0, 1)
    write(tmp_path, run, every={"val": 10})
    (tmp_path / "config.json").write_text(json.dumps({"trainer.total_epochs": epochs}))
    told = finding(report(tmp_path, capsys), "train-val-divergence")
    assert told is not None
    repeated = [one["status"] for one in told["causes"] if one["text"] == "Train data repeated"]
    assert repeated == ["contradicted" if epochs == 1 else "untestable"]


def test_data_that_repeat_explain_no_train_reward_that_falls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is trained on again is answered better, not worse."""
    run = learning(ROWS)
    run["score"] = run["score"] * (1 - 0.4 * np.clip((np.arange(ROWS) - AT) / 60, 0, 1))
    run["training/epoch"] = np.linspace(0, 2.4, ROWS)
    found = asked(tmp_path, run, capsys, {"trainer.total_epochs": 3})
    fallen = [one for one in found["findings"] if one["id"].startswith("reward-")]
    assert fallen
    assert not [
        c["text"] for one in fallen for c in one["causes"] if "repeat" in c["text"] and "truncated" not in c["text"]
    ]


def test_an_update_that_broke_the_policy_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    run["score"] = run["score"] * np.where(AFTER, 0.1, 1.0)
    run["entropy"] = run["entropy"] * np.where(AFTER, 3.0, 1.0)
    run["kl"] = run["kl"] + 0.5 * AFTER
    told = finding(asked(tmp_path, run, capsys), "entropy-explosion")
    assert told is not None
    assert told["causes"][0]["text"].startswith("An update broke the policy")


def test_a_grader_that_failed_once_long_before_proves_nothing_beside_a_restart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["score"] = run["score"] * np.where(np.arange(ROWS) >= 160, 0.4, 1.0)
    rows = {VERL[name]: values for name, values in run.items()}
    said = {
        5: "judge request timed out, asking again",
        160: "Resuming from global_step_160\nrollout.temperature changed: 1.0 -> 1.5",
    }
    (tmp_path / "train.log").write_text(console(rows, said))
    why = report(tmp_path, capsys)["answer"]["why"]
    assert why.startswith("Settings changed with the restart"), why
    assert "the log says: “rollout.temperature changed: 1.0 -> 1.5”" in why


def test_tools_that_fail_are_no_failing_grader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    run["score"] = run["score"] * np.where(AFTER, 0.3, 1.0)
    rows = {VERL[name]: values for name, values in run.items()}
    said = dict.fromkeys(range(AT, ROWS, 4), "ERROR sandbox_tool.py:88 tool call failed: ConnectionError: sandbox:8080")
    (tmp_path / "train.log").write_text(console(rows, said))
    turns = {"actor_rollout_ref.rollout.multi_turn.enable": True, "actor_rollout_ref.rollout.multi_turn.max_turns": 6}
    (tmp_path / "config.json").write_text(json.dumps(turns))
    assert report(tmp_path, capsys)["answer"]["why"].startswith("Tool calls fail")


def test_a_loss_that_sums_over_tokens_leads_where_answers_grow_for_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = learning(ROWS)
    run["score"] = wave(0.4, 0.01, ROWS, 61)
    run["length"] = 300 * (1 + 5 * np.clip((np.arange(ROWS) - 30) / 150, 0, 1)) + wave(0, 5, ROWS, 62)
    config = {"actor_rollout_ref.actor.loss_agg_mode": "seq-mean-token-sum", "data.max_response_length": 8192}
    told = finding(asked(tmp_path, run, capsys, config), "length-explosion")
    assert told is not None
    assert told["causes"][0]["text"].startswith("Length bias of the loss")


def leapt(found: dict[str, Any]) -> bool:
    told = finding(found, "reward-scale-shift")
    return told is not None and "at once at step" in told["summary"]


def test_another_reward_model_is_no_gain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    run["score"] = np.where(AFTER, 0.3 * run["score"] + 1.4, run["score"])
    found = asked(tmp_path, run, capsys)
    assert leapt(found)
    assert "changed its scale" in found["answer"]["what"]


@pytest.mark.parametrize("what", ["an outage that ended", "the policy moved too", "quick learning"])
def test_a_reward_that_leaps_for_other_reasons(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = learning(ROWS)
    if what == "an outage that ended":
        run["score"] = np.where((np.arange(ROWS) > 90) & ~AFTER, 0.0, run["score"])
    elif what == "the policy moved too":
        run["score"] = run["score"] + 0.4 * AFTER
        run["kl"] = run["kl"] * np.where(AFTER, 4.0, 1.0)
    else:
        run["score"] = 0.1 + 0.8 / (1 + np.exp(-(np.arange(ROWS) - AT) / 4)) + wave(0, 0.01, ROWS, 71)
    assert not leapt(asked(tmp_path, run, capsys))

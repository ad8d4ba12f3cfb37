"""Words before a metric's name that say what it is of, and what a name means beside others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rltui.frameworks.resolve import resolve
from tests.unit.readers.reported import ends, reported

HELD_OUT = (
    *("Val accuracy", "val_acc", "Valid reward", "Eval reward", "Test acc", "dev/acc", "Dev accuracy", "dev_score"),
    *("eval/Accuracy", "Val mean reward", "eval/avg_reward", "val/mean_reward", "evaluation/reward", "reward/val"),
    *("Held-out accuracy", "holdout/acc", "Val Pass@1", "Validation score", "Val total_rewards_mean", "valid_accuracy"),
)
DETAILS = ("Val kl", "Val total_rewards_std", "Val token accuracy", "Val took")
OTHERS = {
    "Accuracy": "score_mean",
    "Train accuracy": "score_mean",
    "Training accuracy": "score_mean",
    "Average response length": "response_length_mean",
    "valid_loss": "val_loss",
    "dev_loss": "val_loss",
    "Value loss": "vf_loss",
    "value_loss": "vf_loss",
    "interval": None,
    "interval_reward": None,
    "valid_rate": None,
    "valid_action_ratio": None,
    "latest_reward": None,
    "evaluate_response": None,
    "reward/evaluate_response": "reward_component_mean",
}


@pytest.mark.parametrize("key", HELD_OUT)
def test_a_score_that_says_that_it_is_held_out(key: str) -> None:
    assert resolve(key, None).canonical == "val_score"


@pytest.mark.parametrize("key", DETAILS)
def test_what_else_is_held_out(key: str) -> None:
    assert resolve(key, None).canonical == "val_aux"


@pytest.mark.parametrize("key", OTHERS)
def test_what_is_not(key: str) -> None:
    assert resolve(key, None).canonical == OTHERS[key]


def _lines(path: Path, train: str, val: str, every: int = 10, head: str = "") -> Path:
    lines = [head] if head else []
    for step in range(1, 41):
        lines.append(train.format(n=step, x=0.5 + step / 100))
        if step % every == 0:
            lines.append(val.format(n=step, x=0.4 + step / 1000))
    (path / "train.log").write_text("\n".join(lines) + "\n")
    return path


def test_accuracy_in_rows_of_the_training_is_no_validation(tmp_path: Path) -> None:
    train, val = "Iter {n}: Train loss 0.4, Accuracy {x:.3f}, Reward 0.14", "Iter {n}: Val loss 0.48, Val accuracy {x}"
    report = reported(_lines(tmp_path, train, val))
    assert ends(report, "val_score") == (4, 0.41, 0.44)
    assert ends(report, "score_mean") == (40, 0.51, 0.9)


PAIRS = {
    "words": ("Chosen reward 0.2, Rejected reward -0.1, Accuracy {x:.3f}, Margin 0.3", "Margin"),
    "short": ("chosen_r 0.2, rejected_r -0.1, acc {x:.3f}, margin 0.3", "margin"),
}


@pytest.mark.parametrize("case", PAIRS)
def test_accuracy_beside_rewards_of_pairs_is_of_the_preference(case: str, tmp_path: Path) -> None:
    head = "Starting DPO training..., iters: 100"
    val = "Iter {n}: Val loss 0.6, Val chosen reward 0.1, Val accuracy {x}"
    report = reported(_lines(tmp_path, "Iter {n}: loss 0.4, " + PAIRS[case][0], val, head=head))
    assert (report["run"]["algorithm"], report["run"]["steps"]["total"]) == ("DPO", 100)
    assert ends(report, "dpo_accuracy") == (40, 0.51, 0.9)
    assert report["metrics"]["dpo_reward_margin"]["key"] == PAIRS[case][1]
    assert {"dpo_reward_chosen", "dpo_reward_rejected", "val_score"} <= set(report["metrics"])
    assert "score_mean" not in report["metrics"]


def test_a_plan_and_an_algorithm_in_the_line_that_begins(tmp_path: Path) -> None:
    head = "Starting GRPO training with 3 reward functions..., iters: 100"
    train, val = "Iter {n}: Train loss 0.1, Total rewards mean {x:.3f}, KL 0.001", "Iter {n}: Val loss 0.1, Val kl 0.02"
    report = reported(_lines(tmp_path, train, val, head=head))
    assert (report["run"]["algorithm"], report["run"]["steps"]["total"]) == ("GRPO", 100)
    assert ends(report, "kl_ref") == (40, 0.001, 0.001)
    (tmp_path / "train.log").open("a").write("Saved final weights to adapters/adapters.safetensors.\n")
    assert reported(tmp_path)["run"]["state"] == "finished"


def _meaning_of(path: Path, key: str, others: Mapping[str, float]) -> str | None:
    cells = " ".join(f"{name}={value}" for name, value in {key: 0.5, **others}.items())
    (path / "train.log").write_text("".join(f"step {n} {cells} x={n}\n" for n in range(1, 21)))
    return next((name for name, found in reported(path)["metrics"].items() if found["key"] == key), None)


def test_val_loss_is_of_the_critic_beside_a_policy_loss_alone(tmp_path: Path) -> None:
    assert _meaning_of(tmp_path, "val_loss", {"policy_loss": 0.1, "entropy": 1.0}) == "vf_loss"
    assert _meaning_of(tmp_path, "val_loss", {"loss": 0.1, "entropy": 1.0}) == "val_loss"
    assert _meaning_of(tmp_path, "val_loss", {"policy_loss": 0.1, "val_acc": 0.5}) == "val_loss"
    assert _meaning_of(tmp_path, "val_loss", {"policy_loss": 0.1, "value_loss": 0.5}) == "val_loss"


def test_accuracy_and_margin_without_pairs(tmp_path: Path) -> None:
    assert _meaning_of(tmp_path, "acc", {"reward": 0.1, "chosen_reward": 0.2}) == "score_mean"
    assert _meaning_of(tmp_path, "margin", {"reward": 0.1}) == "margin"

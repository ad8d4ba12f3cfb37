"""Which cause a report leads with, on runs that are written here: what the log says of a restart, settings that are far
from usual, notes that had stood for long; and how its proof is worded."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.prose import each_once
from tests.evaluation.causes.measure import ask
from tests.unit.reported import told

LOST = "The optimiser's state was not restored at a restart"
RESTART = "Something changed at a restart"
SAYS = (
    "WARNING: optimizer.pt not found in checkpoint-120, optimizer and scheduler are initialised anew",
    "WARNING could not load optimizer state from /ckpt/120: starting without it",
    "Resuming from checkpoint at step 120: optimizer state not found, starting fresh",
)


def fallen(folder: Path, said: str, resumed: int = 120) -> str:
    """The first answer to "why" of a run that falls at step 121, and that was resumed with this line."""
    draw = random.Random(3)
    folder.mkdir()
    lines = []
    for n in range(1, 241):
        late = n > 120
        reward = 0.3 + 0.3 * min(n, 120) / 120 - 0.28 * late + draw.gauss(0, 0.015)
        norm = 0.4 * (1 + 6 * late * 0.97 ** (n - 120)) * (1 + draw.gauss(0, 0.1))
        row = {"loss": 0.01, "grad_norm": norm, "learning_rate": 1e-6, "reward": reward, "kl": 0.01 + 0.1 * late}
        lines += [str({**row, "epoch": n / 240}), f"{n}/240 [{n:02}:00<10:00,  7.00s/it]"]
        if n == resumed:
            lines += [f"Resuming training from checkpoint-{n}", said]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return str(told(folder)[2]["answer"]["why"])


@pytest.mark.parametrize("said", SAYS)
def test_what_the_log_says_of_the_optimiser_leads(said: str, tmp_path: Path) -> None:
    why = fallen(tmp_path / "run", said)
    assert why.startswith(f"{LOST}. Proof: the log says at step 120: “"), why
    assert "ptimizer" in why.split("“")[1]


@pytest.mark.parametrize("said", ["", "INFO optimizer state loaded from checkpoint-120"])
def test_a_restart_that_lost_nothing_is_not_said_to_have(said: str, tmp_path: Path) -> None:
    assert fallen(tmp_path / "run", said).startswith(RESTART)


def test_an_optimiser_lost_long_before_is_no_cause(tmp_path: Path) -> None:
    assert not fallen(tmp_path / "run", SAYS[0], resumed=20).startswith(LOST)


@pytest.mark.parametrize(
    "plant",
    [
        "the optimiser starts anew at a resume",
        "the optimiser starts anew in silence",
        "the clip range lets all through",
        "a high rate did no harm for long, then answers run away",
        "the critic breaks",
    ],
)
def test_the_planted_cause_is_told_first(plant: str) -> None:
    found = ask(plant, 74001)
    assert found.result == "leads", (found.what, found.why, found.findings)
    assert not found.refuted


def test_pairs_whose_labels_are_random_are_named(tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = []
    for n in range(1, 201):
        chosen, margin = -0.02 * n / 20 + draw.gauss(0, 0.02), draw.gauss(0, 0.015) + 0.0002 * n
        row = {"step": n, "loss": 0.693 - margin / 2, "rewards/chosen": chosen, "rewards/rejected": chosen - margin}
        row |= {"rewards/accuracies": 0.505 + draw.gauss(0, 0.03), "rewards/margins": margin, "learning_rate": 5e-7}
        rows.append(row | {"logps/chosen": -210 - n / 25 + draw.gauss(0, 1), "logps/rejected": -215 - n / 25})
    (tmp_path / "dpo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    why = told(tmp_path)[2]["answer"]["why"]
    assert why.startswith("The preference labels are close to random")
    assert why.count("preference accuracy is") == 1, "both limits stand behind one number"


def pairs(held_out: float, rate: float = 5e-7) -> list[dict[str, float]]:
    """DPO that learns its training pairs by heart; of the validation pairs this share is told apart all along. The
    loss of the validation pairs rises."""
    draw = random.Random(6)
    rows: list[dict[str, float]] = []
    for n in range(5, 401, 5):
        learnt = 1 - 0.99**n
        row = {"step": n, "loss": 0.693 - 0.25 * learnt, "grad_norm": 15 + draw.gauss(0, 1), "epoch": n / 150}
        row |= {"rewards/accuracies": 0.5 + 0.33 * learnt + draw.gauss(0, 0.02), "rewards/margins": 0.8 * learnt}
        rows.append(row | {"learning_rate": rate * min(1.0, n / 40)})
        if n % 25 == 0:
            told_apart = held_out + draw.gauss(0, 0.015)
            loss = 0.69 + 0.1 * learnt + draw.gauss(0, 0.003)
            rows.append({"step": n, "eval_loss": loss, "eval_rewards/accuracies": told_apart})
    return rows


def why_of(folder: Path, rows: list[dict[str, float]]) -> str:
    (folder / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(told(folder)[2]["answer"]["why"])


@pytest.mark.parametrize("held_out", [0.5, 0.64])
def test_labels_that_no_validation_pair_follows(held_out: float, tmp_path: Path) -> None:
    why = why_of(tmp_path, pairs(held_out))
    assert why.startswith("The labels of the pairs are close to random") == (held_out == 0.5), why
    assert "learning rate" not in why, "a warm-up is no jump"


def test_a_rate_that_jumps_after_a_warm_up_is_still_a_jump(tmp_path: Path) -> None:
    rows = pairs(0.64)
    for row in rows:
        row |= {"learning_rate": 1.5e-6} if row["step"] > 60 and "learning_rate" in row else {}
        if "eval_loss" in row and row["step"] <= 60:
            row["eval_loss"] = 0.69 - 0.001 * row["step"]
    assert why_of(tmp_path, rows).startswith("The learning rate is too high")


@pytest.mark.parametrize("swapped", [True, False])
def test_pairs_that_are_swapped_from_one_step_on(swapped: bool, tmp_path: Path) -> None:
    rows = pairs(0.88)
    draw = random.Random(11)
    for row in rows:
        late = max(0.0, row["step"] - 150)
        if "eval_rewards/accuracies" in row and late:
            end = 0.08 if swapped else 0.62  # what is memorised tells validation pairs apart by chance at worst
            row["eval_rewards/accuracies"] = end + (0.88 - end) * 0.97**late + draw.gauss(0, 0.01)
    assert why_of(tmp_path, rows).startswith("Chosen and rejected are swapped in the training pairs") == swapped


@pytest.mark.parametrize("differ", [True, False], ids=["rewards differ", "rewards are alike"])
def test_a_gradient_of_0_from_the_first_step_on(differ: bool, tmp_path: Path) -> None:
    draw = random.Random(7)
    rows = []
    for n in range(1, 121):
        row = {"step": n, "reward": 0.45 * differ + draw.gauss(0, 0.02) * differ, "grad_norm": 0.0, "lr": 1e-6}
        row |= {"frac_reward_zero_std": 0.3 + draw.gauss(0, 0.03) if differ else 1.0, "entropy": 0.6}
        rows.append(row)
    assert why_of(tmp_path, rows).startswith("The loss does not reach what is trained") == differ
    found = next(one for one in told(tmp_path)[2]["findings"] if one["id"] == "no-learning-signal")
    causes = {one["text"].split(":")[0] for one in found["causes"] if one["status"] == "supported"}
    assert causes == {
        "The loss does not reach what is trained" if differ else "All samples of a group get the same reward"
    }


def test_pairs_that_nothing_learns_from_are_not_said_to_lack_a_reward(tmp_path: Path) -> None:
    draw = random.Random(8)
    rows = [{"step": n, "loss": 0.6931, "grad_norm": 0.0, "learning_rate": 5e-7} for n in range(5, 301, 5)]
    for row in rows:
        row |= {"rewards/accuracies": 0.5 + draw.gauss(0, 0.03), "rewards/margins": draw.gauss(0, 1e-4)}
    assert why_of(tmp_path, rows).startswith("The loss does not reach what is trained")


def test_limits_of_one_number_share_a_bracket() -> None:
    assert each_once(["n = 2", "n = 2 (below 8)", "n = 2 (over 1)", "m 3 (a)"]) == [
        "n = 2 (below 8 and over 1)",
        "m 3 (a)",
    ]


@pytest.mark.parametrize("shift", [0.0, -0.2], ids=["turned", "a penalty that grew"])
def test_a_reward_that_turns_over_beside_a_score_that_does_not(shift: float, tmp_path: Path) -> None:
    """What is trained on is the reward; the score stays what the task gives, and falls only as it is unlearnt."""
    draw = random.Random(9)
    rows = []
    for n in range(1, 161):
        score = 0.4 + 0.2 * min(n, 100) / 100 - 0.004 * max(0, n - 100) + draw.gauss(0, 0.02)
        reward = score if n < 100 else score + shift if shift else -score
        row = {"step": n, "critic/score/mean": score, "critic/rewards/mean": reward, "actor/entropy": 0.5}
        row |= {"critic/rewards/max": max(1.0, reward), "critic/rewards/min": min(0.0, reward - 0.5)}
        rows.append(
            row | {"actor/grad_norm": 0.2 + draw.gauss(0, 0.01), "response_length/mean": 500 + draw.gauss(0, 9)}
        )
    why = why_of(tmp_path, rows)
    answer = told(tmp_path)[2]["answer"]
    assert ("as if its sign were turned" in answer["what"]) == (not shift), answer["what"]
    assert why.startswith("The sign of the reward") == (not shift), why

"""Lines that only hold named numbers, a loss among them, and no step, `policy_loss: 0.1, entropy: 0.4`, are counted.
Dicts about one printed answer, `reward: {'format_reward': 1.0, 'reward': 0.0}`, are none of the training's rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import read
from tests.unit.readers.reported import refused, reported
from tests.unit.readers.test_lines_of_home_made_loops import rows

STEPS = 30
LINES = {
    "commas": "policy_loss: {sign}0.{n}, reward: 0.{n}, l2_norm: 1.5",
    "bars": "policy_loss: {sign}0.{n} | reward: 0.{n} | kl=0.02",
    "no signs": "policy_loss {sign}0.{n} reward 0.{n}",
    "of a logger": "2026-11-30 10:00:{n},123 - train - INFO - policy_loss: {sign}0.{n}, time: 2.5, reward: 0.{n}",
    "a dict behind": "policy_loss: {sign}0.{n}, kl: 0.5, scores: {{'reward': 0.{n}, 'reward_std': 0.25}}",
    "prose between": "taking a batch of 16 prompts\npolicy_loss: {sign}0.{n}, reward: 0.{n}\nsaving nothing today",
}


def log(line: str, count: int = STEPS) -> str:
    each = range(10, 10 + count)
    return "Loading the model\n" + "".join(line.format(n=n, sign="-" if n % 3 else "") + "\n" for n in each)


def expected(count: int = STEPS) -> dict[int, float]:
    return {n - 9: float(f"0.{n}") for n in range(10, 10 + count)}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_they_are_counted_and_said_to_be(line: str, tmp_path: Path) -> None:
    found = rows(tmp_path, log(line))
    assert {step: row["reward_mean"] for step, row in found.items()} == expected()
    assert [row["pg_loss"] for row in found.values()] == [
        float(f"-0.{n}" if n % 3 else f"0.{n}") for n in range(10, 10 + STEPS)
    ]
    assert reported(tmp_path / "train.log")["run"]["rows_counted"]


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_pieces_of_the_log_give_the_same(line: str) -> None:
    data = log(line).encode()
    told: list[dict[int, dict[str, float | None]]] = [{}, {}]
    for found, sizes in zip(told, ([37] * 400, ()), strict=True):
        for step, cells in read("console", data, sizes).rows:
            found.setdefault(step, {}).update(cells)
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "line",
    [
        "policy_loss: 0.5, reward: 0.{n}\nstep {step} done in 4.{n}s",
        "Step {step}/60\npolicy_loss: 0.5, reward: 0.{n}",
    ],
)
def test_a_line_beside_them_that_names_the_step_wins(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(step=n + 90, n=n) + "\n" for n in range(10, 40))
    found = {step: row["reward_mean"] for step, row in rows(tmp_path, text).items()}
    assert found == {n + 90: float(f"0.{n}") for n in range(10, 40)}


@pytest.mark.parametrize(
    "line", ["reward: 0.{n}, kl: 0.5", "best loss: 0.{n}, best reward: 0.5", "eval loss: 0.{n}, eval reward: 0.5"]
)
def test_without_a_loss_of_the_training_they_are_none(line: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(line))
    assert refused(path)


ANSWERS = [
    "prompt: what is 3 + 4?\nreward: {'format_reward': 1.0, 'answer_reward': 1.0, 'reward': 1.0}",
    "prompt: what is 3 + 5?\nreward: {'format_reward': 1.0, 'answer_reward': 0.0, 'reward': 0.0}",
    "prompt: what is 3 + 6?\nreward: {'format_reward': 0.0, 'answer_reward': 0.0, 'reward': 0.0}",
]


def test_the_rewards_of_printed_answers_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(ANSWERS[n % 3] + "\n" for n in range(30)))
    assert refused(path)


@pytest.mark.parametrize("line", ["stats: {{'loss': 0.5, 'share right': 0.{n}}}", "loss: 0.5, share right: 0.{n}"])
def test_nor_do_they_join_the_rows_that_are_counted(line: str, tmp_path: Path) -> None:
    text = "".join(line.format(n=n) + "\n" + ANSWERS[n % 3] + "\n" for n in range(10, 40))
    found = rows(tmp_path, text)
    assert len(found) == 30
    assert not [row for row in found.values() if "reward_mean" in row or "answer_reward" in row]


@pytest.mark.parametrize("values", [["0.0"] * 12, ["0.0"] * 8 + ["0.25"] * 4, ["1.0", "0.0"] * 5 + ["0.5", "1.0"]])
def test_means_that_stand_at_the_floor_or_are_once_between_are_rows(values: list[str], tmp_path: Path) -> None:
    head = ["0.0", "0.0", "0.0", "0.5", "0.0"] if "1.0" in values else []
    told = [*head, *values]
    text = "".join(f"metrics: {{'reward': {x}, 'format_reward': {x}}}\n" for x in told)
    assert [row["reward_mean"] for row in rows(tmp_path, text).values()] == [float(x) for x in told]


@pytest.mark.parametrize("said", ["in step {n} new best eval_acc: 0.5", "Step {n}: new best eval_acc 0.5, saved"])
def test_a_line_that_repeats_the_best_so_far_tells_no_step_of_theirs(said: str, tmp_path: Path) -> None:
    text = log(LINES["commas"])
    lines = text.splitlines(keepends=True)
    lines.insert(2, said.format(n=1) + "\n")
    lines.insert(20, said.format(n=20) + "\n")
    found = rows(tmp_path, "".join(lines))
    assert {step: row["reward_mean"] for step, row in found.items()} == expected()

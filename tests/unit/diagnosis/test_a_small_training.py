"""What trainings of a very small model showed, whose rewards are noisy, whose KL leaves 0 at once and whose faults set
in at one step. The rows here are drawn as theirs were, with other numbers."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told, told_as_it_grows

Row = dict[str, Any]
AT, ROWS = 200, 340
CONFIG = {"algorithm": "grpo", "kl_coef": 0.02, "num_generations": 8, "total_steps": ROWS, "save_steps": 50}


def drawn(seed: int, rows: int = ROWS, shift: Callable[[int, Row], Row] = lambda n, row: row) -> list[Row]:
    """Rows of a training that hardly learns; `shift` changes what is logged of one."""
    draw = random.Random(seed)
    out = []
    for n in range(1, rows + 1):

        def near(level: float, sd: float = 0.05) -> float:
            return level * (1 + draw.gauss(0, sd))

        row = {"step": n, "reward_mean": 0.2 + 0.0001 * n + draw.gauss(0, 0.02), "reward_std": near(0.18)}
        row |= {"kl": near(0.1 * (1 - 2 ** (-n / 25)), 0.15), "entropy": near(0.8, 0.03), "grad_norm": near(0.5, 0.1)}
        row |= {"clip_fraction": abs(draw.gauss(0.002, 0.001)), "response_length": near(4, 0.01), "lr": 3e-6}
        row |= {"zero_std_frac": abs(draw.gauss(0.06, 0.03)), "step_time": near(1.1), "gen_time": near(0.6)}
        if n % 20 == 0:
            row["eval_accuracy"] = 0.1 + draw.gauss(0, 0.025)
        out.append(shift(n, row))
    return out


def written(folder: Path, rows: list[Row], **config: object) -> Path:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "config.json").write_text(json.dumps(CONFIG | config))
    return folder


def report(folder: Path, rows: list[Row], **config: object) -> Row:
    return told(written(folder, rows, **config))[2]


def reports(folder: Path, rows: list[Row], lengths: Iterable[int], **config: object) -> Iterator[Row]:
    """After so many rows each: of one run that grows."""
    for _, _, page in told_as_it_grows(written(folder, rows[:upto], **config) for upto in lengths):
        yield page


def found(page: Row, rule: str) -> Row:
    return next(f for f in page["findings"] if f["id"] == rule and f["status"] == "active")


def loud(page: Row) -> list[str]:
    return [f["id"] for f in page["findings"] if f["severity"] != "info" and f["status"] == "active"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("power", [1.0, 2.0, 2.5])
def test_a_kl_that_leaves_zero_does_not_run_away(seed: int, power: float, tmp_path: Path) -> None:
    """Its doubling time is a part of its age, whatever it comes to."""
    draw = random.Random(seed)
    rows = [
        row | {"kl": 0.06 * (n / 30) ** power * (1 + draw.gauss(0, 0.2))} for n, row in enumerate(drawn(seed, 36), 1)
    ]
    for page in reports(tmp_path, rows, (25, 30, 36)):
        assert "kl-runaway" not in loud(page)


def test_a_kl_that_grows_ever_faster_does(tmp_path: Path) -> None:
    rows = drawn(1, 200, lambda n, row: row | {"kl": row["kl"] * 2 ** (max(0, n - 150) / 10)})
    page = report(tmp_path, rows)
    assert "kl-runaway" in loud(page)
    assert abs(found(page, "kl-runaway")["onset_step"] - 150) <= 20


def test_training_alone_is_dated_where_it_set_out(tmp_path: Path) -> None:
    """The same prompts again and again from one step on: validation is too noisy to date what it has no part in."""
    rows = drawn(2, ROWS, lambda n, row: row | {"reward_mean": row["reward_mean"] + 0.004 * max(0, n - AT)})
    assert abs(found(report(tmp_path, rows), "train-val-divergence")["onset_step"] - AT) <= 25


def fewer(n: int, row: Row) -> Row:
    """An eighth of the responses: means jump more, and a step is quicker."""
    if n < AT:
        return row
    noisy = {"reward_mean": 0.2 + 3 * (row["reward_mean"] - 0.2), "step_time": 0.35 * row["step_time"]}
    return row | noisy | {"grad_norm": row["grad_norm"] * (2 + (n - AT) / 100), "gen_time": 0.5 * row["gen_time"]}


def test_fewer_responses_an_update_are_named(tmp_path: Path) -> None:
    cause = found(report(tmp_path, drawn(3, ROWS, fewer)), "grad-norm-ramp")["causes"][0]
    assert cause["status"] == "supported"
    assert "fewer responses" in cause["text"]


def test_a_growing_gradient_alone_speaks_for_no_smaller_batch(tmp_path: Path) -> None:
    rows = drawn(3, ROWS, lambda n, row: row | {"grad_norm": row["grad_norm"] * (1 + max(0, n - AT) / 40)})
    causes = {c["text"]: c["status"] for c in found(report(tmp_path, rows), "grad-norm-ramp")["causes"]}
    assert [status for text, status in causes.items() if "fewer responses" in text] == ["contradicted"]


def test_groups_of_one_answer_since_one_step(tmp_path: Path) -> None:
    def shift(n: int, row: Row) -> Row:
        return fewer(n, row) | ({"zero_std_frac": 1.0, "grad_norm": 2 * row["grad_norm"]} if n >= AT else {})

    groups = found(report(tmp_path, drawn(4, ROWS, shift)), "zero-variance-groups")
    assert groups["causes"][0]["text"].startswith("Each group holds one answer since then")
    assert groups["causes"][0]["status"] == "supported"
    assert "nothing in the batch teaches" not in groups["summary"]
    assert "and yet the gradient is at" in groups["summary"]


def test_groups_that_all_agree_without_a_gradient_teach_nothing(tmp_path: Path) -> None:
    rows = drawn(4, ROWS, lambda n, row: row | ({"zero_std_frac": 1.0, "grad_norm": 1e-4} if n >= AT else {}))
    assert "nothing in the batch teaches" in found(report(tmp_path, rows), "zero-variance-groups")["summary"]


def critic(n: int, row: Row) -> Row:
    """A critic that learns the mean within some rows, and finds no more."""
    near = random.Random(n)
    loss = (0.03 + 0.3 * 2 ** (1 - n)) * (1 + near.gauss(0, 0.2))
    return row | {"value_loss": loss, "explained_variance": -6 * 2 ** (1 - n / 2) + near.gauss(0, 0.02)}


def test_a_critic_whose_loss_fell_at_once_is_trained(tmp_path: Path) -> None:
    page = report(tmp_path, drawn(5, ROWS, critic), algorithm="ppo")
    causes = {c["text"]: c["status"] for c in found(page, "critic-uninformative")["causes"]}
    assert causes["The critic is not trained: its loss stands where it began"] == "contradicted"


def test_a_critic_that_is_as_it_was_explains_no_fall(tmp_path: Path) -> None:
    """Three of five rewards are lost in noise since one step; validation keeps what it had."""

    def shift(n: int, row: Row) -> Row:
        noise = random.Random(n).gauss(0, 0.03)
        return critic(n, row) | {"reward_mean": (0.12 if n >= AT else 0.2 + 0.0005 * min(n, AT)) + noise}

    page = report(tmp_path, drawn(6, ROWS, shift), algorithm="ppo")
    why = page["answer"]["why"]
    assert "critic" not in why, why
    assert "grader" in why or "prompts" in why, why


def test_more_updates_of_a_rollout_make_a_step_slow(tmp_path: Path) -> None:
    def shift(n: int, row: Row) -> Row:
        slow = {"step_time": row["step_time"] + 1.7, "clip_fraction": 0.12 + 8 * row["clip_fraction"]}
        return row if n < AT else row | slow

    causes = found(report(tmp_path, drawn(7, ROWS, shift)), "step-time-regression")["causes"]
    assert causes[0]["text"].startswith("More updates are made of each rollout")
    assert causes[0]["status"] == "supported"


def test_a_step_that_is_slow_with_its_updates_as_before_is_not_that(tmp_path: Path) -> None:
    rows = drawn(7, ROWS, lambda n, row: row if n < AT else row | {"step_time": row["step_time"] + 1.7})
    causes = {c["text"]: c["status"] for c in found(report(tmp_path, rows), "step-time-regression")["causes"]}
    assert [status for text, status in causes.items() if text.startswith("More updates")] == ["contradicted"]


def test_a_leap_of_the_reward_is_told_after_the_policy_has_followed_it(tmp_path: Path) -> None:
    """The reward pays for length since one step; sixty steps later the policy has found out."""

    def shift(n: int, row: Row) -> Row:
        if n < AT:
            return row
        late = n >= AT + 60
        row = row | {"reward_mean": row["reward_mean"] + (2.4 if late else 0.9)}
        return row | ({"response_length": 9.9, "kl": 1.5, "entropy": 0.5} if late else {})

    fault = found(report(tmp_path, drawn(8, ROWS, shift)), "reward-function-fault")
    assert abs(fault["onset_step"] - AT) <= 1


def test_a_reward_that_is_back_was_a_leap_for_a_time(tmp_path: Path) -> None:
    rows = drawn(8, ROWS, lambda n, row: row | {"reward_mean": row["reward_mean"] + (0.9 if 180 <= n < 240 else 0)})
    assert "reward-function-fault" not in loud(report(tmp_path, rows))


def test_a_gap_to_the_sampler_that_leapt_is_no_all_clear(tmp_path: Path) -> None:
    def shift(n: int, row: Row) -> Row:
        near = 1 + random.Random(n).gauss(0, 0.1)
        return row | {"sampler_logp_diff": (0.08 if n >= AT else 0.004) * near, "reward_mean": 0.2 + 0.001 * n}

    page = report(tmp_path, drawn(9, ROWS, shift))
    assert "All clear" not in page["verdict"]["text"]
    assert "trainer and sampler differ" in page["verdict"]["text"]


@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_has_just_begun_is_not_stopped_for_its_drift(seed: int, tmp_path: Path) -> None:
    rows = drawn(seed, 90, lambda n, row: row | {"kl": row["kl"] * (1 + n / 60)})
    assert report(tmp_path, rows, total_steps=2000)["verdict"]["decision"] != "stop-use-best"

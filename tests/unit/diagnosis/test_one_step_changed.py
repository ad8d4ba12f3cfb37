"""What one step changed in trainings of small models, drawn as theirs were: the loss, the length limit, the rate, the
weights. Each has a neighbour that must stay quiet."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.diagnosis.test_a_small_training import AT, ROWS, Row, critic, drawn, found, loud, report, reports


def leaping(n: int, row: Row) -> Row:
    near = random.Random(n).gauss(0, 0.02)
    return row | {"loss": (9.0 if n >= AT else -0.03) + near}


def test_a_loss_that_leaps_is_a_warning_with_its_step(tmp_path: Path) -> None:
    """As one that counts padding, or a coefficient of another size: nothing else need move at that step."""
    leap = found(report(tmp_path, drawn(1, ROWS, leaping)), "pg-loss-shape")
    assert (leap["severity"], leap["onset_step"]) == ("warning", AT)
    assert leap["causes"][0]["text"].startswith("The loss counts something else")
    assert leap["causes"][0]["status"] == "supported"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("course", ["noise", "ramp", "spikes", "for a while"])
def test_a_loss_that_does_not_leap_for_good_is_none(course: str, seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)

    def shift(n: int, row: Row) -> Row:
        loss = draw.gauss(0, 0.02)
        if course == "ramp":
            loss += 0.4 * max(0, n - 60) / ROWS
        if course == "spikes" and n % 40 == 0:
            loss += 1.5
        if course == "for a while" and AT <= n < AT + 30:
            loss += 0.9
        return row | {"loss": loss}

    assert "pg-loss-shape" not in loud(report(tmp_path, drawn(seed, ROWS, shift)))


def shortened(n: int, row: Row) -> Row:
    """Answers are cut at three tokens, and hardly one is right; what is left of the reward then grows a little."""
    row = row | {"reward_mean": row["reward_mean"] + 0.5, "response_length": row["response_length"] + 3}
    if n < AT:
        return row
    draw = random.Random(n)
    left = 0.001 * (1 + draw.random()) * (4 if n > AT + 35 else 1)
    return row | {"response_length": 3.0, "reward_mean": left, "reward_std": left}


def test_answers_that_end_sooner_explain_a_fall_and_no_scale_is_seen_in_what_is_left(tmp_path: Path) -> None:
    page = report(tmp_path, drawn(2, ROWS, shortened))
    assert "reward-scale-shift" not in loud(page)
    fall = found(page, "reward-collapse")
    assert abs(fall["onset_step"] - AT) <= 2
    assert fall["causes"][0]["text"].startswith("Answers end sooner since that step")
    grader = next(c for c in fall["causes"] if c["text"].startswith("The data, the grader or the tools changed"))
    assert grader["status"] == "contradicted"


@pytest.mark.parametrize("stated", [0.0, 1e-6])
def test_a_rate_of_zero_to_the_last_digit_teaches_nothing(stated: float, tmp_path: Path) -> None:
    flat = {"lr": 0.0, "kl": 0.0, "clip_fraction": 0.0}
    rows = drawn(3, ROWS, lambda n, row: row | flat | {"reward_mean": row["reward_mean"] - 0.0001 * n})
    page = report(tmp_path, rows, learning_rate=stated)
    assert "no-learning-signal" in loud(page)
    assert "rounds it away" not in str(page["findings"])


def test_a_rate_that_the_log_rounds_is_told_as_that(tmp_path: Path) -> None:
    def rounded(n: int, row: Row) -> Row:
        return {name: round(x, 4) if name != "step" else x for name, x in (row | {"lr": 0.0}).items()}

    page = report(tmp_path, drawn(3, ROWS, rounded), learning_rate=1e-6)
    assert "no-learning-signal" not in loud(page)


def test_nan_of_the_policy_counts_beside_a_critic_that_is_finite(tmp_path: Path) -> None:
    rows = drawn(4, AT, lambda n, row: critic(n, row) | {"loss": 0.001 * (-1) ** n})
    rows[-1] |= {name: float("nan") for name in ("loss", "kl", "entropy", "grad_norm")}
    page = report(tmp_path, rows, algorithm="ppo")
    first = page["findings"][0]
    assert (first["id"], first["severity"]) == ("nonfinite-values", "critical")


def test_the_loss_of_ipo_begins_high_and_falls(tmp_path: Path) -> None:
    draw = random.Random(6)
    rows = []
    for n in range(1, 301):
        left = 2 ** (-n / 90)
        row = {
            "step": n,
            "loss": 25 * left * (1 + draw.gauss(0, 0.12)),
            "lr": 3e-5,
            "grad_norm": 8 * (1 + draw.gauss(0, 0.1)),
        }
        row |= {
            "rewards/margins": 0.1 * (1 - left) + draw.gauss(0, 0.004),
            "rewards/accuracies": min(1.0, 0.7 + n / 300),
        }
        rows.append(row)
    for page in reports(tmp_path, rows, (40, 100, 300), algorithm="ipo", beta=0.1, learning_rate=3e-5):
        assert "cfg-lr-too-high" not in loud(page), page["verdict"]["text"]


def test_a_metric_in_the_midst_of_a_fall_has_changed(tmp_path: Path) -> None:
    def shift(n: int, row: Row) -> Row:
        level = min(0.6, 0.3 + 0.002 * n) if n < 250 else max(0.08, 0.6 - 0.018 * (n - 250))
        return row | {"reward_mean": level + random.Random(n).gauss(0, 0.01)}

    for page in reports(tmp_path, drawn(7, 274, shift), (266, 270, 274)):
        assert "no change beyond its noise" not in page["verdict"]["text"]


def test_a_leap_that_validation_follows_is_not_said_to_be_no_gain(tmp_path: Path) -> None:
    def shift(n: int, row: Row) -> Row:
        row = row | {"reward_mean": row["reward_mean"] + (0.4 if n >= AT + 5 else 0.0)}
        return row | ({"eval_accuracy": row["eval_accuracy"] + 0.4} if n >= AT + 5 and "eval_accuracy" in row else {})

    page = report(tmp_path, drawn(8, ROWS, shift))
    assert "and no gain" not in str(page["findings"])


def test_a_finished_run_that_borrows_one_name_of_a_framework_keeps_its_plan(tmp_path: Path) -> None:
    """TRL calls its planned steps otherwise; the config of this loop does not."""
    rows = drawn(9, ROWS, lambda n, row: row | {"completions/clipped_ratio": 0.02, "reward_mean": 0.2 + 0.001 * n})
    page = report(tmp_path, rows)
    assert page["run"]["state"] == "finished"
    assert page["run"]["steps"]["total"] == ROWS
    assert page["run"]["algorithm"] == "GRPO"


def test_no_checkpoint_is_to_be_copied_where_none_is_of_use(tmp_path: Path) -> None:
    """All that was saved came after the fault began."""

    def shift(n: int, row: Row) -> Row:
        if n < AT:
            return row | {"reward_mean": row["reward_mean"] + 0.002 * n}
        return row | {"reward_mean": 0.02, "kl": 2.5, "entropy": 0.05}

    for step in (AT + 40, AT + 80):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "model.pt").write_bytes(b"weights")
    page = report(tmp_path, drawn(10, ROWS, shift))
    told = [fix["text"] for f in page["findings"] for fix in f["fixes"]]
    assert not [text for text in told if text.startswith("Copy the best checkpoint")]

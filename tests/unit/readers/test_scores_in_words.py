"""Scores of a validation that a line tells in words, now and then between the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.reported import ends, reported

SCORES = (
    *("Percentage of correct examples: {p:.1f}", "Percentage correct: {p:.1f}%", "Percent of examples solved: {p:.1f}"),
    *("Fraction of correct answers: {a:.3f}", "percentage of correct answers on validation: {p:.1f}%"),
    *(
        "accuracy on dev: {a:.3f} ({k}/1000)",
        "Accuracy on test set: {a:.3f}",
        "accuracy on held-out problems = {a:.3f}",
    ),
    *("accuracy on gsm8k: {a:.3f} ({k}/1000)", "Mean reward over the validation prompts: {a:.3f}"),
)


def log(score: str, every: int = 10, steps: int = 40) -> list[str]:
    lines = []
    for i in range(1, steps + 1):
        lines.append(f"step {i} reward={0.1 + i / 90:.3f} loss={1 / i:.4f}")
        if i % every == 0:
            a = 0.2 + i / 100
            lines.append(score.format(a=a, p=100 * a, k=int(1000 * a)))
    return lines


def metrics(lines: list[str], folder: Path) -> dict[str, Any]:
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(folder)
    assert report["run"]["steps"]["rows"] == 40
    return report


@pytest.mark.parametrize("score", SCORES)
def test_a_score_between_the_steps_is_one_of_a_validation(score: str, tmp_path: Path) -> None:
    report = metrics(log(score), tmp_path)
    assert ends(report, "val_score") == (4, pytest.approx(0.3), pytest.approx(0.6))
    assert set(report["metrics"]) == {"reward_mean", "total_loss", "val_score"}


@pytest.mark.parametrize("score", [SCORES[0], SCORES[5]])
def test_such_a_log_in_pieces(score: str) -> None:
    text = "\n".join([*log(score, every=3, steps=7), ""])
    whole = read("console", text).rows
    assert sum("eval" in key for _, cells in whole for key in cells) == 2
    for cut in cuts(text.encode()):
        assert read("console", text, [cut]).rows == whole, cut


OTHERS = (
    *("Percentage of truncated examples: {p:.1f}", "Fraction of training data: {a:.3f}", "accuracy on train: {a:.3f}"),
    *("best accuracy on dev: {a:.3f}", "The accuracy on dev: well, {a:.3f} is what I guess.", "time on dev: {a:.3f}"),
    "accuracy on rank 0: {a:.3f}",
)


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_between_the_steps(line: str, tmp_path: Path) -> None:
    assert "val_score" not in metrics(log(line), tmp_path)["metrics"]


@pytest.mark.parametrize("line", ["Percentage of correct examples: {p:.1f}", "accuracy on gsm8k: {a:.3f}"])
def test_a_share_at_each_step_is_one_of_the_training(line: str, tmp_path: Path) -> None:
    assert "val_score" not in metrics(log(line, every=1), tmp_path)["metrics"]


def test_a_share_in_an_answer_above_the_steps(tmp_path: Path) -> None:
    lines = ["Percentage of correct examples: 43.2", "accuracy on dev: 0.4", *log("{a:.0f} of them", every=100)]
    assert "val_score" not in metrics(lines, tmp_path)["metrics"]


TEXTS = (
    *("A: The second model has", "Response: We compare both.", "=== sample ===", "<answer>", "Completion:"),
    *("--- Sample 3 ---", "[completion]", "**Answer**:", "Sample response:"),
)


@pytest.mark.parametrize("opening", TEXTS)
@pytest.mark.parametrize("score", ["accuracy on dev: 0.99", "Our results:\naccuracy on test set: 0.95", SCORES[0]])
def test_a_score_in_an_answer(opening: str, score: str, tmp_path: Path) -> None:
    lines = [f"step {i} reward=0.{i + 100} loss={1 / i:.4f}" for i in range(1, 41)]
    for at in (30, 17, 9):
        lines[at:at] = [opening, *score.format(p=43.2, a=0.4, k=4).split("\n"), "which is high."]
    assert "val_score" not in metrics(lines, tmp_path)["metrics"]


def test_an_evaluation_below_a_sample_counts_once_its_score_changed() -> None:
    lines = []
    for i in range(1, 41):
        lines.append(f"step {i} reward=0.{i + 100} loss={1 / i:.4f}")
        if i % 10 == 0:
            lines += ["Sample response: it is 4", f"accuracy on dev: 0.{i}"]
    told = [step for step, cells in read("console", "\n".join([*lines, ""])).rows if "eval/dev/accuracy" in cells]
    assert told == [20, 30, 40]


def test_the_length_of_responses_is_no_text(tmp_path: Path) -> None:
    lines = [line for line in log(SCORES[5]) for line in ([line, "response length: 311"] if "step" in line else [line])]
    assert "val_score" in metrics(lines, tmp_path)["metrics"]

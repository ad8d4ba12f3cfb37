"""Dicts that a line says to be what an evaluation found: they are of the step that the log is at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import reported
from tests.unit.readers.test_bars_of_rounds import bars
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

FOUND = "{'eval_gsm8k_pass1': 0.25, 'eval_default_score': 0.5}"
EVALUATIONS = (
    "eval_metrics: {found}",
    "INFO 11-24 18:20:01 [ppo_trainer.py:71] ✨ Evaluation completed in 12.31s: {found}",
    "Async evaluation completed: {found}",
    "(PPOTrainer pid=12) INFO 11-24 18:20:01 ppo_trainer.py:71] Evaluation results after 00:12:31 -> {found}",
    "validation scores = {found}",
    "Eval: {found}",
    "2026-11-24 18:20:01,123 - trainer - INFO - eval_metrics: {found}",
)
TRAININGS = {
    "lines of its own": "step {i} | loss {x} | reward 0.5\n",
    "dicts of a global step": "Global step {i}: {{'loss': {x}, 'reward': 0.5}}\n",
    "a heading": "INFO:trainer:===== Step {i}/300 =====\n    loss: {x}\n    reward: 0.5\n",
}
OTHERS = (
    "eval_config: {'n_samples': 8, 'temperature': 0.6}",
    "Starting evaluation with {'batch_size': 8, 'eval_steps': 50}",
    "Evaluation result: {'question': 'How many?', 'answer': 42, 'score': 1.0}",
    "evaluate({'x': 3, 'score': 4})",
    "The test is done when {'a': 1, 'b': 2}",
    "So the evaluation result is not known: {'x', 'y'}",
    "Evaluation completed in 12.3s",
    "Evaluation completed: {}",
    "results: {'loss': 7, 'score': 9}",
)


def log(training: str, evaluation: str) -> str:
    lines = (
        training.format(i=i, x=i / 64) + (evaluation.replace("{found}", FOUND) + "\n" if i % 5 == 0 else "")
        for i in range(1, 21)
    )
    return "".join(lines)


EXPECTED = {i: {"loss": i / 64, "reward": 0.5} for i in range(1, 21)}
EVALUATED = {"eval_gsm8k_pass1": 0.25, "eval_default_score": 0.5}


@pytest.mark.parametrize("evaluation", EVALUATIONS)
@pytest.mark.parametrize("training", TRAININGS)
def test_what_an_evaluation_found_is_of_the_step_above(training: str, evaluation: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(TRAININGS[training], evaluation))
    expected = {i: row | (EVALUATED if i % 5 == 0 else {}) for i, row in EXPECTED.items()}
    assert content(opened(path)) == expected
    found = reported(path)["metrics"]
    assert sorted(metric["mean"] for metric in found.values() if metric["count"] == 4) == [0.25, 0.5]
    assert found["reward_mean"]["count"] == 20


def test_an_evaluation_beside_a_bar_is_of_the_step_whose_numbers_it_shows(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    parts = []
    for part in bars(range(1, 3), early=True):
        parts.append(part)
        if " 3/8 " in part and (f"={3 / 64}," in part or f"={11 / 64}," in part):
            parts.append(f"\neval_metrics: {FOUND}\n")
    path.write_text("".join(parts))
    rows = content(opened(path))
    assert list(rows) == list(range(1, 17))
    assert [row["policy_loss"] for row in rows.values()] == pytest.approx([i / 64 for i in range(1, 17)], abs=1e-6)
    assert [step for step, row in rows.items() if EVALUATED.items() <= row.items()] == [3, 11]


@pytest.mark.parametrize("training", TRAININGS)
@pytest.mark.parametrize("other", OTHERS)
def test_other_dicts_and_words_are_no_evaluation(other: str, training: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(TRAININGS[training], other))
    assert content(opened(path)) == EXPECTED


def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    data = log(TRAININGS["lines of its own"], EVALUATIONS[1])[:700].rpartition("\n")[0].encode() + b"\n"
    whole = by_step([data])
    assert EVALUATED.items() <= whole[10].items()
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))

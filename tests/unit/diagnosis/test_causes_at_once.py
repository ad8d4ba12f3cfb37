"""Faults that began from one row to the next: a limit that became smaller, log-probs that no longer agree, a NaN out of
calm; and what is not to be named as a cause there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write

ROWS = 200
BEGINS = 120
THEN = np.arange(ROWS) >= BEGINS
GROWING = np.clip((np.arange(ROWS) - BEGINS) / 40.0, 0.0, 1.0)


def leading(run: Path, rule: str, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Text and status of the cause that leads."""
    found = finding(report(run, capsys), rule)
    assert found is not None
    return found["causes"][0]["text"], found["causes"][0]["status"]


@pytest.mark.parametrize(
    ("then", "length", "cause"),
    [
        (THEN, 140.0, "The length limit became smaller"),
        (THEN, 520.0, "The sampler changed at that step"),
        (GROWING, 520.0, "Entropy explosion: text never ends"),
    ],
    ids=["a smaller limit", "another sampler", "endless text"],
)
def test_answers_that_are_cut_say_by_their_length_and_by_how_it_began_why(
    then: np.ndarray, length: float, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No policy writes otherwise from one row to the next after updates like all others."""
    columns = learning(ROWS) | {
        "length": 300.0 + (length - 300.0) * then + wave(0, 4, ROWS, 7),
        "cut": 0.01 + 0.89 * then + np.abs(wave(0, 0.003, ROWS, 8)),
        "entropy": 0.9 + 1.0 * then + wave(0, 0.02, ROWS, 2),
    }
    columns.pop("longest")
    text, status = leading(write(tmp_path / "run", columns), "truncation-high", capsys)
    assert text.startswith(cause)
    assert status == "supported"


@pytest.mark.parametrize(
    ("clipped", "rate", "cause"),
    [
        (np.where(THEN, 0.4, 0.004), np.full(ROWS, 2e-5), "Old and new log-probs no longer agree"),
        (np.linspace(0.004, 0.4, ROWS), np.full(ROWS, 2e-5), "Learning rate too high"),
        (np.where(THEN, 0.4, 0.004), np.where(THEN, 2e-4, 2e-6), "Learning rate too high"),
    ],
    ids=["at once", "little by little", "with the learning rate"],
)
def test_tokens_that_are_clipped_at_once_are_no_learning_rate_that_always_was(
    clipped: np.ndarray, rate: np.ndarray, cause: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(ROWS) | {
        "clip": clipped + np.abs(wave(0, 0.001, ROWS, 6)),
        "kl": np.linspace(0.001, 0.2, ROWS),
        "lr": rate,
    }
    text, status = leading(write(tmp_path / "run", columns), "policy-step-too-large", capsys)
    assert text.startswith(cause)
    assert status == "supported"


@pytest.mark.parametrize("calm", [True, False])
def test_a_nan_out_of_calm_is_not_laid_to_the_learning_rate(
    calm: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grad = 0.5 * np.exp(np.zeros(ROWS) if calm else np.linspace(0.0, 3.0, ROWS)) * (1 + wave(0, 0.05, ROWS, 4))
    columns = learning(ROWS) | {"grad": np.where(np.arange(ROWS) < 180, grad, np.nan), "lr": np.full(ROWS, 2e-5)}
    columns["kl"] = np.full(ROWS, 0.01) + np.abs(wave(0, 0.0005, ROWS, 9))
    columns["loss"] = np.where(np.arange(ROWS) < 180, columns["loss"], np.nan)
    found = finding(report(write(tmp_path / "run", columns), capsys), "nonfinite-values")
    assert found is not None
    status = {cause["text"]: cause["status"] for cause in found["causes"]}
    assert status["Learning rate too high"] == ("contradicted" if calm else "untestable")  # by a note


@pytest.mark.parametrize("limited", [True, False])
def test_a_limit_of_prompts_that_nobody_knows_of_is_no_cause(
    limited: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = write(tmp_path / "run", learning(ROWS) | {"score": wave(0.3, 0.03, ROWS, 5)})
    if limited:
        (run / "config.yaml").write_text("data:\n  max_prompt_length: 512\n")
    found = finding(report(run, capsys), "reward-flat-from-start")
    assert found is not None
    named = [c for c in found["causes"] if c["text"].startswith("Prompts are cut") and c["status"] != "contradicted"]
    assert bool(named) == limited

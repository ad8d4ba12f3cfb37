"""Logs that do not count the answers that are cut, but whose mean length is one whole number in row after row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, report, wave, write
from tests.unit.rules.asked import asking

ROWS = 60
RULE, FLOOR = "truncation-high", "reward-floor"
CUT = "Responses are truncated before they end"
SELDOM = np.where(np.arange(ROWS) % 17 == 5, 0.03, 0.0)
RISES = 0.2 + 0.5 * np.arange(ROWS) / ROWS + wave(0, 0.01, ROWS, 1)
TOKENS = "completions/mean_length"


def told(folder: Path, capsys: pytest.CaptureFixture[str], **columns: Sequence[float] | np.ndarray) -> dict[str, Any]:
    own = {key.replace("__", "/"): values for key, values in columns.items()}
    base = {"score": SELDOM, "grad": wave(0.01, 0.002, ROWS, 2), "kl": wave(0.01, 0.001, ROWS, 3)}
    with asking(RULE, FLOOR):
        return report(write(folder / "run", base | own), capsys)


def proven(of: Mapping[str, Any]) -> bool:
    """Whether cut answers are the proven cause of the reward at its floor."""
    found = finding(of, FLOOR)
    return found is not None and any(c["text"] == CUT and c["status"] == "supported" for c in found["causes"])


def one(tokens: float, shorter: float | None = None) -> np.ndarray:
    """The mean length of each row, and one row in which an answer ended before."""
    return np.where((np.arange(ROWS) == 40) & (shorter is not None), shorter or 0.0, tokens)


def test_answers_that_all_have_one_length_are_all_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = told(tmp_path, capsys, length=one(128, shorter=127.8))
    found = finding(of, RULE)
    assert found is not None
    assert found["severity"] == "critical"
    assert found["onset_step"] == 1
    assert "128 tokens in 59 of 60 rows" in found["summary"]
    assert proven(of)


def test_answers_that_grew_to_one_length_are_cut_since_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grew = np.minimum(512.0, 300.3 + 7.7 * np.arange(ROWS))
    found = finding(told(tmp_path, capsys, length=grew), RULE)
    assert found is not None
    assert found["onset_step"] == int(np.argmax(grew == 512.0)) + 1


@pytest.mark.parametrize("limit", [5, None], ids=["the limit", "of a form"])
def test_answers_of_a_few_tokens(limit: int | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An answer of five tokens may have that length by its form; that it is the limit the config tells."""
    if limit is not None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "config.yaml").write_text(f"data:\n  max_response_length: {limit}\n", encoding="utf-8")
    of = told(tmp_path, capsys, length=one(5), longest=one(5))
    assert (finding(of, RULE) is not None) == (limit is not None) == proven(of)


@pytest.mark.parametrize(
    "columns",
    [
        {"length": wave(128, 0.4, ROWS, 4)},
        {"length": np.round(wave(128, 1.0, ROWS, 4))},
        {"length": one(128)[:6]},
        {"length": one(128), "longest": one(256)},
        {"length": one(128), "response_length__min": one(90)},
        {"length": one(128), "cut": one(0.0)},
        {"length": one(127.5)},
        {"mean_length": one(64)},
        {"length": one(128), "response_length_terminated_mean": one(128)},
    ],
    ids=[
        "many lengths",
        "rounded",
        "six rows",
        "some longer",
        "some shorter",
        "counted",
        "no whole number",
        "of what",
        "ended",
    ],
)
def test_no_proof_of_answers_that_are_cut(
    columns: dict[str, np.ndarray], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    of = told(tmp_path, capsys, **columns)
    assert finding(of, RULE) is None
    assert not proven(of)


def test_answers_of_one_length_that_earn_more_and_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some tasks ask for answers of one length: a note, as long as the reward rises."""
    of = told(tmp_path, capsys, length=one(48), score=RISES)
    found = finding(of, RULE)
    assert found is not None
    assert found["severity"] == "info"
    assert of["verdict"]["decision"] == "continue"


def test_answers_that_came_to_one_length_after_the_reward_was_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What came later is no cause: while the reward fell the answers still ended by themselves."""
    rows = np.arange(2 * ROWS)
    lost = np.clip(0.04 * (40 - rows), 0, 0.4) * wave(1, 0.1, 2 * ROWS, 1) + np.where(rows % 17 == 5, 0.03, 0.0)
    ran_on = np.where(rows < 80, 300 + wave(0, 5, 2 * ROWS, 2) + 8 * np.clip(rows - 30, 0, 50), 1024.0)
    columns = {"grad": wave(0.01, 0.002, 2 * ROWS, 2), "kl": wave(0.01, 0.001, 2 * ROWS, 3)}
    of = told(tmp_path, capsys, length=ran_on, score=lost, **columns)
    found = finding(of, RULE)
    assert found is not None
    assert found["onset_step"] == 81
    assert finding(of, FLOOR) is not None
    assert not proven(of)


def test_a_fall_after_a_gain_is_not_laid_to_a_length_that_always_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fell = np.where(np.arange(ROWS) < 40, RISES, RISES - 0.035 * (np.arange(ROWS) - 40))
    found = finding(told(tmp_path, capsys, length=one(48), score=fell), RULE)
    assert found is not None
    assert found["severity"] == "info"

"""A line above all steps that tells how good the model was before training: its scores are those of step 0."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.test_opened_and_grown import looked_at
from tests.unit.session.runs import content, opened

SAID = [
    "Initial eval: accuracy = 0.3125",
    "Baseline accuracy: 0.3125",
    "Validation before training: accuracy=0.3125",
    "2026-03-04 10:00:00 INFO Zero-shot GSM8K accuracy: 31.25%",
    "base model: acc 31.25% (412/1319)",
    "Initial eval reward: 0.3125, length 311.2",
]
OTHERS = [
    "baseline: 0.5",
    "initial lr: 0.001",
    "Initial KL coefficient 0.2",
    "reward baseline = 0.25",
    "pre-training: 0.5 h",
]
STEPS = {
    "named": "Step {i}: loss = {x:.4f}, reward = {y:.4f}, kl = 0.001",
    "bare": "[{i}/40] loss {x:.4f} | reward {y:.4f} | kl 0.001",
}


def log(first: str, form: str, begin: int) -> str:
    lines = ["Loading model...", first]
    for i in range(begin, begin + 40):
        lines.append(STEPS[form].format(i=i, x=0.1 - i / 9000, y=0.2 + i / 1000))
        if i % 10 == 0:
            lines.append(f"Eval: accuracy = {0.3 + i / 300:.4f}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("form", STEPS)
@pytest.mark.parametrize("first", SAID)
def test_they_are_those_of_step_0(first: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(log(first, form, 1))
    rows = content(opened(tmp_path / "train.log"))
    assert list(rows[0].values()) == [0.3125]
    assert list(rows) == list(range(41))
    assert set(rows[1]) == {"loss", "reward", "kl"}


@pytest.mark.parametrize("first", OTHERS)
def test_settings_are_none(first: str, tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(log(first, "named", 1))
    assert 0 not in content(opened(tmp_path / "train.log"))


def test_a_run_that_goes_on_was_trained_before(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(log(SAID[0], "named", 201))
    assert 0 not in content(opened(tmp_path / "train.log"))


@pytest.mark.parametrize("form", STEPS)
def test_however_the_log_is_cut(form: str) -> None:
    """Its first 22 steps, with two evaluations behind the one above them."""
    data = b"".join(log(SAID[0], form, 1).encode().splitlines(keepends=True)[:26])
    whole = looked_at([data])[0]
    assert list(whole) == list(range(23))
    assert [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole] == []


def test_a_log_that_begins_with_an_evaluation_can_be_cut_anywhere() -> None:
    """At the end of the second step, its names are new beside those of the evaluation, and it closes the first."""
    data = log("[eval] step 0 accuracy = 0.3125", "named", 1)[:400].encode()
    whole = looked_at([data])[0]
    assert [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole] == []

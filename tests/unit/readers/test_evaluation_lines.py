"""Lines that a tag says to be of an evaluation, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

B = "step {s} | loss {l:.3f} | reward {r:.3f}"
FORMS = [
    ("[train] " + B, "[eval] " + B),
    (B, "[eval] " + B),
    ("TRAIN " + B, "EVAL " + B),
    ("train: " + B, "val: " + B),
    ("train | epoch 0 | " + B, "valid | epoch 0 | " + B),
    ("Iteration {s}: reward={r:.3f}, loss={l:.3f}", "  [val] reward={r:.3f}"),
    ("INFO:train:step={s} reward={r:.3f} loss={l:.3f}", "INFO:trainer.eval:step={s} reward={r:.3f} loss={l:.3f}"),
    ("(train) Update {s} - reward: {r:.3f}, loss: {l:.3f}", "(test set) Update {s} - reward: {r:.3f}, loss: {l:.3f}"),
    ("step={s} split=train reward={r:.3f} loss={l:.3f}", "step={s} split=test reward={r:.3f} loss={l:.3f}"),
]


def exported(path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    path.write_text(text)
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(("trained", "evaluated"), FORMS)
def test_a_tagged_evaluation_is_none_of_the_trainings_steps(
    trained: str, evaluated: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = []
    for i in range(40):
        lines.append(trained.format(s=10 * i, l=0.5 - i / 100, r=i / 100))
        if i % 5 == 4:
            lines.append(evaluated.format(s=10 * i, l=9.0, r=i / 200))
    rows = exported(tmp_path / "train.log", "\n".join(lines) + "\n", capsys)
    assert [row["step"] for row in rows] == [10 * i for i in range(40)]
    assert [row["reward_mean"] for row in rows] == [i / 100 for i in range(40)]
    assert {row["step"]: row["val_score"] for row in rows if "val_score" in row} == {
        10 * i: i / 200 for i in range(4, 40, 5)
    }


def test_a_program_called_test_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its logger's name stands before every line."""
    text = "".join(f"INFO:test:step={i} reward={i / 100:.2f} loss=0.1\n" for i in range(20))
    rows = exported(tmp_path / "out.log", text, capsys)
    assert [row["reward_mean"] for row in rows] == [i / 100 for i in range(20)]
    assert not any("val_score" in row for row in rows)


def test_what_a_tag_says_without_a_measure_is_no_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "".join(
        f"step {i} | loss 0.1 | reward {i / 100:.2f}\n[test] 3 files passed in 2.1s\neval: loading shard {i} of 9\n"
        for i in range(20)
    )
    rows = exported(tmp_path / "out.log", text, capsys)
    assert [set(row) for row in rows] == [{"step", "total_loss", "reward_mean"}] * 20

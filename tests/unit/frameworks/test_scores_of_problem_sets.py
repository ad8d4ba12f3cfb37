"""A score on a set of problems that people also train on is that of an evaluation if it comes seldom."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main


def columns(log: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["export", str(log)]) == 0
    return capsys.readouterr().out.splitlines()[0].split(",")


def written(folder: Path, line: str, every: int) -> Path:
    lines = []
    for step in range(1, 61):
        lines.append(f"[step {step}] loss={0.5 - step / 900:.4f} reward={0.2 + step / 200:.3f} kl={step / 1000:.4f}")
        if step % every == 0:
            lines.append(line.format(step=step, x=f"{0.3 + step / 300:.3f}"))
    log = folder / "train.log"
    log.write_text("\n".join(lines) + "\n")
    return log


@pytest.mark.parametrize("name", ["gsm8k acc", "countdown accuracy", "math_score", "svamp exact_match"])
def test_one_that_comes_seldom_is_validation(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = columns(written(tmp_path, f"[step {{step}}] {name}: {{x}}", 20), capsys)
    assert [one for one in got if one.startswith("val_score")], got


@pytest.mark.parametrize("name", ["gsm8k acc", "math_score"])
def test_one_that_comes_with_every_batch_is_not(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = columns(written(tmp_path, f"[step {{step}}] {name}: {{x}}", 1), capsys)
    assert not [one for one in got if one.startswith("val_score")], got


def test_what_measures_no_answer_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = columns(written(tmp_path, "[step {step}] gsm8k prompts: {x}", 20), capsys)
    assert not [one for one in got if one.startswith("val_score")], got

"""A run with all its steps done whose log goes on: what was to be saved at the end may be missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from rltui.cli import main

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 310, in <module>\n    trainer.save_model("out")\n'


MORE = "loss 0.5 | kl 0.01 | entropy 1.2 | grad_norm 0.5 | lr 1e-06 | response_length 400 | step_time 30"


def steps(planned: int) -> str:
    """60 steps that learn."""
    return "".join(f"step {n}/{planned} | reward {0.2 + n / 200:.3f} | {MORE}\n" for n in range(1, 61))


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (TRACE + "OSError: [Errno 28] No space left on device: 'out/model.safetensors'\n", "disk"),
        (TRACE + "ValueError: no tokenizer was given\n", "ValueError"),
        ("Saving final model ...\nSaved.\n", ""),
    ],
)
def test_an_error_after_the_last_step_is_told(
    end: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = steps(60)
    (tmp_path / "train.log").write_text(rows + end)
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["run"]["state"] == "finished"
    assert (told in report["run"]["error_after"]) if told else report["run"]["error_after"] == ""
    assert ("look whether all was saved" in report["answer"]["do"]) == bool(told)
    assert ("up to there" in report["answer"]["what"]) == bool(told)
    assert ("All clear" in report["answer"]["what"]) == (not told)


@pytest.mark.parametrize(("planned", "clear"), [(60, True), (300, False)])
def test_what_broke_off_is_not_all_clear(
    planned: int, clear: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text(steps(planned))
    os.utime(log, (1.7e9, 1.7e9))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert ("All clear" in report["answer"]["what"]) == clear
    assert ("up to there" in report["answer"]["what"]) != clear

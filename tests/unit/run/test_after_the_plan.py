"""A run with all its steps done whose log goes on: what was to be saved at the end may be missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

TRACE = 'Traceback (most recent call last):\n  File "train.py", line 310, in <module>\n    trainer.save_model("out")\n'


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
    rows = "".join(f"step {n}/60 | reward {0.2 + n / 200:.3f} | loss 0.5 | kl 0.01\n" for n in range(1, 61))
    (tmp_path / "train.log").write_text(rows + end)
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["run"]["state"] == "finished"
    assert (told in report["run"]["error_after"]) if told else report["run"]["error_after"] == ""
    assert ("look whether all was saved" in report["answer"]["do"]) == bool(told)

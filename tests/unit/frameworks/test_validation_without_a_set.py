"""verl's scores of a validation whose data names no set, through the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

KEYS = ["val-core/acc/mean@1", "val-core//acc/mean@1", "val-core/openai/gsm8k/acc/mean@1", "val-core/reward/mean@8"]


@pytest.mark.parametrize("key", KEYS)
def test_is_the_score_of_validation(key: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step:{n} - critic/score/mean:{n / 64} - actor/grad_norm:0.5" for n in range(1, 31)]
    lines = [f"{line} - {key}:{n / 128}" if n % 5 == 0 else line for n, line in enumerate(lines, 1)]
    (tmp_path / "train.log").write_text("".join(f"{line}\n" for line in lines))
    assert main(["export", str(tmp_path / "train.log"), "--format", "jsonl"]) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert {row["step"]: row["val_score"] for row in rows if "val_score" in row} == {
        n: n / 128 for n in range(5, 31, 5)
    }

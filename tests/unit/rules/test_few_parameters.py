"""What a log says of how many parameters are trained tells an adapter from full training."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

SAID = {
    "trainable params: 24,313,856 || all params: 3,237,063,680 || trainable%: 0.7511": "LoRA",
    ' "-____-"     Trainable parameters = 41,943,040 of 8,072,204,288 (0.52% trained)': "LoRA",
    "trainable params: 3,237,063,680 || all params: 3,237,063,680 || trainable%: 100.0": "full training",
    "": "full training",
}


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("form", ["trl", "a loop of one's own"])
def test_the_band_of_the_learning_rate(
    said: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"loss": 0.1 + i / 1e3, "grad_norm": 0.4, "learning_rate": 5e-5, "reward": 0.2 + i / 200} for i in range(60)
    ]
    lines = [
        str({**row, "kl": 0.001, "epoch": i / 60})
        if form == "trl"
        else f"step {i} " + " ".join(f"{k}={x}" for k, x in row.items())
        for i, row in enumerate(rows, 1)
    ]
    (tmp_path / "train.log").write_text("\n".join([said, *lines, ""]))
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    notes = json.loads(capsys.readouterr().out)["findings"]
    (found,) = (f for f in notes if f["id"] == "cfg-lr-too-high")
    assert f"for {SAID[said]}" in found["summary"]

"""A line that a reader cannot take costs itself and no other row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rltui.readers.console.log_lines import FAILED, LogLines
from rltui.readers.console.own_words import OwnWords
from tests.unit.reported import told

STYLES = ("step {i} | loss 0.{i:03} | reward 0.5", "[Iteration {i}/40] loss=0.{i:03} reward=0.5", "{i}: loss 0.{i:03}")
ODD = ("[epoch_3]:", "epoch", "(epoch_x)", "# epoch_2 --", "*epoch*", "=== Epoch ===", "epoch: -", "[epoch]")


def write(folder: Path, style: str, odd: str) -> Path:
    lines = [style.format(i=i) + (f"\n{odd}" if i in (1, 7, 20) else "") for i in range(1, 41)]
    (folder / "train.log").write_text("\n".join(lines) + "\n")
    return folder / "train.log"


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("style", STYLES)
def test_a_line_that_names_an_epoch_without_a_number(style: str, odd: str, tmp_path: Path) -> None:
    steps = told(write(tmp_path, style, odd))[2]["run"]["steps"]
    assert (steps["first"], steps["last"], steps["rows"]) == (1, 40, 40)


def test_a_line_on_which_the_reader_fails_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = OwnWords.named

    def fails(self: OwnWords, raw: str, *others: Any) -> Any:
        if "unreadable" in raw:
            raise IndexError("list index out of range")
        return read(self, raw, *others)

    monkeypatch.setattr(LogLines, "stops_at_faults", False)
    monkeypatch.setattr(OwnWords, "named", fails)
    report = told(write(tmp_path, STYLES[0], "step unreadable | loss 3"))[2]
    assert report["run"]["steps"]["rows"] == 40
    assert any(f"{FAILED} (IndexError)" in source["note"] for source in report["run"]["sources"])

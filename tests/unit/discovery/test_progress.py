"""A search that takes long says what it looks at, on a terminal alone, and leaves nothing of it behind."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from rltui.cli import arguments, main


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def tree(folder: Path) -> Path:
    """A run among files that are none."""
    for i in range(30):
        (folder / f"notes-{i:02}.json").write_text(json.dumps({"text": "no numbers of a training"}))
    rows = [json.dumps({"step": i, "reward": i / 50, "loss": 1 / i}) for i in range(1, 40)]
    (folder / "run").mkdir()
    (folder / "run" / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    (folder / "run" / "bad\x1b[31m.json").write_text("{}")
    return folder


def shown(monkeypatch: pytest.MonkeyPatch, errors: io.StringIO, words: list[str]) -> str:
    monkeypatch.setattr(arguments, "PATIENCE_S", -1.0)
    monkeypatch.setattr(arguments, "BETWEEN_S", 0.0)
    monkeypatch.setattr(sys, "stderr", errors)
    assert main(words) == 0
    return errors.getvalue()


@pytest.mark.parametrize("command", ["runs", "report"])
def test_a_terminal_is_told_what_is_looked_at(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = shown(monkeypatch, Terminal(), [command, str(tree(tmp_path))])
    lines = said.split("\r")
    assert "looking for runs, 1 file so far: " in said
    assert any("metrics.jsonl" in line for line in lines)
    assert lines[-1] == "\x1b[K", "the line is gone"
    assert "\x1b[31m" not in said
    assert "looking for" not in capsys.readouterr().out


def test_a_file_is_told_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown(monkeypatch, io.StringIO(), ["runs", str(tree(tmp_path))]) == ""
    assert "run" in capsys.readouterr().out

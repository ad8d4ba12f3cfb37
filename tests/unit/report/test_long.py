"""`rltui report --long`: nothing that was read stays behind "and more"."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Fifty metrics and three settings without a known meaning."""
    path = tmp_path / "train.log"
    own = " | ".join(f"zeta_{i}: {{}}" for i in range(50))
    rows = ((s, own.format(*(s / (i + 2) for i in range(50)))) for s in range(1, 41))
    lines = "".join(f"step {s}/200 | reward: {s / 100} | loss: {1 / s:.4f} | {more}\n" for s, more in rows)
    path.write_text("config: {'lr': 1e-6, 'format_weight': 0.2, 'task_type': 'a|b', 'cell': '`x`'}\n" + lines)
    return path


def told(log: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["report", str(log), *words]) == 0
    return capsys.readouterr().out


def test_every_metric_and_setting_is_there(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    short, whole = told(log, capsys), told(log, capsys, "--long")
    for text in (*(f"zeta_{i}" for i in range(50)), "format_weight", "task_type", "0.2"):
        assert text in whole, text
    assert "zeta_49" not in short
    assert "format_weight" not in short


def test_values_become_no_markup(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [line for line in told(log, capsys, "--long").split("## 10.")[1].splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in rows}) == 1

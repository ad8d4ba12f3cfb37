"""Values as Python prints them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.long
def test_backslashes_in_printed_values_warn_nobody(tmp_path: Path) -> None:
    """Python 3.12 and later speak on the terminal of each `\\d` in a text that they parse."""
    rows = [f"{{'loss': {i / 10}, 'pattern': '\\d+\\(', 'step': {i}}}" for i in range(1, 9)]
    texts = {"train.log": "\n".join(rows) + "\n", "history.json": f"{{'log_history': [{', '.join(rows)}]}}"}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        words = [sys.executable, "-W", "always", "-m", "rltui", "report", str(tmp_path / name)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert "Warning" not in done.stderr
        assert "8 training steps" in done.stdout

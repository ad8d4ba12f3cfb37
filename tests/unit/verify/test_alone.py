"""`rltui verify --alone FILE`: the same checks as one file, which needs numpy and nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.cli import main

ADAPTERS = """
import numpy as np

def advantages(rewards, group_size):
    rows = np.asarray(rewards, float).reshape(-1, group_size)
    return ((rows - rows.mean(1, keepdims=True)) / (rows.std(1, ddof=1, keepdims=True) + 1e-4)).reshape(-1)

def reward(completion, truth):
    print("scored")
    return float(completion.strip() == truth)

EXAMPLES = [("7", "7", "8")]
"""
RUN = """
import runpy, sys
sys.argv = [sys.argv[1], *sys.argv[2:]]
code = 0
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    code = end.code
print(sorted({name.split(".")[0] for name in sys.modules}), sys.modules["rltui"].__file__, file=sys.stderr)
raise SystemExit(code)
"""


def alone(packed: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-c", RUN, str(packed), *words],
        cwd=packed.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def packed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    path = tmp_path / "verify.pyz"
    assert main(["verify", "--alone", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    (tmp_path / "mine.py").write_text(ADAPTERS)
    return path


def test_it_says_what_rltui_says_and_imports_numpy_alone(packed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adapters = str(packed.with_name("mine.py"))
    done = alone(packed, "--adapters", adapters, "--format", "json")
    code = main(["verify", "--adapters", adapters, "--format", "json"])
    assert done.returncode == code
    assert json.loads(done.stdout) == json.loads(capsys.readouterr().out)
    assert f"{packed}/rltui/__init__.py" in done.stderr
    assert not any(f"'{name}'" in done.stderr for name in ("msgspec", "polars", "textual", "psutil", "plotext"))


def test_wrong_usage_is_one_line(packed: Path) -> None:
    for words in (["--adapters", "nowhere.py"], ["--batch", "nowhere.npz"], []):
        done = alone(packed, *words)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_a_file_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--alone", "/nowhere/at/all.pyz"]) == 2
    assert "/nowhere/at/all.pyz" in capsys.readouterr().err

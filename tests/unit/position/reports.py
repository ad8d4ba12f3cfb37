"""Reports of logs that a test writes, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unjudged import unjudged

BLANK = "\r" + " " * 60 + "\r"


def report_of(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    """The JSON report of a file or directory, of what was read: no rule is asked."""
    with unjudged():
        code = main(["report", str(path), "--format", "json", *options])
    out = capsys.readouterr()
    assert code == 0, out.err
    found: dict[str, Any] = json.loads(out.out)
    return found


def bar(done: int, total: int = 260) -> str:
    """A painted progress bar."""
    return f"\r{100 * done // total:3d}%|███       | {done}/{total} [00:01<00:09, 21.7it/s]"


def reward(step: int) -> float:
    """What the written logs log as the reward of a step: each another value."""
    return round(0.1 + 0.00317 * step, 5)


def trl(step: int) -> str:
    """A line of TRL. It does not say its step."""
    return f"{{'loss': '{0.9 / step:.5f}', 'reward': '{reward(step)}', 'epoch': '{step / 1000:.1f}'}}\n"

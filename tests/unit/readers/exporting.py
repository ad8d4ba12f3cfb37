"""What `rltui export` writes of a log."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

Rows = list[dict[str, Any]]


def exported(path: Path, lines: Iterable[str], capsys: pytest.CaptureFixture[str]) -> Rows:
    """The rows of a file with these lines."""
    path.write_text("\n".join(lines) + "\n")
    assert main(["export", str(path), "--format", "jsonl"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

"""The report of a file or folder, through the command line, of what was read: no rule is asked."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

from rltui.cli import main
from tests.unjudged import unjudged


def reported(path: Path) -> dict[str, Any]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), unjudged():
        code = main(["report", str(path), "--format", "json"])
    assert code == 0, err.getvalue()
    found: dict[str, Any] = json.loads(out.getvalue())
    return found


def refused(path: Path) -> str:
    """The one line with which a file is refused."""
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        assert main(["report", str(path)]) == 2
    lines = err.getvalue().strip().splitlines()
    assert len(lines) == 1
    return lines[0]


def ends(report: dict[str, Any], metric: str) -> tuple[int, float, float]:
    """How many values a metric has, the first and the last of them."""
    found = report["metrics"][metric]
    return found["count"], found["first_value"], found["last_value"]

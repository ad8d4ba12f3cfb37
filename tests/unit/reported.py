"""What `rltui report` says of a run, in all its forms, of one look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader


def told(run: Path, now: float | None = None) -> tuple[str, str, dict[str, Any]]:
    """The page, the long page and the JSON."""
    opened = RunReader(locate([str(run)])[0])
    opened.load()
    report = build(opened.with_insight(opened.frame(now)))
    opened.close()
    return render(report), render(report, long=True), json.loads(to_json(report))

"""What `rltui report` says of a run, in all its forms, of one look at it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.session.frame import Frame
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

Told = tuple[str, str, dict[str, Any]]
"""The page, the long page and the JSON."""


def told(run: Path, now: float | None = None) -> Told:
    opened = _read(run)
    try:
        return _forms(opened, now)
    finally:
        opened.close()


def told_as_it_grows(written: Iterable[Path], now: float | None = None) -> Iterator[Told]:
    """The same of one run each time more of it is written, read on by one reader: a report of its own would judge all
    rows before anew. Both say the same (`test_reported.py`)."""
    opened: RunReader | None = None
    for run in written:
        if opened is None:
            opened = _read(run)
        else:
            assert opened.poll(), "nothing new was written"
        yield _forms(opened, now)
    if opened is not None:
        opened.close()


def told_at(run: Path, steps: Iterable[int]) -> Iterator[Told]:
    """The same of a run as it stood at these steps, as the screen that goes back sees it."""
    opened = _read(run)
    for step in steps:
        yield _forms_of(opened, opened.past_frame(step))
    opened.close()


def _read(run: Path) -> RunReader:
    opened = RunReader(locate([str(run)])[0])
    opened.load()
    return opened


def _forms(opened: RunReader, now: float | None) -> Told:
    return _forms_of(opened, opened.frame(now))


def _forms_of(opened: RunReader, frame: Frame) -> Told:
    report = build(opened.with_insight(frame))
    return render(report), render(report, long=True), json.loads(to_json(report))

"""Files that grow, and what is read of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from rltui.session.live import LiveRun
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

PATIENCE_S = 180.0
"""Longest wait of a test for what should come at once: a loaded machine is slow, a broken reader never ends."""


def line(step: int, score: float | None = None, **more: float) -> str:
    value = 0.3 + 0.001 * step if score is None else score
    cells: Mapping[str, float] = {"critic/score/mean": value, "actor/grad_norm": 1.0 + 0.01 * step, **more}
    return json.dumps({"step": step, "data": cells}) + "\n"


def lines(first: int, last: int) -> str:
    return "".join(line(step) for step in range(first, last + 1))


def opened(path: Path, follow: bool = False) -> RunReader:
    found = locate([str(path)])
    assert len(found) == 1
    run = RunReader(found[0], follow=follow)
    run.load()
    return run


def content(run: RunReader) -> dict[int, dict[str, float]]:
    """Step -> cells of the merged history."""
    table = run.run.history.table
    return {int(step): table.cells(row) for row, step in enumerate(table.steps)}


def but_pace(rows: dict[int, dict[str, float]]) -> dict[int, dict[str, float]]:
    """The same without the seconds of a step that bars show."""
    return {step: {key: x for key, x in row.items() if key != "s/it"} for step, row in rows.items()}


def wait_for(run: RunReader, condition: Callable[[], bool]) -> None:
    """Polls as the session does until the condition holds."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "it never came"
        run.wait(0.5)
        run.poll()


def frames_until(live: LiveRun, condition: Callable[[], bool]) -> None:
    """Takes frames until the condition holds."""
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "it never came"
        live.next_frame(0.5)

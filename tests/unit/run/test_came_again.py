"""Steps that come again with the values that are there: written later they are of a resumed run, else they are
copies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.session.runs import opened, wait_for

START = 1_770_000_000.0


def line(step: int, time: float | None, **more: float) -> str:
    row = {"step": step, "reward": 0.2 + 0.001 * step, "loss": 0.5 / step, "grad_norm": 0.3 + 0.01 * (step % 5)} | more
    return json.dumps(row if time is None else row | {"timestamp": time}) + "\n"


def resumed(path: Path, back: int, count: int, time: Callable[[int], float | None]) -> tuple[list[int], int, list[int]]:
    """A run of 50 steps a second apart to which `count` steps from `back` on are added while it is followed: the
    restarts, the step where it stands, and the steps of its rows."""
    log = path / "metrics.jsonl"
    log.write_text("".join(line(step, START + step) for step in range(1, 51)))
    run = opened(path, follow=True)
    with log.open("a") as out:
        out.write("".join(line(step, time(step)) for step in range(back, back + count)))
    wait_for(run, lambda: sum(feed.size for feed in run.feeds) == log.stat().st_size)
    table = run.run.history.table
    found = table.restarts, table.head_step or 0, table.steps.tolist()
    run.close()
    again = opened(path)
    assert (again.run.history.table.restarts, again.run.history.table.steps.tolist()) == (found[0], found[2])
    again.close()
    return found


@pytest.mark.parametrize(("back", "count"), [(31, 2), (31, 6), (12, 30), (31, 40)])
def test_rows_written_later_are_of_a_resumed_run(tmp_path: Path, back: int, count: int) -> None:
    found, head, steps = resumed(tmp_path, back, count, lambda step: START + 90.0 + step)
    assert found == [back]
    assert head == back + count - 1
    assert steps == list(range(1, back + count))


@pytest.mark.parametrize(
    "time",
    [lambda step: START + step, lambda step: None, lambda step: START + 90.0],
    ids=["the same times", "no times", "all at one time"],
)
def test_copies_are_copies(tmp_path: Path, time: Callable[[int], float | None]) -> None:
    found, head, steps = resumed(tmp_path, 31, 10, time)
    assert found == []
    assert head == 50
    assert steps == list(range(1, 51))


def test_a_validation_that_is_written_late_is_no_resume(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = [line(step, START + step) for step in range(1, 51)]
    late = [json.dumps({"step": s, "eval/score": 0.4, "timestamp": START + 60.0 + s}) + "\n" for s in (20, 30, 40)]
    log.write_text("".join([*rows, *late, line(51, START + 120.0)]))
    run = opened(tmp_path)
    assert run.run.history.table.restarts == []
    assert run.run.history.table.head_step == 51
    run.close()

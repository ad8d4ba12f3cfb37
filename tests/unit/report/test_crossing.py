"""The report alone crosses from the data to the screens: no live run in it, and nothing in it changes."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from types import FunctionType, ModuleType

from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.run.history import History
from rltui.run.run import Run
from rltui.run.table import Table
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader

ALIVE = (Run, History, Table, RunReader)


def row(step: int, reward: float) -> str:
    return json.dumps({"step": step, "reward": reward, "kl": 0.01 * step, "loss": 0.1, "time_per_step_s": 2.0}) + "\n"


def held(thing: object) -> list[object]:
    """Everything that can be reached from a thing, its code apart."""
    seen: dict[int, object] = {}
    open_ends = [thing]
    while open_ends:
        one = open_ends.pop()
        if id(one) in seen or isinstance(one, type | ModuleType | FunctionType):
            continue
        seen[id(one)] = one
        open_ends += gc.get_referents(one)
    return list(seen.values())


def opened(tmp_path: Path) -> tuple[RunReader, Path]:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(row(step, 0.01 * step) for step in range(1, 41)))
    run = RunReader(locate([str(log)])[0], follow=True)
    run.load()
    return run, log


def test_a_report_holds_no_live_run(tmp_path: Path) -> None:
    run, _ = opened(tmp_path)
    report = build(run.with_insight(run.frame()))
    assert report.recording.series, "the check would prove nothing of an empty report"
    assert [type(one).__name__ for one in held(report) if isinstance(one, ALIVE)] == []


def test_a_report_says_the_same_when_the_run_has_gone_on(tmp_path: Path) -> None:
    """More rows, then an attempt that begins anew at an earlier step with other values: the report of before stands."""
    run, log = opened(tmp_path)
    frame = run.frame()
    kept, compared = build(frame), build(frame)
    before = to_json(compared), render(compared)  # of its twin: a report works out its numbers when they are asked for
    steps = kept.recording.run.steps.tolist()
    for rows in ([row(step, 0.9) for step in range(41, 90)], [row(step, -1.0) for step in range(5, 60)]):
        with log.open("a") as file:
            file.writelines(rows)
        assert run.poll()
        assert build(run.frame()).recording.run.steps.tolist() != steps
    assert (to_json(kept), render(kept)) == before
    assert kept.recording.run.steps.tolist() == steps

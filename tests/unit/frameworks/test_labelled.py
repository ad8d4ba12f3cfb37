"""Every labelled run reads with the right framework, algorithm, first and last step, state and main config."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.session.locate import locate
from rltui.session.opened import OpenedRun
from tests.unit.frameworks.labelled import RUNS, Run


@pytest.mark.parametrize("expected", RUNS, ids=[run.path for run in RUNS])
def test_a_labelled_run(expected: Run, labelled_run: Callable[[str], Path]) -> None:
    found = locate([str(labelled_run(expected.path))])
    assert len(found) == 1
    opened = OpenedRun(found[0])
    opened.load()
    run = opened.run
    assert run.dialect == expected.dialect
    assert run.algorithm == expected.algorithm
    steps = run.history.table.steps
    assert ((int(steps[0]), int(steps[-1])) if len(steps) else None) == expected.steps
    assert run.state().state == expected.state
    assert {key: run.config[key].value for key in expected.config} == expected.config


def test_no_labelled_run_is_left_out(runs_dir: Path) -> None:
    labels = [json.loads(line) for line in (runs_dir / "LABELS.jsonl").read_text(encoding="utf-8").splitlines()]
    told = {run.path for run in RUNS}
    for label in labels:
        path = str(label["path"])
        assert any(path == one or path.startswith(one + "/") or one.startswith(path + "/") for one in told), path
    for label in labels:
        for run in (run for run in RUNS if run.path == label["path"]):
            assert run.steps is None or list(run.steps) == label.get("steps", list(run.steps)), run.path
            assert run.state in label.get("state", [run.state]), run.path
    assert sum(1 for run in RUNS if run.config) >= 30

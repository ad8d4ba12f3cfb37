"""Every labelled run reads with the right framework, algorithm, first and last step, state and main config."""

from __future__ import annotations

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

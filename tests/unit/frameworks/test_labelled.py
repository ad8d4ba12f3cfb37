"""Every labelled run reads with the right framework, algorithm, first and last step, state and main config: one in
three here, all of them with `-m "fuzz_full or not fuzz_full"`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.known_gaps import labels
from tests.moments import unless_drawn
from tests.unit.frameworks.labelled import RUNS, Run
from tests.unit.frameworks.opening import check_config, opened_once


@pytest.mark.parametrize(
    "expected", [pytest.param(run, id=run.path, marks=unless_drawn(run.path, 3, "frameworks")) for run in RUNS]
)
def test_a_labelled_run(expected: Run, labelled_run: Callable[[str], Path]) -> None:
    run = opened_once(labelled_run(expected.path)).run
    assert run.dialect == expected.dialect
    assert run.algorithm == expected.algorithm
    steps = run.history.table.steps
    assert ((int(steps[0]), int(steps[-1])) if len(steps) else None) == expected.steps
    assert run.state().state == expected.state
    check_config(run, expected.config)


def test_what_is_told_of_a_labelled_run_agrees_with_its_label() -> None:
    by_path = {label["path"]: label for label in labels()}
    for run in RUNS:
        label = by_path.get(run.path, {})
        assert run.steps is None or list(run.steps) == label.get("steps", list(run.steps)), run.path
        assert run.state in label.get("state", [run.state]), run.path
    assert sum(1 for run in RUNS if run.config) >= 30


@pytest.mark.whole
@pytest.mark.parametrize(
    "path",
    [
        "real/skyrl-tx-tinker-math-qwen35-9b-85",
        "real/tinker-codeforces-six-restarts-step0",
        "real/verl-grpo-guicursor-2steps",
        "real/verl-grpo-n1-qwen7b-econ-v5",
        "real/verl-opd-grpo-retool-healthy-180",
        "real/nemorl-grpo-gemma3-1b-50",
    ],
)
def test_generation_and_update_are_found_among_the_times(path: str, labelled_run: Callable[[str], Path]) -> None:
    """Names of a version or a fork that are not known leave most of a step unexplained."""
    phases = {item.name: item.share or 0.0 for item in opened_once(labelled_run(path)).run.phases().items}
    assert {"generation", "update"} <= set(phases)
    assert phases["other"] < 0.05

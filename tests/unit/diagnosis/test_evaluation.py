"""The promises of the diagnosis, kept on a reduced evaluation (`python -m tests.evaluation --full` for the table)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.evaluation import FAULTS, delay, false_alarms, regret
from tests.unit.diagnosis.test_labelled import diagnose

LATEST = 50  # rows: a trend over the last 50 turns, then 5 looks confirm it
STOPS = {"stop-use-best", "pause-and-fix", "abort-now"}


def test_runs_in_which_nothing_happens_are_quiet() -> None:
    alarms = false_alarms(1, 800)
    assert alarms.critical == 0
    assert alarms.warnings <= alarms.rows // 5000
    low, high = alarms.interval
    assert low <= alarms.per_1000 <= high


@pytest.mark.parametrize("kind", FAULTS)
def test_planted_faults_are_found_soon_and_dated(kind: str) -> None:
    seen = delay(kind, 3)
    assert seen.rows is not None
    assert seen.rows <= LATEST
    assert seen.onset_error is not None
    assert seen.onset_error <= 25
    assert seen.decision in ({"continue-watch"} if kind == "steps slow down" else STOPS)


def test_the_best_checkpoint_costs_less_than_the_raw_maximum() -> None:
    ours, raw = regret(12)
    assert ours < raw


@pytest.mark.parametrize("name", ["zoo/g31-add-s0", "zoo/g33-add-s2"])
def test_a_flipped_reward_is_dated_at_the_flip(name: str, labelled_run: Callable[[str], Path]) -> None:
    roots = [f for f in diagnose(labelled_run(name)).findings if f.severity != "info" and f.root is None]
    assert abs((roots[0].onset_step or 0) - 200) <= 10

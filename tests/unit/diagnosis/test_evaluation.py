"""The promises of the diagnosis, kept on a reduced evaluation (`python -m tests.evaluation --full` for the table)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.diagnosis.engine import Engine
from tests.evaluation.simulated import FAULTS, delay, false_alarms, planted, regret
from tests.labels import check, confusion, judged, promises_missed
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.test_labelled import diagnose

LATEST = 50  # rows: a trend over the last 50 turns, then 5 looks confirm it
STOPS = {"stop-use-best", "pause-and-fix", "abort-now"}


@pytest.mark.whole
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


@pytest.mark.long
def test_the_best_checkpoint_costs_less_than_the_raw_maximum() -> None:
    ours, raw = regret(12)
    assert ours < raw


@pytest.mark.whole
@pytest.mark.parametrize(
    "later",
    [
        False,
        pytest.param(
            True,
            marks=[
                pytest.mark.fuzz_full,
                pytest.mark.xfail(strict=True, reason="runs that nobody had seen: decision right in 64 of 78"),
            ],
        ),
    ],
)
def test_the_labelled_runs_are_judged_as_promised(runs_dir: Path, later: bool) -> None:
    """Every tenth of them: `python -m tests.evaluation --full` takes all, and fails if a promise is missed."""
    runs = list(judged(runs_dir, every=10, later=later))
    assert runs
    assert promises_missed(runs) == {}


def test_a_label_is_met_or_not_by_what_it_asks() -> None:
    columns: Any = planted("reward collapses", 0)
    d = Engine().advance(FakeRun(columns).grow())
    right = {"any_of": [["reward-collapse", "kl-runaway"]], "none_of": ["kl-runaway"], "decision": ["pause-and-fix"]}
    right["onset"] = {"ids": ["reward-collapse"], "step": 301, "tol": 20}
    assert set(check({**right, "best_step": [200, 310]}, d).values()) == {True}
    wrong = {"any_of": [["kl-runaway"]], "none_of": ["reward-collapse"], "decision": ["continue"], "healthy": True}
    wrong["onset"] = {"ids": ["reward-collapse"], "step": 200, "tol": 20}
    assert set(check({**wrong, "best_step": [1, 20]}, d).values()) == {False}


def test_confusion_counts_the_wanted_against_the_judged() -> None:
    pairs: Any = [(("continue", "continue-watch"), "continue-watch"), (("abort-now",), "continue"), ((), "continue")]
    assert confusion(pairs) == {("continue-watch", "continue-watch"): 1, ("abort-now", "continue"): 1}


@pytest.mark.parametrize("name", ["zoo/g31-add-s0", "zoo/g33-add-s2"])
def test_a_flipped_reward_is_dated_at_the_flip(name: str, labelled_run: Callable[[str], Path]) -> None:
    roots = [f for f in diagnose(labelled_run(name)).findings if f.severity != "info" and f.root is None]
    assert abs((roots[0].onset_step or 0) - 200) <= 10

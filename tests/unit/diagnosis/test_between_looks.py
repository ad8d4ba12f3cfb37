"""The newest rows of a long run stand between two looks: nothing that they show waits for the next."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from typing import Any

import numpy as np
import pytest

from rltui.diagnosis import engine as fold
from rltui.diagnosis.engine import Engine
from rltui.evidence.look import look_rows
from rltui.evidence.model import Diagnosis
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run

ROWS = 2_000
LAST = next(n for n in look_rows(ROWS))
"""The first look behind `ROWS`; the rows between the two are many."""


def columns(seed: int, n: int = ROWS + 40) -> dict[str, Any]:
    return dict(learning_run(seed, n))


def told(found: Diagnosis) -> dict[str, str]:
    return {f.id: f.severity for f in found.findings if f.status == "active"}


def nan_loss(of: dict[str, Any], at: int) -> None:
    of["pg_loss"][at:] = np.nan


def rate_cut(of: dict[str, Any], at: int) -> None:
    of["grad_norm"][at:] *= 1000.0


def grader_out(of: dict[str, Any], at: int) -> None:
    for name in ("score_mean", "reward_mean"):
        if name in of:
            of[name][at:] = 0.0


@pytest.mark.long
@pytest.mark.parametrize("fault", [nan_loss, rate_cut, grader_out])
@pytest.mark.parametrize("asked_before", [True, False])
@pytest.mark.parametrize("at", [90, 91, 93, ROWS + 11])
def test_what_sets_in_between_two_looks_is_found_as_if_each_row_were_one(
    at: int, fault: Any, asked_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A young run is looked at in each row, and in one of four by all checks."""
    first = _first(at, fault, asked_before, False)
    monkeypatch.setattr(fold.UsualRows, "lasts", lambda *_: False)
    each = _first(at, fault, asked_before, True)
    assert first == each
    assert 0 <= first < 9


@cache
def _read_until(rows: int, each: bool) -> tuple[FakeRun, Engine]:
    """A run of which so many rows are judged, and its engine. `each`: each row is asked all checks."""
    run, engine = FakeRun(columns(3)), Engine()
    engine.advance(run.grow(rows))
    return run, engine


def _before(of: dict[str, Any], at: int, each: bool) -> tuple[FakeRun, Engine]:
    """The same of a run that holds these columns: what lies far before a fault is judged once for all of them."""
    run, engine = copied(*_read_until(max(0, at - 40), each))
    run.columns = of
    return run, engine


def copied(run: FakeRun, engine: Engine) -> tuple[FakeRun, Engine]:
    """Both as they stand, but for what nothing changes, and for what is only kept to be said once more."""
    same = [engine.catalogue, *engine.catalogue.values(), run._names.aliases]
    memo: dict[int, Any] = {id(one): one for one in same} | {id(engine._conclusions): engine._concluded_anew()}
    return deepcopy((run, engine), memo)


@cache
def _open_before(at: int, each: bool) -> frozenset[str]:
    """What is open before any fault."""
    run, engine = _before(columns(3), at, each)
    return frozenset(told(engine.advance(run.grow(at))))


def _first(at: int, fault: Any, asked_before: bool, each: bool) -> int:
    """Rows of the fault behind which something new is open."""
    of = columns(3)
    fault(of, at)
    run, engine = _before(of, at, each)
    before = frozenset(told(engine.advance(run.grow(at)))) if asked_before else _open_before(at, each)
    for rows in range(at + 1, at + 20):
        new = {i for i, severity in told(engine.advance(run.grow(rows))).items() if severity != "info"} - before
        if new:
            return rows - at - 1
    raise AssertionError("nothing was found")


@pytest.mark.long
def test_a_finding_does_not_go_away_with_the_next_row() -> None:
    of = columns(4)
    nan_loss(of, ROWS + 11)
    run, engine, open_ones = FakeRun(of), Engine(), []
    for rows in range(ROWS + 9, ROWS + 40):
        open_ones.append("nonfinite-values" in told(engine.advance(run.grow(rows))))
    assert True in open_ones
    assert all(open_ones[open_ones.index(True) :])


@pytest.mark.long
def test_rows_one_by_one_and_at_once_are_judged_alike() -> None:
    of = columns(5)
    run, engine = FakeRun(of), Engine()
    begun = FakeRun(of), Engine()
    begun[1].advance(begun[0].grow(ROWS - 100))
    for rows in (ROWS, *range(ROWS + 17, ROWS + 30)):
        live = engine.advance(run.grow(rows))
        fresh, judge = copied(*begun)
        assert live == judge.advance(fresh.grow(rows))
    assert live == Engine().advance(FakeRun(of).grow(rows))
    assert engine.at(run, ROWS + 21).findings == Engine().advance(FakeRun(of).grow(ROWS + 21)).findings


@pytest.mark.long
def test_a_young_run_is_judged_alike_one_by_one_and_at_once() -> None:
    of = columns(9, 200)
    rate_cut(of, 150)
    run, engine = FakeRun(of), Engine()
    for rows in range(40, 200):
        live = engine.advance(run.grow(rows))
        if rows % 13 == 0:  # each part of the four rows of which one asks all checks, and of the eight
            assert live == Engine().advance(FakeRun(of).grow(rows))
    for rows in (99, 151, 153, 178):
        assert engine.at(run, rows).findings == Engine().advance(FakeRun(of).grow(rows)).findings


@pytest.mark.whole
def test_a_metric_that_comes_once_late_is_judged_alike_one_by_one_and_at_once() -> None:
    of = columns(10, 120)
    of["val_score"] = [0.4 if i in (61, 99) else None for i in range(120)]
    rate_cut(of, 63)
    run, engine = FakeRun(of), Engine()
    for rows in (*range(58, 72), *range(72, 96, 5), *range(96, 108), *range(108, 120, 5)):
        assert engine.advance(run.grow(rows)) == Engine().advance(FakeRun(of).grow(rows))


def asked(engine: Engine, rows: Sequence[int], run: FakeRun, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many checks each of these rows asks."""
    ran: list[str] = []
    ask = fold.Guard.ask

    def counted(self: Any, check: str, *rest: Any, **named: Any) -> Any:
        ran.append(check)
        return ask(self, check, *rest, **named)

    monkeypatch.setattr(fold.Guard, "ask", counted)
    out = []
    for n in rows:
        ran.clear()
        engine.advance(run.grow(n))
        out.append(len(ran))
    return out


@pytest.mark.long
def test_a_usual_row_asks_few_checks_and_an_unusual_one_all(monkeypatch: pytest.MonkeyPatch) -> None:
    of = columns(6)
    of["entropy"][ROWS + 12] *= 5.0
    run, engine = FakeRun(of), Engine()
    engine.advance(run.grow(ROWS + 9))
    usual, unusual = asked(engine, [ROWS + 10, ROWS + 13], run, monkeypatch)
    assert usual < 0.6 * unusual


def test_rules_of_evaluations_are_asked_about_each_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is only logged again is none, and no evaluation at all is none either."""
    counts = []
    for newest in (None, 0.42, 0.43):
        of = columns(6, 130)
        of["val_score"] = [0.4 + 0.01 * (i // 10 % 3) if i % 10 == 0 else None for i in range(126)] + [None] * 4
        of["val_score"][125] = newest
        of["val_score"][120] = 0.42
        run, engine = FakeRun(of), Engine()
        engine.advance(run.grow(125))
        counts += asked(engine, [126], run, monkeypatch)
    none, again, new = counts
    assert none == again < new


def test_a_row_without_a_metric_is_looked_at_all_the_same() -> None:
    """The columns of such a row part from those that it does not hold."""
    of, at = columns(7), ROWS + 11
    nan_loss(of, at)
    of["entropy"] = [None if i == at else float(v) for i, v in enumerate(of["entropy"])]
    run, engine = FakeRun(of), Engine()
    engine.advance(run.grow(at))
    engine.advance(run.grow(at + 1))
    usual = fold.UsualRows(run.history.table, at)
    assert not usual.lasts(at + 1)
    fresh = FakeRun(of)
    kept = fold.UsualRows(fresh.grow(at).history.table, at)
    assert not kept.lasts(fresh.grow(at + 1).history.table.n)


def test_what_is_usual_does_not_depend_on_when_it_is_asked() -> None:
    """Holes part the columns of a table: asked row by row, and of the whole table later on, the answer is the same."""
    rng, of = np.random.default_rng(8), columns(8, 400)
    for name in ("entropy", "kl_ref", "pg_loss"):
        of[name] = [None if rng.random() < 0.1 else float(v) for v in of[name]]
    of["clip_frac"] = [float(rng.random()) if i % 5 == 0 else None for i in range(400)]
    whole, run = FakeRun(of).grow().history.table, FakeRun(of)
    for since in range(208, 392, 8):
        live = fold.UsualRows(run.grow(since).history.table, since)
        later = fold.UsualRows(whole, since)
        for until in range(since + 1, since + 8):
            assert live.lasts(run.grow(until).history.table.n) == later.lasts(until), (since, until)

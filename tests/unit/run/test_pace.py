"""What a step usually takes: validation and checkpoint steps apart, by row times, arrivals or the logged timer."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.run.progress import LearnedPace, learn, usual
from rltui.run.run import Run
from rltui.run.table import Table
from tests.unit.run.builder import LOG, note, rows, run_of, trl


def table_of(steps: list[int], times: list[float]) -> Table:
    table = Table()
    for step, time in zip(steps, times, strict=True):
        table.put(step, time, {"reward": 0.5})
    return table


def paced(table: Table, **others: object) -> LearnedPace:
    given_values: dict[str, object] = {"timer": np.zeros(0), "beats": (), "marks": (), "periods": (), "stride": 1}
    step = int(table.steps[-1]) if table.n else None
    return learn(table, **{**given_values, "step": step, **others})  # type: ignore[arg-type]


def validating(every: int, steps: int, plain_s: float = 10.0, extra_s: float = 90.0) -> Table:
    """Validation runs at the end of every so many steps, before their row is written."""
    times, now = [], 0.0
    for step in range(1, steps + 1):
        now += plain_s + (extra_s if step % every == 0 else 0.0)
        times.append(now)
    return table_of(list(range(1, steps + 1)), times)


def test_steps_that_validate_are_learned_apart() -> None:
    pace = paced(validating(20, 100), marks=range(20, 101, 20))
    assert pace.plain is not None
    assert pace.special is not None
    assert (pace.plain.median_s, pace.plain.high_s) == (10.0, 10.0)
    assert pace.special.high_s == 100.0


def test_validation_is_due_by_plan_or_by_habit() -> None:
    table = validating(20, 99)
    assert paced(table, periods=[20]).next_special
    assert paced(table, marks=[40, 60, 80]).next_special
    assert not paced(table, marks=[40, 60]).next_special
    assert not paced(validating(20, 90), periods=[20]).next_special
    after = paced(validating(20, 100), marks=[80, 100])
    assert after.next_special, "the row of the step may come before its validation"


def test_a_row_every_ten_steps_is_told_by_the_step() -> None:
    pace = paced(table_of(list(range(10, 310, 10)), [5.0 * s for s in range(10, 310, 10)]), stride=10)
    assert pace.plain is not None
    assert (pace.plain.median_s, pace.stride) == (5.0, 10)


def test_without_row_times_arrivals_tell_and_else_the_timer() -> None:
    silent = table_of([1, 2, 3, 4], [float("nan")] * 4)
    by_arrival = paced(silent, beats=[(1, 100.0), (2, 103.0), (4, 109.0)], timer=np.full(4, 50.0))
    by_timer = paced(silent, timer=np.full(4, 50.0))
    assert by_arrival.plain is not None
    assert by_timer.plain is not None
    assert (by_arrival.plain.median_s, by_timer.plain.median_s) == (3.0, 50.0)
    assert paced(silent).now is None


def test_where_every_step_validates_there_is_still_a_pace() -> None:
    pace = paced(validating(1, 30), marks=range(1, 31))
    assert pace.plain is not None
    assert pace.now is not None


@given(st.lists(st.floats(0.01, 1e5), min_size=1, max_size=60))
def test_median_and_high_are_among_the_durations(seconds: list[float]) -> None:
    known = usual(seconds)
    assert known is not None
    assert min(seconds) <= known.median_s <= known.high_s <= max(seconds)


@pytest.mark.parametrize("bad", [[], [0.0, -1.0], [float("nan")]])
def test_no_duration_is_no_pace(bad: list[float]) -> None:
    assert usual(bad) is None


def run_with(columns: dict[str, list[float | None]], config: dict[str, object]) -> Run:
    return run_of(rows(trl(40, **columns), start=0.0), config)


def test_a_run_knows_its_validations_from_rows_notes_and_config() -> None:
    seldom = [0.5 if step % 10 == 0 else None for step in range(1, 41)]
    assert run_with({"eval_reward": seldom}, {}).pace().next_special
    assert run_with({}, {"eval_steps": 20}).pace().next_special
    assert not run_with({}, {"eval_steps": 15}).pace().next_special
    saved = run_with({}, {})
    assert not saved.pace().next_special
    for step in (20, 30, 40):
        saved.add_note(note("checkpoint", "saved", step=step), LOG)
    saved.history.add(saved.history.parts[0], rows(trl(9), first=41, start=0.0))
    assert saved.pace().next_special

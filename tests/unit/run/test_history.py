"""The table against a plain dict-of-dicts model, over any blocks, and the merge of several sources."""

from __future__ import annotations

import math
from array import array

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rltui.readers.base import NO_STEP, Rows
from rltui.run.history import History, Part, Table

KEYS = ("loss", "kl", "val")
cell = st.one_of(st.floats(-1e6, 1e6), st.just(math.nan))
row = st.tuples(st.integers(0, 30), st.dictionaries(st.sampled_from(KEYS), cell, min_size=1))


def block(rows: list[tuple[int, dict[str, float]]], timed: bool = True) -> Rows:
    times = [math.nan if s % 3 or not timed else float(s) for s, _ in rows]
    out = Rows(array("q", [s for s, _ in rows]), array("d", times))
    for key in {k for _, cells in rows for k in cells}:
        out.values[key] = array("d", [cells.get(key, math.nan) for _, cells in rows])
        bad = [i for i, (_, cells) in enumerate(rows) if key in cells and math.isnan(cells[key])]
        if bad:
            out.nonfinite[key] = bad
    return out


def model(rows: list[tuple[int, dict[str, float]]]) -> dict[int, dict[str, float]]:
    """Rows by step, later cells win; rows that go back two rows or more with other values, whole or on from there,
    abandon what follows, but for what they repeated. Behind three unchanged rows that came again, one that is
    another counts so only if the next one is no repetition; by then its cells are among those of its step. From
    scratch under other names, they are all left."""
    out: dict[int, dict[str, float]] = {}
    head, back, anew, again = -1, -1, False, 0
    for at, (step, cells) in enumerate(rows):
        both = [(out[step][k], v) for k, v in cells.items() if k in out.get(step, {})]
        other = [1 for a, b in both if a == a and b == b and abs(a - b) > 1e-12 + 1e-6 * abs(a)]
        if out and step > max(out):
            back = -1
        elif step < head:
            back, anew, again = step, False, 0
        again += 1
        differs = bool(other) and 2 * len(other) >= len(both)
        waits = differs and not anew and back >= 0 and again > 3 and step < max(out)
        if waits:
            differs = at + 1 < len(rows) and not repeats(out, step, *rows[at + 1])
        anew |= differs
        part = 2 * len(both) < len(out.get(step, {}))
        if back >= 0 and anew and (step > head or not part):
            if sum(s > back for s in out) >= 2:
                last = [set(out[s]) | (set(cells) if waits and s == step else set()) for s in sorted(out)[-2:]]
                named = [
                    set(cells) <= names or 2 * len(names & set(cells)) >= len(names | set(cells)) for names in last
                ]
                another = back <= 10 and not any(named)
                out = {s: held for s, held in out.items() if (back if another else 0) <= s < step}
            back = -1
        elif back >= 0 and step == max(out):
            back = -1
        out.setdefault(step, {}).update(cells)
        head = step
    return out


def repeats(out: dict[int, dict[str, float]], step: int, later: int, cells: dict[str, float]) -> bool:
    both = [(out[later][k], v) for k, v in cells.items() if k in out.get(later, {})]
    other = [1 for a, b in both if a == a and b == b and abs(a - b) > 1e-12 + 1e-6 * abs(a)]
    return later > step and later in out and not (other and 2 * len(other) >= len(both))


def same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def assert_equal(table: Table, want: dict[int, dict[str, float]]) -> None:
    assert table.steps.tolist() == sorted(want)
    for key in KEYS:
        points = {s: cells[key] for s, cells in sorted(want.items()) if key in cells}
        series = table.series(key)
        if series is None:
            assert not points
            continue
        assert series.steps.tolist() == list(points)
        assert all(same(a, b) for a, b in zip(series.values.tolist(), points.values(), strict=True))
        assert np.array_equal(table.steps[series.rows], series.steps)
        for part in (series, series.until_row(table.n // 2), series.since_row(table.n // 3)):
            finite, held = part.finite(), np.isfinite(part.values)
            assert np.array_equal(finite.values, part.values[held])
            assert np.array_equal(finite.steps, part.steps[held])
            assert np.array_equal(finite.rows, part.rows[held])
            assert np.array_equal(finite.times, part.times[held], equal_nan=True)
    stated = [(row, time) for row, time in enumerate(table.times.tolist()) if time == time]
    assert table.newest_time == max((time for _, time in stated), default=None)
    assert table.timed(2).tolist() == [row for row, _ in stated][-2:]


few_steps = st.tuples(st.integers(0, 3), st.dictionaries(st.sampled_from(KEYS), cell, min_size=1))


@given(
    st.one_of(st.lists(st.lists(row, max_size=12), max_size=8), st.lists(st.lists(few_steps, max_size=8), max_size=3))
)
@example(
    [
        [(2, {"loss": 1.0}), (3, {"val": 1.0}), (1, {"loss": 1.0}), (1, {"val": 1.0})],
        [(2, {"val": 1.0, "kl": 2.0}), (2, {"loss": 0.0}), (3, {"loss": math.nan})],
    ]
)
@example(
    [
        [(3, {"kl": 1.0}), (1, {"kl": 0.0}), (2, {"loss": 0.0}), (2, {"val": 1.0, "kl": 0.0}), (2, {"loss": 2.0})],
        [(0, {"loss": 1.0}), (3, {"loss": math.nan, "val": 1.0})],
    ]
)
def test_table_equals_the_model_over_any_blocks(blocks: list[list[tuple[int, dict[str, float]]]]) -> None:
    """Times, by which a table also knows a resumed run, are the matter of tests of their own."""
    table = Table()
    for rows in blocks:
        table.add(block(rows, timed=False))
        assert_equal(table, current(table))
    assert_equal(table, model([r for b in blocks for r in b]))


def current(table: Table) -> dict[int, dict[str, float]]:
    """The table's own cells: series and cells must tell the same after every block."""
    return {int(s): table.cells(i) for i, s in enumerate(table.steps)}


@given(st.lists(row, min_size=1, max_size=40), st.integers(1, 7))
def test_a_view_never_changes_behind_the_reader(rows: list[tuple[int, dict[str, float]]], size: int) -> None:
    table = Table()
    views = []
    for i in range(0, len(rows), size):
        table.add(block(rows[i : i + size]))
        for key in KEYS:
            series = table.series(key)
            if series is not None:
                views.append((series, series.values.copy(), series.steps.copy()))
    for series, values, steps in views:
        assert np.array_equal(series.values, values, equal_nan=True)
        assert np.array_equal(series.steps, steps)


def test_rows_without_a_step_are_numbered_on() -> None:
    table = Table()
    table.add(block([(NO_STEP, {"loss": 1.0}), (NO_STEP, {"loss": 2.0})]))
    table.add(block([(10, {"loss": 3.0}), (NO_STEP, {"loss": 4.0})]))
    assert table.steps.tolist() == [1, 2, 10, 11]


def row_of(step: float) -> dict[str, float]:
    return {"loss": step, "reward": step / 2, "entropy": 1 / step}


def ten_rows() -> Table:
    table = Table()
    table.add(block([(s, row_of(s)) for s in range(1, 11)]))
    return table


def test_going_back_with_other_values_is_a_restart_and_the_later_value_wins() -> None:
    table = ten_rows()
    table.add(block([(6, row_of(60))]))
    assert table.restarts == [6]
    assert table.abandoned == [(6, 10, 5)]
    assert table.head_step == 6
    assert table.cells(5) == row_of(60)
    assert table.steps.tolist() == [1, 2, 3, 4, 5, 6]
    assert table.take_changed() == 5
    assert table.take_changed() is None


def test_one_row_that_is_another_among_rows_that_come_again_is_no_restart() -> None:
    table = ten_rows()
    again = [(s, row_of(s)) for s in (2, 3, 4)]
    table.add(block([*again, (5, row_of(50))]))
    table.add(block([(s, row_of(s)) for s in (6, 7)]))
    assert table.restarts == []
    assert table.steps.tolist() == list(range(1, 11))
    assert table.cells(4) == row_of(50)


@pytest.mark.parametrize("then", [(6, 60), (11, 11), (2, 20)])
def test_rows_that_come_again_before_others_are_of_the_restart(then: tuple[int, int]) -> None:
    """Once the row behind the first other one is no repetition either, at any place."""
    table = ten_rows()
    table.add(block([*((s, row_of(s)) for s in (2, 3, 4)), (5, row_of(50))]))
    table.add(block([(then[0], row_of(then[1]))]))
    assert table.restarts[0] == 2
    assert int(table.steps[-1]) == max(5, then[0]) if then[0] > 2 else 2


def test_an_attempt_whose_first_row_repeats_the_old_one_is_still_a_restart() -> None:
    table = ten_rows()
    table.add(block([(6, row_of(6)), (7, row_of(70))]))
    assert table.restarts == [6]
    assert table.abandoned == [(6, 10, 5)]
    assert table.steps.tolist() == [1, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("late", [[3], [3, 2], [9]])
def test_a_late_revision_of_an_old_row_is_no_restart(late: list[int]) -> None:
    """A cell of an old step is updated; the run goes on where it was, and stands there in the meantime."""
    table = ten_rows()
    for step in late:
        table.add(block([(step, {"loss": 100.0 * step})]))
        assert table.head_step == 10
    table.add(block([(11, row_of(11)), (12, row_of(12))]))
    assert (table.restarts, table.abandoned) == ([], [])
    assert table.steps.tolist() == list(range(1, 13))
    assert [table.cells(step - 1)["loss"] for step in late] == [100.0 * step for step in late]


def test_a_validation_that_ends_late_is_no_restart() -> None:
    table = ten_rows()
    for step in (4, 8):
        table.add(block([(step, {"val": 0.5}), (step + 7, row_of(step + 7))]))
    assert table.restarts == []
    assert table.cells(3) == row_of(4) | {"val": 0.5}


def test_an_attempt_that_writes_its_rows_in_parts_is_a_restart_once_it_goes_on() -> None:
    table = ten_rows()
    table.add(block([(6, {"loss": 60.0}), (6, {"reward": 30.0})]))
    assert table.restarts == []
    table.add(block([(7, {"loss": 70.0})]))
    assert table.restarts == [6]
    assert table.head_step == 7


def test_a_log_that_is_read_twice_is_no_restart() -> None:
    table = ten_rows()
    table.add(block([(s, row_of(s)) for s in range(1, 12)]))
    assert table.restarts == []
    assert table.n == 11


def test_a_repeated_row_is_no_restart() -> None:
    table = Table()
    table.add(
        block([(1, {"loss": 1.0}), (2, {"loss": 2.0}), (1, {"loss": 1.0}), (2, {"loss": 2.0}), (2, {"loss": 2.5})])
    )
    assert table.restarts == []
    assert table.cells(1) == {"loss": 2.5}


def test_a_new_attempt_drops_what_the_old_one_reached_beyond_it() -> None:
    table = Table()
    table.add(block([(s, {"loss": float(s), "val": 1.0}) for s in range(1, 11)]))
    table.restart_at(8)
    table.add(block([(8, {"loss": 80.0})]))
    assert table.steps.tolist() == list(range(1, 9))
    assert table.cells(7) == {"loss": 80.0}
    assert table.restarts == [8]
    assert table.abandoned == [(8, 10, 3)]


def test_the_best_source_wins_a_cell_and_the_rest_fill_gaps() -> None:
    history = History()
    console, jsonl = Part("console", (1, 0.0)), Part("jsonl", (2, 0.0))
    history.add_part(console)
    history.add_part(jsonl)
    history.add(console, block([(1, {"loss": 1.0}), (2, {"loss": 2.0}), (3, {"loss": 3.0, "kl": 0.3})]))
    history.add(jsonl, block([(1, {"loss": 1.01}), (2, {"loss": 2.01, "val": 0.5})]))
    table = history.table
    assert table.cells(0) == {"loss": 1.01}
    assert table.cells(1) == {"loss": 2.01, "val": 0.5}
    assert table.cells(2) == {"loss": 3.0, "kl": 0.3}


NAN = float("nan")
BEGUN_AGAIN = [(0, (step, {"loss": NAN})) for step in (0, 1, 5, 6, 7)]
BEGUN_AGAIN += [(1, (0, {"loss": NAN})), (0, (3, {"loss": 0.0})), (0, (4, {"loss": 0.0}))]
BEGUN_AGAIN += [(0, (2, {"loss": NAN, "kl": 1.0})), (0, (2, {"kl": 0.0}))]
"""All rows of a file belong to an attempt that is over: none of its steps is a restart, and its table is another."""


@example(BEGUN_AGAIN)
@given(st.lists(st.tuples(st.integers(0, 2), row), max_size=40))
def test_row_by_row_and_all_at_once_merge_the_same(arrivals: list[tuple[int, tuple[int, dict[str, float]]]]) -> None:
    def history(live: bool) -> History:
        out = History()
        parts = [Part(str(i), (i, 0.0)) for i in range(3)]
        for part in parts:
            out.add_part(part)
        for which, arrived in arrivals:
            out.add(parts[which], block([arrived]))
            if live:
                assert out.table.n
        return out

    assert current(history(live=True).table).keys() == current(history(live=False).table).keys()
    for a, b in zip(current(history(True).table).values(), current(history(False).table).values(), strict=True):
        assert a.keys() == b.keys()
        assert all(same(a[k], b[k]) for k in a)


def test_renaming_folds_two_spellings_of_one_key() -> None:
    table = Table()
    table.add(block([(1, {"loss": 1.0}), (2, {"loss": 2.0})]))
    table.add(Rows(array("q", [3]), array("d", [3.0]), {"train/loss": array("d", [3.0])}))
    table.rename(lambda k: k.removeprefix("train/"))
    series = table.series("loss")
    assert series is not None
    assert series.values.tolist() == [1.0, 2.0, 3.0]

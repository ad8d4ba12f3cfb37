"""Figures that plotext draws: plain text, of the size that was asked for, of whatever numbers."""

from __future__ import annotations

import math
from threading import Thread

from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.compare.plot import LEAST, Trace, figure

TICKS = [(0.0, "0"), (10.0, "10")]


def test_lines_points_ticks_and_rules() -> None:
    rising = Trace(range(11), range(11), "a")
    one = Trace([5.0], [2.0], "B", joined=False)
    rows = figure([rising, one], 60, 12, x_ticks=[(0, "first"), (10, "last")], y_ticks=TICKS, rules=[5.0])
    text = "\n".join(rows)
    assert len(rows) == 12
    assert max(map(len, rows)) <= 60
    assert "\x1b" not in text
    assert text.count("B") == 1
    assert "first" in rows[-1]
    assert "last" in rows[-1]
    columns = [row.index("a") for row in rows if "a" in row and "first" not in row]
    assert columns == sorted(columns, reverse=True), "it rises to the right"


def test_what_cannot_be_drawn_is_nothing() -> None:
    assert figure([Trace([math.nan, 1.0], [1.0, math.inf], "a")], 60, 12, x_ticks=TICKS, y_ticks=TICKS) == []
    assert figure([Trace([1.0], [1.0], "a")], LEAST[0] - 1, 12, x_ticks=TICKS, y_ticks=TICKS) == []
    assert figure([], 60, 12, x_ticks=TICKS, y_ticks=TICKS) == []


def test_two_threads_do_not_draw_into_one_figure() -> None:
    """plotext keeps one global figure; the screen draws while another thread writes a comparison."""
    wanted = {mark: figure([Trace(range(50), range(50), mark)], 40, 10, x_ticks=[], y_ticks=[]) for mark in "ab"}
    seen: list[bool] = []

    def work(mark: str) -> None:
        made = [figure([Trace(range(50), range(50), mark)], 40, 10, x_ticks=[], y_ticks=[]) for _ in range(20)]
        seen.append(all(one == wanted[mark] for one in made))

    threads = [Thread(target=work, args=(mark,)) for mark in "abab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [True] * 4


@settings(max_examples=40, deadline=None)
@example([(0.0, 2.078620257892389e-303)], False)
@given(st.lists(st.tuples(st.floats(-1e12, 1e12), st.floats(-1e12, 1e12)), max_size=20), st.booleans())
def test_any_numbers_give_a_figure_of_the_right_size(points: list[tuple[float, float]], joined: bool) -> None:
    xs, ys = [x for x, _ in points], [y for _, y in points]
    rows = figure([Trace(xs, ys, "x", joined)], 50, 10, x_ticks=TICKS, y_ticks=TICKS)
    assert len(rows) == (10 if points else 0)
    assert all(len(row) <= 50 for row in rows)

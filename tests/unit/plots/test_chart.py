from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rltui.plots.canvas import Layer, rasterise
from rltui.plots.chart import ChartMark, Drawing, Line, _blocks, _clean, _smooth, chart, draw
from rltui.plots.glyphs import ASCII, BRAILLE

N = 400
STEPS = np.arange(1, N + 1)
RISE = np.linspace(0.0, 1.0, N)


def roles(drawing: Drawing) -> set[str]:
    return {role for row in drawing.rows for _, role in row}


def sized(drawing: Drawing, width: int, height: int) -> bool:
    return [len(line) for line in drawing.lines()] == [width] * height


def test_line_dots_marks_and_labels() -> None:
    marks = [
        ChartMark(100, "checkpoint"),
        ChartMark(200, "best"),
        ChartMark(300, "onset"),
        ChartMark(350, "cursor"),
        ChartMark(9_999, "onset"),
    ]
    noise = 0.05 * np.random.default_rng(0).standard_normal(N)
    drawing = draw([Line(STEPS, RISE + noise, smooth=15, dots=True, spans=((300, N, "crit"),))], 90, 20, marks=marks)
    assert sized(drawing, 90, 20)
    assert roles(drawing) == {
        "ink", "faint", "crit", "axis", "grid", "best", "onset", "checkpoint", "cursor", "clipped"
    }  # fmt: skip
    rail, labels = drawing.lines()[-2:]
    assert [ch for ch in rail if ch != " "] == ["◇", "◆", "▼", "│"]
    assert abs(labels.index("300") - rail.index("▼")) <= 1
    assert drawing.first == 1
    assert drawing.last == N
    left = {line[:8].strip() for line in drawing.lines()[:-2]} - {""}
    assert {"0", "0.5", "1.0"} <= left or {"0", "0.2", "0.4", "0.6", "0.8", "1.0"} <= left


def test_the_line_goes_where_the_values_are() -> None:
    rows = draw([Line(STEPS, RISE)], 60, 12, labels=False).lines()
    drawn = [[x for x, ch in enumerate(row[8:]) if "\u2800" <= ch <= "\u28ff"] for row in rows]
    assert min(drawn[-1]) == 0
    assert max(x for row in drawn for x in row) == 51
    means = [np.mean(row) for row in drawn if row]
    assert means == sorted(means, reverse=True)


def test_points_outside_the_robust_range_are_counted_not_drawn() -> None:
    values = RISE.copy()
    values[7], values[8] = 1e6, -1e6
    drawing = draw([Line(STEPS, values, dots=True)], 60, 12)
    assert (drawing.above, drawing.below) == (1, 1)
    assert drawing.high is not None
    assert drawing.high < 2
    everything = draw([Line(STEPS, values, dots=True)], 60, 12, robust=False)
    assert (everything.above, everything.below) == (0, 0)


def test_missing_stretches_and_nan_break_the_line() -> None:
    keep = (STEPS < 150) | (STEPS > 250)
    gap = draw([Line(STEPS[keep], RISE[keep])], 108, 10, labels=False)
    holed = np.where(keep, RISE, math.nan)
    nan = draw([Line(STEPS, holed)], 108, 10, labels=False)
    for drawing in (gap, nan):
        columns = {x for row in drawing.lines() for x, ch in enumerate(row[8:]) if "\u2800" <= ch <= "\u28ff"}
        assert not columns & set(range(40, 60))
        assert len(columns) > 60
    assert (gap.nonfinite, nan.nonfinite) == (0, 101)


def test_log_scale() -> None:
    values = 10.0 ** np.linspace(-4, 2, N)
    rows = draw([Line(STEPS, values)], 70, 16, scale="log").lines()
    left = [row[:8].strip() for row in rows if row[:8].strip()]
    assert left == ["100", "1", "0.01", "0.0001"]
    mixed = draw([Line([1, 2, 3], [0.0, 1.0, 10.0])], 40, 8, scale="log")
    assert (mixed.scale, mixed.below) == ("log", 1)
    assert draw([Line([1, 2], [-1.0, 0.0])], 40, 8, scale="log").scale == "lin"


@pytest.mark.parametrize("values", [[], [math.nan] * 3, [math.inf, -math.inf, math.nan]])
def test_nothing_finite_says_so(values: list[float]) -> None:
    drawing = draw([Line(range(len(values)), values)], 40, 6)
    assert sized(drawing, 40, 6)
    assert "nothing to draw" in "".join(drawing.lines())
    assert drawing.nonfinite == len(values)
    assert drawing.low is None


def test_one_point_and_a_constant_show() -> None:
    for line in (Line([5], [0.25]), Line(STEPS, np.full(N, 0.25)), Line(STEPS, np.zeros(N))):
        drawing = draw([line], 40, 8)
        assert sized(drawing, 40, 8)
        assert "ink" in roles(drawing)


def test_ascii_and_markdown_lines() -> None:
    lines = chart(Line(STEPS, RISE, dots=True), width=60, height=10, marks=[ChartMark(200, "onset")], glyphs=ASCII)
    assert len(lines) == 10
    assert all(line.isascii() and len(line) <= 60 for line in lines)
    assert "#" in "".join(lines)
    assert "v" in lines[-2]
    assert "step" in lines[-1]


def test_two_series_keep_their_roles() -> None:
    assert {"ink", "dim"} <= roles(draw([Line(STEPS, 1 - RISE, role="dim"), Line(STEPS, RISE)], 60, 10))


def test_zoom_shows_only_that_part() -> None:
    drawing = draw([Line(STEPS, RISE)], 60, 10, x_range=(100, 200))
    assert (drawing.first, drawing.last) == (100, 200)
    assert drawing.low is not None
    assert drawing.low > 0.2


def test_smoothing_of_a_zoom_looks_back_at_what_lies_before_it() -> None:
    steps, values, before = _clean(Line(STEPS, RISE, smooth=9), (100, 200))
    whole = _smooth(RISE, 9)
    assert np.allclose(
        _smooth(np.concatenate((before, values)), 9)[len(before) :], whole[(STEPS >= 100) & (STEPS <= 200)]
    )
    assert len(before) == 8
    assert len(steps) == len(values)


def test_hundred_thousand_points_cost_a_bounded_picture() -> None:
    n = 100_000
    drawing = draw([Line(np.arange(n), np.random.default_rng(0).standard_normal(n), smooth=15, dots=True)], 100, 20)
    assert sized(drawing, 100, 20)
    assert {"ink", "faint"} <= roles(drawing)


def test_a_line_passes_every_dot_between_its_points_and_covers_what_lies_below() -> None:
    below = Layer(np.array([0, 19]), np.array([0, 0]), "faint", False, "braille")
    line = Layer(np.array([0, 19]), np.array([0, 19]), "ink", True, "braille")
    cells = rasterise([below, line], 10, 5, True)
    assert [[x for x, cell in enumerate(row) if cell[1] == "ink"] for row in cells] == [
        [8, 9], [6, 7], [4, 5], [2, 3], [0, 1]
    ]  # fmt: skip
    assert cells[-1][-1] == ("\u2880", "faint")
    assert cells[-1][0] == (chr(0x2800 + 0x40 + 0x20), "ink")


def test_points_outside_the_range_leave_a_mark_at_the_edge() -> None:
    values = RISE.copy()
    values[[100, 200]] = 50.0, -50.0
    drawing = draw([Line(STEPS, values, smooth=5, dots=True)], 60, 10)
    assert (drawing.above, drawing.below) == (1, 1)
    signs = ["".join(text for text, role in row if role == "clipped").strip() for row in drawing.rows]
    assert signs[0] == "▴"
    assert signs[8] == "▾"


def test_a_long_series_smooths_like_a_short_one() -> None:
    n = 40_000
    noise = np.random.default_rng(0).standard_normal(n)
    steps = np.arange(n, dtype=float)
    at, means, points = _blocks(steps, noise, 800, 200)
    assert len(at) <= 8 * 200 + 1
    settled = at > 800
    assert np.abs(_smooth(means, points) - _smooth(noise, 800)[at.astype(int)])[settled].max() < 0.05
    assert _blocks(steps, noise, 10, 200)[2] == 10


def test_importing_charts_does_not_import_plotext() -> None:
    code = "import sys, rltui.plots.chart; sys.exit(bool({'plotext', 'textual', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    points=st.lists(st.tuples(st.one_of(st.integers(-5, 500), st.floats()), st.floats()), max_size=30),
    width=st.integers(0, 60),
    height=st.integers(0, 12),
    options=st.fixed_dictionaries(
        {
            "scale": st.sampled_from(["lin", "log"]),
            "robust": st.booleans(),
            "labels": st.booleans(),
            "glyphs": st.sampled_from([BRAILLE, ASCII]),
            "x_range": st.one_of(st.none(), st.tuples(st.integers(0, 50), st.integers(51, 400))),
        }
    ),
    smooth=st.integers(0, 20),
)
def test_any_floats_give_a_chart_of_the_right_size(
    points: list[tuple[float, float]], width: int, height: int, options: dict[str, Any], smooth: int
) -> None:
    steps, values = [s for s, _ in points], [v for _, v in points]
    marks = [ChartMark(s, kind) for s, kind in zip(steps, ("onset", "best", "cursor", "restart"), strict=False)]
    line = Line(steps, values, smooth=smooth, dots=True, spans=((10, 20, "crit"),))
    drawing = draw([line], width, height, marks=marks, **options)
    assert sized(drawing, width, height)
    assert drawing.above + drawing.below + drawing.nonfinite <= len(points)


def test_steps_that_are_next_to_no_distance_apart_give_a_chart() -> None:
    drawing = draw([Line([0.0, 5e-324], [0.1, 0.2])], 2, 4)
    assert len(drawing.rows) == 4

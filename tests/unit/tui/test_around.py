"""What stands around a step: log lines, GPUs then, forecasts, the meaning of a metric; and event marks on a chart."""

from __future__ import annotations

from msgspec.structs import replace

from rltui.readers.base import LogLine, Note
from rltui.tui.panes.log import gpus_at, log_line_of, log_lines
from rltui.tui.view import View
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, Open, screen_text, wait_for


def shown(log: tuple[LogLine, ...], notes: tuple[Note, ...] = ()) -> View:
    frame, report = canned.make()
    view = View()
    view.take(replace(report, recording=replace(frame, log=log, notes=notes)))
    return view


def test_a_step_is_found_by_its_name_else_by_the_order_of_the_rows() -> None:
    lines = tuple(LogLine(f"text {n}", n) for n in range(1, 813))
    view = shown(lines)
    index = log_line_of(view, 406)
    assert index is not None
    assert index[1] is False
    assert abs(index[0] - 405) <= 1
    named = (*lines[:10], LogLine("step:406 - loss:1", 11), *lines[11:])
    assert log_line_of(shown(named), 406) == (10, True)
    assert log_line_of(shown(()), 406) is None


def test_notable_lines_near_a_step_come_before_raw_ones() -> None:
    view = shown(
        (LogLine("step:600 - loss:1", 1),),
        (
            Note("warning", "near", 1, step=605),
            Note("warning", "far", 2, step=700),
            Note("progress", "600", 3, step=600),
        ),
    )
    assert log_lines(view, 600, 5) == [("step 605  warning", "near")]
    plain = shown(tuple(LogLine(f"step:{n} - loss:1", n) for n in range(590, 610)))
    texts = [text for _, text in log_lines(plain, 600, 5)]
    assert len(texts) == 5
    assert any("step:600 " in text for text in texts)


def test_the_gpus_of_that_moment() -> None:
    frame, report = canned.make()
    view = View()
    view.take(report)
    told = gpus_at(view, view.span[1])
    assert len(told) == len(frame.hardware[-1].gpus)
    assert all(text.startswith("GPU ") and " GB" in text for text in told)
    assert gpus_at(view, 1) == []


async def test_forecasts_stand_on_overview_metric_and_decision(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await wait_for(pilot, lambda: "entropy 0.034 → 0.02 nats at" in screen_text(app), "the overview")
        app.open_metric("entropy")
        await wait_for(pilot, lambda: "If it goes on like this" in screen_text(app), "the metric")
        await pilot.press("escape", "D")
        await wait_for(pilot, lambda: "IF IT GOES ON LIKE THIS" in screen_text(app), "the decision")
        assert "61 h (±6 h)" in screen_text(app)


async def test_a_metric_says_what_it_means_at_both_sizes(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("2")
        assert "healthy:" in screen_text(app)
        app.open_metric("entropy")
        await pilot.pause()
        assert "What it is" in screen_text(app)
        assert "falls slowly and stays clear of" in screen_text(app)
    async with open_app([canned.make()], NARROW) as (app, pilot):
        app.open_metric("entropy")
        await pilot.pause()
        assert "mean policy entropy per response token" in screen_text(app)


async def test_a_chart_zooms_around_its_cursor_and_marks_other_findings(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        app.open_metric("entropy")
        await wait_for(pilot, lambda: "▽ other findings" in screen_text(app), "the chart")
        await pilot.press("z")
        await wait_for(pilot, lambda: "zoom 4×" in screen_text(app), "closer")
        await pilot.press("z")
        await wait_for(pilot, lambda: "zoom 16×" in screen_text(app), "closer still")
        await pilot.press("escape")
        assert "zoom" not in screen_text(app).splitlines()[4]
        assert app.screen.name == "metric"

"""L narrows numbers and curves to the last rows, as `report --last` does."""

from __future__ import annotations

from rltui.cli.arguments import locate_runs
from rltui.report.build import build
from rltui.session.run_reader import RunReader
from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui.conftest import SampleOpener, is_read, screen_text, wait_for

FLIP = REPO / "sample_runs" / "trl-reward-flip"


async def test_the_numbers_are_those_of_report_last_and_the_diagnosis_stays() -> None:
    opened = RunReader(locate_runs([str(FLIP)], None)[0])
    opened.load()
    asked = build(opened.frame(None).narrowed(last_rows=50))
    opened.close()

    app = RltuiApp(SampleOpener(FLIP), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=(160, 45)) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        before = app.view.report
        assert before is not None
        await pilot.press("L")
        while app.view.last_rows != 50:
            await pilot.press("L")
        await wait_for(pilot, lambda: app.view.newest is not before and app.view.span[0] > 1, "the numbers")
        now = app.view.report
        assert now is not None
        for name, metric in asked.metrics.items():
            shown = now.metrics[name]
            assert (shown.count, shown.first, shown.last, shown.shape) == (
                metric.count,
                metric.first,
                metric.last,
                metric.shape,
            )
        assert now.verdict == before.verdict
        assert [f.id for f in now.findings] == [f.id for f in before.findings]
        assert app.view.span == (asked.run.steps.first, asked.run.steps.last)
        app.say("")
        await wait_for(pilot, lambda: "last 50 rows" in screen_text(app).splitlines()[0], "it is said")

        await pilot.press("L")
        await wait_for(pilot, lambda: app.view.report == before, "the whole run again")
        assert app.view.last_rows is None


async def test_going_back_in_time_keeps_to_the_window() -> None:
    app = RltuiApp(SampleOpener(FLIP), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        app.narrow(20)
        await wait_for(pilot, lambda: app.view.newest is not None and app.view.newest.run.steps.rows == 20, "20 rows")
        await pilot.press("left_square_bracket")
        await wait_for(pilot, lambda: app.view.past is not None, "the past")
        assert app.view.past is not None
        assert app.view.past[1].run.steps.rows == 20


def test_a_frame_of_the_past_has_its_own_last_rows() -> None:
    """A replay is made of such frames."""
    opened = RunReader(locate_runs([str(FLIP)], None)[0])
    opened.load()
    then = build(opened.past_frame(100).narrowed(last_rows=10)).run.steps
    opened.close()
    assert then.rows == 10
    assert then.last == 100

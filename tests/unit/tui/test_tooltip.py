"""The mouse over a metric: what the metric means, as the line of the selected one says it."""

from __future__ import annotations

import pytest
from textual.widgets import Tooltip

from rltui.tui.app import RltuiApp
from rltui.tui.panes.metrics import meaning
from rltui.tui.screens.base import Pane
from rltui.tui.screens.main import MainScreen
from tests.conftest import REPO
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for


@pytest.mark.parametrize(("size", "theme"), [(WIDE, "dark"), (NARROW, "ansi-16"), (NARROW, "mono")])
async def test_the_metric_under_the_mouse_is_explained(size: tuple[int, int], theme: str) -> None:
    run = REPO / "sample_runs" / "trl-reward-flip"
    app = RltuiApp(SampleOpener(run), target="here", theme=theme, clock=lambda: 1.8e9)
    app.TOOLTIP_DELAY = 0.01
    async with app.run_test(size=size, tooltips=True) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("2")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, MainScreen)
        y, name = next(iter(screen.owners["metrics"].items()))
        assert isinstance(name, str)
        await pilot.hover("#metrics", offset=(20, y))
        tooltip = app.screen.get_child_by_type(Tooltip)
        await wait_for(pilot, lambda: bool(tooltip.display) and tooltip.size.height > 1, "the tooltip")
        assert str(app.screen.query_one("#metrics", Pane).tooltip) == meaning(app.view, name)
        await pilot.pause()
        assert app.view.explained(name).split()[0] in screen_text(app)
        await pilot.hover("#metrics", offset=(20, 0))  # the title: no metric
        await wait_for(pilot, lambda: not tooltip.display, "the tooltip goes")

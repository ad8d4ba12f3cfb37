"""The guided tour of `rltui demo`: one key begins it and goes on, any other key leaves the screen as it is."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from rltui.cli.screen import sample_runs
from rltui.tui.app import RltuiApp
from rltui.tui.start import SessionOpener
from rltui.tui.tour import stops
from tests.unit.tui.conftest import NARROW, WIDE, screen_text, wait_for

SHOWS = {
    "verdict": "Keep checkpoint-200",
    "finding": "Likely causes",
    "metric": "Chart",
    "past": "370 of 700",
    "rollouts": "Worst",
}


def demo(toured: bool = True) -> RltuiApp:
    return RltuiApp(SessionOpener([sample_runs()], {}, None), clock=lambda: 1.8e9, toured=toured)


async def listed(app: RltuiApp, pilot: Pilot[None]) -> None:
    await wait_for(pilot, lambda: app.screen.name == "picker" and "trl-length-bonus" in screen_text(app), "the list")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_five_stops_by_one_key(size: tuple[int, int]) -> None:
    app = demo()
    async with app.run_test(size=size) as pilot:
        await listed(app, pilot)
        assert stops().begin in screen_text(app)
        for stop in stops().stop:
            await wait_for(pilot, lambda: app.tour is None or not app.tour.at or app.view.newest is not None, "read")
            await pilot.press("t")
            await wait_for(pilot, lambda stop=stop: SHOWS[stop.place] in screen_text(app), f"what {stop.place} shows")
            assert screen_text(app).splitlines()[-1].strip().startswith(stop.text)
        await pilot.press("t")
        assert stops().end in screen_text(app)
        assert app.view.cursor is None


async def test_any_other_key_goes_on_without_it() -> None:
    app = demo()
    async with app.run_test(size=NARROW) as pilot:
        await listed(app, pilot)
        await pilot.press("j")
        assert stops().begin not in screen_text(app)
        assert app.screen.name == "picker"


async def test_elsewhere_the_key_says_where_the_tour_is() -> None:
    app = demo(toured=False)
    async with app.run_test(size=NARROW) as pilot:
        await listed(app, pilot)
        assert stops().begin not in screen_text(app)
        await pilot.press("t")
        assert "rltui demo" in screen_text(app)
        assert app.screen.name == "picker"


def test_each_text_fits_the_narrowest_usual_screen() -> None:
    tour = stops()
    assert all(len(text) <= 76 for text in (tour.begin, tour.end, *(stop.text for stop in tour.stop)))

"""Pictures of every screen on the sample runs, in three themes and sizes; the README shows some of them.

Anew after a change that is meant: pytest tests/snapshots --snapshot-update
"""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.events.digest import digest
from rltui.tui.app import RltuiApp
from rltui.tui.picture import svg
from rltui.tui.screens.picker import PickerScreen
from tests.snapshots.conftest import NOW
from tests.snapshots.film import TOUR, Unsampled, without_measure
from tests.unit.tui.conftest import SampleOpener, is_read, wait_for
from tests.unit.tui.conftest import quick_keys as quick_keys

PICTURES = Path(__file__).parent / "pictures"
LOOKS = {"dark": (160, 45), "light": (120, 36), "ansi-16": (80, 24)}
FLIP, CRASH, HEALTHY, ALL = "trl-reward-flip", "verl-grpo-crash", "trl-grpo-healthy", ""
SCREENS = {
    "main": (FLIP, ()),
    "healthy": (HEALTHY, ()),
    "finding": (FLIP, ("enter",)),
    "metric": (FLIP, ("2", "enter")),
    "overlay": (FLIP, ("2", "enter", "o")),
    "values": (FLIP, ("2", "enter", "enter")),
    "metrics": (CRASH, ("2", "2")),
    "findings": (FLIP, ("A", "1")),
    "phases": (CRASH, ("3", "3")),
    "gpu": (CRASH, ("4", "4")),
    "log": (CRASH, ("6", "6")),
    "rollouts": (CRASH, ("5",)),
    "decision": (FLIP, ("D",)),
    "first_movers": (FLIP, ("M",)),
    "knowledge": (FLIP, ("K",)),
    "config": (CRASH, ("i",)),
    "pipeline": (FLIP, ("P",)),
    "coverage": (HEALTHY, ("C",)),
    "help": (FLIP, ("question_mark",)),
    "digest": (FLIP, ()),
    "picker": (ALL, ("j", "j")),
    "compare": (ALL, ("c",)),
}
PAST = {"overlay": ("h", "h")}
"""Keys that go back by columns, of which each size has others."""


async def arrive(screen: str, keys: tuple[str, ...], app: RltuiApp, pilot: Pilot[None]) -> None:
    """What the picture needs is read, and its screen is open."""
    if isinstance(app.many.opener, Unsampled):
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen) and bool(app.screen.basis), "the runs")
        await pilot.press(*keys)
        if screen == "picker":
            rows = app.screen.rows.values() if isinstance(app.screen, PickerScreen) else ()
            await wait_for(pilot, lambda: all(row.decision is not None for row in rows), "the verdicts")
        if screen == "compare":
            await wait_for(pilot, lambda: app.many.comparison is not None, "the comparison")
        return
    await wait_for(pilot, lambda: is_read(app) and bool(app.view.insights), "the run is read")
    await pilot.press(*keys)
    if screen == "digest":
        assert app.view.newest is not None
        app.digest = digest(app.view.newest, {"time": NOW - 9 * 3600, "step": 150, "decision": "continue"}, [])
        app.open_named("digest")


async def settle(screen: str, app: RltuiApp, pilot: Pilot[None]) -> None:
    """All that the screen asks for has come."""
    for _ in range(5):  # charts one after the other
        await pilot.pause(0.02)
    if app.view.cursor is not None:
        await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == app.view.cursor, "the past")
    if screen in ("finding", "decision", "first_movers", "phases", "pipeline"):
        await wait_for(pilot, lambda: not app.view.asked - set(app.view.insights), "what moved first")
    if screen == "knowledge":
        await wait_for(pilot, lambda: bool(app.view.pages), "the page")
    await pilot.pause()
    await without_measure(app, pilot)


@pytest.mark.long
@pytest.mark.parametrize("screen", SCREENS)
async def test_picture(screen: str, request: pytest.FixtureRequest) -> None:
    """In all themes and sizes, one after the other: the terminal is made smaller, and the theme is another."""
    run, keys = SCREENS[screen]
    path = Path("sample_runs") / run
    opener = Unsampled([str(path)], {}, None) if run == ALL else SampleOpener(path)
    app = RltuiApp(opener, target=run or str(path), theme=next(iter(LOOKS)), mouse=False, clock=lambda: NOW)
    other = []
    async with app.run_test(size=next(iter(LOOKS.values()))) as pilot:
        await arrive(screen, keys, app, pilot)
        for theme, size in LOOKS.items():
            await pilot.resize_terminal(*size)
            app.use_theme(theme)
            app.follow()
            await pilot.press(*PAST.get(screen, ()))
            await settle(screen, app, pilot)
            rows = [strip._segments for strip in app.screen._compositor.render_strips()]
            picture = svg(rows, size[0], app.palette, f"rltui: {screen}, {app.view.target}")
            file = PICTURES / f"{screen}-{theme}.svg"
            if request.config.option.update_snapshots:
                file.write_text(picture, encoding="utf-8")
            if picture != file.read_text(encoding="utf-8"):
                other.append(file.name)
    assert not other, "not what the screen shows"


def test_no_picture_is_left_over() -> None:
    wanted = {f"{screen}-{theme}.svg" for screen in SCREENS for theme in LOOKS} | {TOUR}
    assert {file.name for file in PICTURES.iterdir()} == wanted

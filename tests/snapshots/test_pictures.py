"""Pictures of every screen on the sample runs, in three themes and sizes; the README shows some of them.

Anew after a change that is meant: pytest tests/snapshots --snapshot-update
"""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from rltui.tui.app import RltuiApp
from rltui.tui.picture import svg
from tests.conftest import REPO
from tests.unit.tui.conftest import SampleOpener, is_read, wait_for
from tests.unit.tui.conftest import quick_keys as quick_keys

PICTURES = Path(__file__).parent / "pictures"
NOW = 1.8e9
LOOKS = {"dark": (160, 45), "light": (120, 36), "ansi-16": (80, 24)}
FLIP, CRASH, HEALTHY = "trl-reward-flip", "verl-grpo-crash", "trl-grpo-healthy"
SCREENS = {
    "main": (FLIP, ()),
    "healthy": (HEALTHY, ()),
    "finding": (FLIP, ("enter",)),
    "metric": (FLIP, ("2", "enter")),
    "overlay": (FLIP, ("2", "enter", "o", "h", "h")),
    "values": (FLIP, ("2", "enter", "enter")),
    "metrics": (CRASH, ("2", "2")),
    "findings": (FLIP, ("A", "1")),
    "phases": (CRASH, ("3", "3")),
    "gpu": (CRASH, ("4", "4")),
    "log": (CRASH, ("6", "6")),
    "rollouts": (CRASH, ("5",)),
    "decision": (FLIP, ("D",)),
    "moves": (FLIP, ("M",)),
    "knowledge": (FLIP, ("K",)),
    "config": (CRASH, ("i",)),
    "pipeline": (FLIP, ("P",)),
    "coverage": (HEALTHY, ("C",)),
    "help": (FLIP, ("question_mark",)),
}


@pytest.fixture(autouse=True)
def _the_same_everywhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.chdir(REPO)  # paths in the picture are those of a checkout
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path_factory.mktemp("own")))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    late = SimpleNamespace(time=lambda: NOW, monotonic=time.monotonic)  # a fresh checkout's files are no live run
    for module in ("live", "opened"):
        monkeypatch.setattr(f"rltui.session.{module}.clock", late)


@pytest.mark.parametrize("theme", LOOKS)
@pytest.mark.parametrize("screen", SCREENS)
async def test_picture(screen: str, theme: str, request: pytest.FixtureRequest) -> None:
    run, keys = SCREENS[screen]
    path = (REPO / "sample_runs" / run).relative_to(REPO)
    app = RltuiApp(SampleOpener(path), target=run, theme=theme, mouse=False, clock=lambda: NOW)
    async with app.run_test(size=LOOKS[theme]) as pilot:
        await wait_for(pilot, lambda: is_read(app) and bool(app.view.insights), "the run is read")
        await pilot.press(*keys)
        for _ in range(5):  # charts one after the other
            await pilot.pause(0.02)
        if app.view.cursor is not None:
            await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == app.view.cursor, "the past")
        if screen in ("finding", "decision", "moves"):
            await wait_for(pilot, lambda: not app.view.asked - set(app.view.insights), "what moved first")
        if screen == "knowledge":
            await wait_for(pilot, lambda: bool(app.view.pages), "the page")
        await pilot.pause()
        app.view.wire = app.view.message = ""
        app.redraw()
        await pilot.pause()
        rows = [strip._segments for strip in app.screen._compositor.render_strips()]
        picture = svg(rows, LOOKS[theme][0], app.palette, f"rltui: {screen}, {run}")
    file = PICTURES / f"{screen}-{theme}.svg"
    if request.config.option.update_snapshots:
        file.write_text(picture, encoding="utf-8")
    assert picture == file.read_text(encoding="utf-8"), f"{file.name} is not what the screen shows"


def test_no_picture_is_left_over() -> None:
    wanted = {f"{screen}-{theme}.svg" for screen in SCREENS for theme in LOOKS}
    assert {file.name for file in PICTURES.iterdir()} == wanted

"""An app over canned frames, and waiting for conditions instead of sleeping."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.app import App
from textual.geometry import Region
from textual.pilot import Pilot
from textual.screen import Screen

from rltui.report.model import Report
from rltui.report.names import FirstValues, first_values
from rltui.report.user_marks import first_time
from rltui.session import Frame
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from rltui.settings import state_dir
from rltui.tui.app import RltuiApp
from rltui.tui.messages import Choice
from rltui.tui.view import View
from rltui.tui.worker import FrameSource
from tests.unit.tui import canned, canned_source

PANE_FAILED = View.pane_failed
PATIENCE_S = 180.0
"""No condition is given up before: a test that passes never waits so long."""
WIDE, NARROW = (160, 45), (80, 24)
Open = Callable[..., AbstractAsyncContextManager[tuple[RltuiApp, Pilot[None]]]]


@pytest.fixture(autouse=True)
def _what_a_pane_raises_fails_the_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the screen it is told, and the other panes go on: `PANE_FAILED`."""

    def fails(view: View, name: str, error: Exception) -> str:
        raise error

    monkeypatch.setattr(View, "pane_failed", fails)


class CannedOpener:
    """Offers `choices` runs; each opens the same source."""

    def __init__(self, source: FrameSource, choices: int = 1, error: str = "") -> None:
        self.source = source
        self.choices = choices
        self.error = error
        self.opened: list[int] = []

    def first_values(self) -> None:
        """Canned runs have no files."""

    def find(self) -> Sequence[Choice]:
        if self.error:
            raise ValueError(self.error)
        return [Choice(f"run-{i}", f"runs/run-{i}", "jsonl", 1000) for i in range(self.choices)]

    def open(self, index: int) -> FrameSource:
        self.opened.append(index)
        if isinstance(self.source, canned_source.CannedSource):
            self.source.closed.clear()
        return self.source


SHOWN = Compositor.render_update


def drawn(self: Compositor, full: bool = False, screen_stack: list[Screen] | None = None, **more: bool) -> Any:
    """Every pane that changed is drawn, as for a terminal. Putting the parts together for it takes as long again, and a
    test has no terminal: `screen_text` puts them together when it looks."""
    if full:
        return SHOWN(self, full, screen_stack, **more)
    visible_screen_stack.set(screen_stack or [])
    regions = self._dirty_regions.copy()
    self._dirty_regions.clear()
    if regions:
        for _ in self._get_renders(Region.from_union(regions).intersection(self.size.region)):
            pass
    return None


@pytest.fixture(autouse=True)
def quick_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and pauses wait until every message is worked off. Textual waits for an idle processor: 0.1 s a key, and
    much longer where something else keeps the machine busy. Nothing is put together for a terminal."""

    async def worked_off(*_: float) -> None:
        for _ in range(5):
            await asyncio.sleep(0)

    async def press(self: Pilot[None], *keys: str) -> None:
        for key in keys:
            await self.app._press_keys([key])
            for _ in range(3):  # app, screen, the screen that it opened
                await self._wait_for_screen()

    monkeypatch.setattr("textual.app.wait_for_idle", worked_off)
    monkeypatch.setattr("textual.pilot.wait_for_idle", worked_off)
    monkeypatch.setattr(Pilot, "press", press)
    monkeypatch.setattr(Compositor, "render_update", drawn)


async def wait_for(pilot: Pilot[None], condition: Callable[[], bool], what: str = "") -> None:
    """Lets the app work until the condition holds, however busy the machine is."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, f"never came true: {what}\n{screen_text(pilot.app)}"
        await pilot.pause(0.01)


def screen_text(app: App[Any]) -> str:
    """What the terminal shows, as text."""
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes what the user marked; nobody is here for the first time."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    state = Path(state_dir(os.environ))
    first_time(str(state))
    return state


class SampleOpener:
    """Opens sample runs as the screen does, without sampling this machine's hardware."""

    def __init__(self, *paths: Path) -> None:
        self.paths = paths
        self.opened: list[LiveRun] = []

    def first_values(self) -> FirstValues | None:
        found = [one for path in self.paths for one in locate([str(path)])]
        return first_values(found[0], {}) if len(found) == 1 else None

    def find(self) -> Sequence[Choice]:
        return [Choice(path.name, str(path), "", 0) for path in self.paths]

    def open(self, index: int) -> LiveRun:
        self.opened.append(LiveRun(locate([str(self.paths[index])])[0]))
        return self.opened[-1]


def is_read(app: RltuiApp) -> bool:
    """The run is read to its end, and the samples of its rollouts, which are read beside it."""
    report = app.view.newest
    if report is None or not report.recording.loading.done:
        return False
    return all("still looked for" not in needs for _, needs, _ in report.not_evaluable)


@pytest.fixture
def open_app(monkeypatch: pytest.MonkeyPatch) -> Open:
    """`async with open_app(frames, size) as (app, pilot)`: the app with the first frame on screen."""

    @asynccontextmanager
    async def opened(
        made: Sequence[tuple[Frame, Report]], size: tuple[int, int] = WIDE, choices: int = 1, theme: str = "dark"
    ) -> AsyncIterator[tuple[RltuiApp, Pilot[None]]]:
        reports = {id(frame): replace(report, recording=frame) for frame, report in made}
        monkeypatch.setattr("rltui.report.build.build", lambda frame, **_: reports[id(frame)])
        source = canned_source.CannedSource([frame for frame, _ in made])
        app = RltuiApp(CannedOpener(source, choices), target="here", theme=theme, clock=canned.clock)
        async with app.run_test(size=size) as pilot:
            if choices == 1:
                await wait_for(pilot, lambda: app.view.report is not None, "the first frame")
                await pilot.pause()
            else:
                await wait_for(pilot, lambda: app.screen.name == "picker", "the picker")
                await pilot.pause(0.02)
            yield app, pilot

    return opened

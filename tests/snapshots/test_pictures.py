"""Pictures of the real screen on the sample runs. Anew: pytest tests/snapshots --snapshot-update"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace

import pytest
from textual.pilot import Pilot

from rltui.plots.glyphs import BLOCK
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from rltui.tui.app import RltuiApp
from rltui.tui.worker import Choice
from tests.conftest import REPO

WIDE, SMALL = (160, 45), (80, 24)
NOW = 1.8e9


class SampleOpener:
    """Opens one sample run without sampling this machine's hardware, so that a picture is the same everywhere."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find(self) -> Sequence[Choice]:
        return [Choice(self._name, f"sample_runs/{self._name}", "", None, 0)]

    def open(self, index: int) -> LiveRun:
        return LiveRun(locate([f"sample_runs/{self._name}"])[index])


def app(name: str, theme: str = "dark") -> RltuiApp:
    return RltuiApp(SampleOpener(name), target=name, theme=theme, glyphs=BLOCK, mouse=False, clock=lambda: NOW)


def pressing(*keys: str) -> Callable[[Pilot[None]], Awaitable[None]]:
    """Waits until the run is read, then presses keys."""

    async def run(pilot: Pilot[None]) -> None:
        shown = pilot.app
        assert isinstance(shown, RltuiApp)
        while shown.view.report is None or not (shown.view.frame and shown.view.frame.loading.done):
            await pilot.pause(0.02)
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        if shown.screen.name in ("finding", "decision"):
            while not shown.view.insights:
                await pilot.pause(0.02)
        shown.view.wire = ""
        await pilot.pause()

    return run


@pytest.fixture(autouse=True)
def _from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(REPO)  # paths in the picture are those of a checkout
    monkeypatch.delenv("NO_COLOR", raising=False)
    late = SimpleNamespace(
        time=lambda: NOW, monotonic=time.monotonic
    )  # a fresh checkout's files are new: not a live run
    for module in ("live", "opened"):
        monkeypatch.setattr(f"rltui.session.{module}.clock", late)


def test_main_sick(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-reward-flip"), terminal_size=WIDE, run_before=pressing())


@pytest.mark.parametrize("theme", ["light", "mono"])
def test_main_sick_in_theme(snap_compare: Callable[..., bool], theme: str) -> None:
    assert snap_compare(app("trl-reward-flip", theme), terminal_size=WIDE, run_before=pressing())


def test_main_healthy(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-grpo-healthy"), terminal_size=WIDE, run_before=pressing())


def test_main_small(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-reward-flip"), terminal_size=SMALL, run_before=pressing())


def test_finding(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-reward-flip"), terminal_size=WIDE, run_before=pressing("enter"))


def test_metric(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-reward-flip"), terminal_size=WIDE, run_before=pressing("2", "enter"))


def test_step_time(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("verl-grpo-crash"), terminal_size=WIDE, run_before=pressing("3", "3"))


def test_decision(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("trl-reward-flip"), terminal_size=WIDE, run_before=pressing("D"))


def test_all_metrics(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("verl-grpo-crash", "light"), terminal_size=WIDE, run_before=pressing("2", "2"))


def test_log(snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(app("verl-grpo-crash", "mono"), terminal_size=SMALL, run_before=pressing("6", "6"))

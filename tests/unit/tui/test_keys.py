"""The key table is the one source: bindings, footer, help and README agree with it, and every key does no harm."""

from __future__ import annotations

from collections import Counter

import pytest

from rltui.tui import keys
from rltui.tui.screens.base import PaneScreen
from rltui.tui.screens.changes import DigestScreen, FirstMoversScreen
from rltui.tui.screens.checks import CoverageScreen, PipelineScreen
from rltui.tui.screens.compare import CompareScreen
from rltui.tui.screens.config import ConfigScreen
from rltui.tui.screens.decision import DecisionScreen
from rltui.tui.screens.finding import FindingScreen
from rltui.tui.screens.gpu import GpuScreen
from rltui.tui.screens.help import HelpScreen, KnowledgeScreen
from rltui.tui.screens.log import LogScreen
from rltui.tui.screens.main import MainScreen
from rltui.tui.screens.metric import MetricScreen, ValuesScreen
from rltui.tui.screens.phases import PhasesScreen
from rltui.tui.screens.picker import PickerScreen
from rltui.tui.screens.rollouts import RolloutsScreen
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open, screen_text, wait_for

SCREENS: dict[str, type[PaneScreen]] = {
    screen.NAME: screen
    for screen in (
        MainScreen,
        MetricScreen,
        ValuesScreen,
        FindingScreen,
        PhasesScreen,
        GpuScreen,
        LogScreen,
        RolloutsScreen,
        DecisionScreen,
        FirstMoversScreen,
        DigestScreen,
        KnowledgeScreen,
        ConfigScreen,
        PipelineScreen,
        CoverageScreen,
        HelpScreen,
        CompareScreen,
        PickerScreen,
    )
}
ENDS = {"q", "Q,ctrl+q", "ctrl+z", "ctrl+s", "Y"}
"""Keys that end the app, or write a file: tested by themselves."""
OPENS = {
    "main": [],
    "metric": ["2", "enter"],
    "values": ["2", "enter", "enter"],
    "finding": ["enter"],
    "phases": ["3", "3"],
    "gpu": ["4", "4"],
    "log": ["6", "6"],
    "rollouts": ["5"],
    "decision": ["D"],
    "first_movers": ["M"],
    "digest": ["d"],
    "knowledge": ["K"],
    "config": ["i"],
    "pipeline": ["P"],
    "coverage": ["C"],
}


def test_every_screen_of_the_table_exists_and_has_every_action() -> None:
    assert set(keys.ALL) == set(SCREENS)
    for key in keys.KEYS:
        name = key.action.split("(")[0]
        if not name.startswith("app."):
            for screen in key.where:
                assert hasattr(SCREENS[screen], f"action_{name}"), (key.id, screen)


def test_ids_are_unique_and_no_key_has_two_meanings_on_a_screen() -> None:
    assert max(Counter(key.id for key in keys.KEYS).values()) == 1
    for screen in keys.ALL:
        bound = Counter(name for key in keys.on(screen) for name in key.keys.split(","))
        assert max(bound.values()) == 1, bound


def test_nothing_is_bound_to_the_keys_of_tmux_and_screen_or_to_twins() -> None:
    bound = {name for key in keys.KEYS for name in key.keys.split(",")}
    assert not bound & {"ctrl+a", "ctrl+b", "ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m"}


@pytest.mark.parametrize("screen", keys.ALL)
def test_bindings_are_the_table(screen: str) -> None:
    table = {(key.id, key.keys, key.action, key.tooltip) for key in keys.on(screen)}
    assert {(b.id, b.key, b.action, b.tooltip) for b in keys.bindings(screen)} == table


@pytest.mark.parametrize("screen", keys.ALL)
def test_the_footer_holds_only_keys_that_work_there(screen: str) -> None:
    working = {key.shown for key in keys.on(screen)} | {key.footer_shown for key in keys.on(screen)}
    shown = keys.footer(screen)
    assert shown
    assert {key for key, _ in shown} <= working


def test_the_readme_table_lists_every_key() -> None:
    table = keys.markdown_table()
    assert table.count("\n") == len(keys.KEYS) + 2
    for key in keys.KEYS:
        assert key.tooltip.replace("| OR", "\\| OR") in table


@pytest.mark.parametrize("screen", list(OPENS))
async def test_help_lists_exactly_the_keys_of_its_screen(open_app: Open, screen: str) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press(*OPENS[screen])
        await wait_for(pilot, lambda: app.screen.name == screen, screen)
        await pilot.press("question_mark")
        await wait_for(pilot, lambda: app.screen.name == HelpScreen.NAME, "help")
        text = screen_text(app)
        for key in keys.KEYS:
            assert (key.tooltip in text) == (screen in key.where), key.id


@pytest.mark.parametrize("size", [WIDE, pytest.param(NARROW, marks=pytest.mark.fuzz_full)])
@pytest.mark.parametrize("screen", OPENS)
async def test_every_key_of_every_screen_leaves_a_live_app(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, screen: str, size: tuple[int, int]
) -> None:
    """On a narrow terminal a monkey presses them (`test_monkey.py`)."""
    async with open_app([canned.make()], size) as (app, pilot):
        # Looked for at once: a picker that comes late would open over the next key's screen.
        monkeypatch.setattr(app.worker, "list_runs", lambda: app.worker._find(open_single=False))
        for key in keys.on(screen):
            if key.keys in ENDS or key.id == "interrupt":
                continue
            if app.screen.name != screen:
                while not app.at_top:
                    app.pop_screen()
                main = app.screen
                assert isinstance(main, MainScreen)
                main.focus_on, main.zoomed = "findings", False
                await pilot.press(*OPENS[screen])
                await wait_for(pilot, lambda: app.screen.name == screen, screen)
            await pilot.press(key.keys.split(",")[0])
            assert app.is_running, key.id
            assert app._exception is None, key.id

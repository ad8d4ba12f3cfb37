"""Random keys on every screen leave a live app. RLTUI_MONKEY_SEED asks for other keys."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.tui import keys
from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open, SampleOpener, is_read, wait_for
from tests.unit.tui.test_keys import OPENS

KEYS, ALL_KEYS = 25, 500
SEED = int(os.environ.get("RLTUI_MONKEY_SEED", "1"))
LEFT_OUT = {"quit", "back", "interrupt", "suspend", "plain"}
"""Keys that end the app or hand the terminal back."""
SMALLEST, LARGE = (60, 20), (300, 100)
FLIP, CRASH = "trl-reward-flip", "verl-grpo-crash"
SCREENS = [*OPENS, "help", "picker"]


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The palette's verb `quit` is a way out that a monkey finds."""
    monkeypatch.setattr(RltuiApp, "exit", lambda self, *_, **__: None)


async def press(app: RltuiApp, pilot: Pilot[None], screen: str, size: tuple[int, int], count: int) -> None:
    """Opens a screen and presses random keys of the table, letters and digits among them."""
    chance = random.Random(f"{SEED} {screen} {size}")
    names = sorted({name for key in keys.KEYS if key.id not in LEFT_OUT for name in key.keys.split(",")})
    names += ["escape"] * 4  # else it stays in the palette
    if screen != "picker":
        await pilot.press(*OPENS.get(screen, ["question_mark"]))
    pressed: list[str] = []
    for _ in range(count):
        pressed.append(chance.choice(names))
        await pilot.press(pressed[-1])
        assert app.is_running, pressed
        assert app._exception is None, pressed


@pytest.mark.parametrize("size", [pytest.param(WIDE, marks=pytest.mark.fuzz_full), NARROW])
@pytest.mark.parametrize("screen", SCREENS)
async def test_random_keys(
    open_app: Open, screen: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with open_app([canned.make()], size, choices=2 if screen == "picker" else 1) as (app, pilot):
        await press(app, pilot, screen, size, KEYS)


@pytest.mark.fuzz_full
@pytest.mark.parametrize(("run", "size"), [(FLIP, WIDE), (CRASH, NARROW), (FLIP, SMALLEST), (CRASH, LARGE)])
@pytest.mark.parametrize("screen", SCREENS)
async def test_five_hundred_random_keys_on_a_run(
    run: str, screen: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = REPO / "sample_runs" / run
    app = RltuiApp(SampleOpener(*([path, path] if screen == "picker" else [path])), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        if screen == "picker":
            await wait_for(pilot, lambda: app.screen.name == "picker", "the picker")
        else:
            await wait_for(pilot, lambda: is_read(app), "the run is read")
        await press(app, pilot, screen, size, ALL_KEYS)

"""Random keys on every screen leave a live app. RLTUI_MONKEY_KEYS asks for more, RLTUI_MONKEY_SEED for others."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from rltui.tui import keys
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open
from tests.unit.tui.test_keys import OPENS

KEYS = int(os.environ.get("RLTUI_MONKEY_KEYS", "12"))
SEED = int(os.environ.get("RLTUI_MONKEY_SEED", "1"))
LEFT_OUT = {"quit", "back", "interrupt", "suspend", "plain"}
"""Keys that end the app or hand the terminal back."""


@pytest.mark.parametrize("size", [WIDE, NARROW])
@pytest.mark.parametrize("screen", list(OPENS))
async def test_random_keys(
    open_app: Open, screen: str, size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chance = random.Random(f"{SEED} {screen} {size}")
    names = sorted({name for key in keys.KEYS if key.id not in LEFT_OUT for name in key.keys.split(",")})
    async with open_app([canned.make()], size) as (app, pilot):
        await pilot.press(*OPENS[screen])
        pressed = []
        for _ in range(KEYS):
            pressed.append(chance.choice(names))
            await pilot.press(pressed[-1])
            assert app.is_running, pressed
            assert app._exception is None, pressed

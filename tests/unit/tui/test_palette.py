"""The palette: what was typed is what runs, the keys stand beside the commands, and what is used comes first."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.tui.screens.commands import found
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, Open, screen_text, wait_for


@pytest.mark.parametrize(
    ("words", "screen"),
    [
        ("coverage", "coverage"),
        ("rollouts", "rollouts"),
        ("pipeline", "pipeline"),
        ("cfg", "config"),
        ("chkp", "decision"),
    ],
)
async def test_words_and_enter_in_one_write_run_what_was_typed(open_app: Open, words: str, screen: str) -> None:
    async with open_app([canned.make()], NARROW) as (app, pilot):
        await pilot.press("colon", *words, "enter")  # nothing is waited for in between
        await wait_for(pilot, lambda: app.screen.name == screen, "the screen")
        await pilot.press("escape")
        assert app.at_top


async def test_it_lists_keys_beside_the_commands_and_leaves_without_running_any(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("colon")
        line = next(line for line in screen_text(app).splitlines() if "how to log it" in line)
        assert line.split()[:2] == ["coverage", "C"]
        await pilot.press(*"zzzz")
        assert "no command fits" in screen_text(app)
        await pilot.press("enter", "escape")
        assert app.at_top
        assert not app.view.message


async def test_what_is_used_comes_first_also_next_time(open_app: Open, own_state: Path) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        assert found(app, "", "main", {})[0].name != "pipeline"
        await pilot.press("colon", *"pipeline", "enter", "escape")
        await wait_for(pilot, lambda: (own_state / "commands.json").exists(), "the file")
        assert (own_state / "commands.json").stat().st_mode & 0o777 == 0o600
        await pilot.press("colon")
        await pilot.pause()
        listed = screen_text(app).splitlines()[2:]
        assert listed[0].split()[:3] == ["▌pipeline", "P", "the"]


async def test_a_metric_is_opened_by_a_part_of_its_name(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("colon", *"entro", "enter")
        await wait_for(pilot, lambda: app.screen.name == "metric", "the metric")
        assert "entropy" in screen_text(app)


async def test_a_paste_and_the_arrows(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("colon", *"theme", "down", "up", "down")
        second = found(app, "theme", "main", {})[1].name
        assert any(line.lstrip().startswith("▌") and second in line for line in screen_text(app).splitlines())
        await pilot.press("ctrl+u", *"step 340", "enter")
        await wait_for(pilot, lambda: app.view.cursor == 340, "the step")

"""The palette holds every verb of the command line, and each of them does something."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import COMMANDS
from rltui.tui.screens.commands import SHELL, verbs
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, Open, screen_text, wait_for

OWN_NAME = {"config": "settings"}


async def test_every_verb_of_the_command_line_is_there(open_app: Open) -> None:
    commands = set(COMMANDS)
    assert {"report", "compare", "doctor"} < commands
    async with open_app([canned.make()]) as (app, _):
        names = {verb.name for verb in verbs(app)}
    assert {OWN_NAME.get(command, command) for command in commands} <= names


@pytest.mark.parametrize(
    ("verb", "words"), [("doctor", "textual"), ("settings", "settings"), ("explain", "kl-runaway")]
)
async def test_pages(open_app: Open, verb: str, words: str) -> None:
    async with open_app([canned.make()], NARROW) as (app, pilot):
        next(v for v in verbs(app) if v.name == verb).do()
        await wait_for(pilot, lambda: bool(app.view.pages), "the page")
        await pilot.pause()
        assert app.screen.name == "knowledge"
        await pilot.press("slash", *words, "enter")
        assert words in screen_text(app).split("/" + words, 1)[1]
        await pilot.press("escape", "escape")
        assert app.at_top


async def test_verbs_of_the_shell_give_the_command(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, _):
        for verb in verbs(app):
            if verb.name in SHELL:
                verb.do()
                assert f"rltui {verb.name}" in app.view.message


async def test_the_palette_opens_by_key_and_finds_a_verb_and_a_step(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("colon")
        await pilot.press(*"coverage")
        await wait_for(pilot, lambda: "how to log it" in screen_text(app), "the hit")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.screen.name == "coverage", "the screen")
        await pilot.press("escape", "colon")
        await pilot.press(*"step 340")
        await wait_for(pilot, lambda: "every pane as it was" in screen_text(app), "the step")
        await pilot.press("enter")
        await wait_for(pilot, lambda: app.view.cursor == 340, "the cursor")


async def test_the_first_time_a_hint_names_the_keys_that_lead_to_all_others(open_app: Open, own_state: Path) -> None:
    (own_state / "welcomed").unlink()
    async with open_app([canned.make()], NARROW) as (app, pilot):
        await wait_for(pilot, lambda: "? lists the keys" in screen_text(app), "the hint")
    async with open_app([canned.make()], NARROW) as (app, pilot):
        await wait_for(pilot, lambda: app.view.marks is not None, "marks")
        assert "? lists the keys" not in screen_text(app)

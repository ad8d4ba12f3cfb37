"""K tells what a metric means, wherever one is under the cursor."""

from __future__ import annotations

import pytest

from rltui.tui.screens.help import KnowledgeScreen
from tests.unit.tui import canned
from tests.unit.tui.conftest import Open, screen_text, wait_for


@pytest.mark.parametrize(
    ("keys", "word", "told"),
    [
        (("2",), "score_mean", "Rules that look at it"),
        (("2", "enter"), "score_mean", "Rules that look at it"),
        (("2", "enter", "enter"), "score_mean", "rises, then levels off"),
        (("3", "3"), "phase:rollout", "Usual share"),
        (("enter",), "", "Speaks when"),
    ],
    ids=["list of metrics", "chart", "values", "phase", "finding"],
)
async def test_k_opens_the_page_of_what_is_selected(
    open_app: Open, keys: tuple[str, ...], word: str, told: str
) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press(*keys, "K")
        screen = app.screen
        assert isinstance(screen, KnowledgeScreen)
        assert screen.word == word or (not word and app.view.worst is not None and screen.word == app.view.worst.id)
        await wait_for(pilot, lambda: told in screen_text(app), told)
        await pilot.press("escape")
        assert app.screen.name != "knowledge"


async def test_k_on_what_moved_first(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("M")
        await wait_for(pilot, lambda: bool(getattr(app.screen, "found", ())), "what moved first")
        await pilot.press("K")
        await wait_for(pilot, lambda: "Rules that look at it" in screen_text(app), "the page")


async def test_a_key_that_nobody_knows_is_said_to_be_unknown(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        app.open_meaning("my/own/number")
        await wait_for(pilot, lambda: "my/own/number: no such rule" in screen_text(app), "the page")

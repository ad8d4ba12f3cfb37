"""Ten questions that people bring to a run, each answered from the main screen in at most two keys."""

from __future__ import annotations

import re

import pytest

from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open, screen_text, wait_for

MIDDLE = (120, 36)
QUESTIONS = {
    "which phase takes the time": ("3", r"generation .*\d+ %"),
    "which checkpoint to keep": ("", r"Keep global_step_600"),
    "what moved first": ("M", r"first"),
    "when will it end": ("", r"ETA \d"),
    "is the GPU idle": ("4", r"\d+ W|W +°C|power"),
    "is it hung": ("", r"live|● "),
    "what is not logged": ("C", r"expected metrics are logged"),
    "what to change": ("↵", r"(?i)to do|fix"),
    "why": ("↵", r"(?i)cause"),
    "go on or stop": ("D", r"(?i)stop"),
}


@pytest.mark.parametrize("size", [WIDE, MIDDLE, NARROW])
@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_question_is_answered_in_at_most_two_keys(open_app: Open, question: str, size: tuple[int, int]) -> None:
    keys, answer = QUESTIONS[question]
    assert len(keys) <= 2
    async with open_app([canned.make()], size) as (app, pilot):
        for key in keys:
            await pilot.press("enter" if key == "↵" else key)
        await wait_for(pilot, lambda: re.search(answer, screen_text(app)) is not None, question)


async def test_the_rollouts_where_the_reward_fell_are_two_keys_away(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("enter", "5")
        assert app.screen.name == "rollouts"
        onset = app.view.open_findings()[0].onset_step
        assert onset is not None
        assert app.screen.step == onset  # type: ignore[attr-defined]


async def test_the_config_of_a_finding_stands_alone_and_the_rest_is_one_key_away(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("enter", "i")
        assert app.screen.name == "config"
        before = screen_text(app)
        assert "kl_loss_coef" in before
        await pilot.press("escape")
        assert app.screen.name == "config"
        assert len(screen_text(app).split()) > len(before.split())

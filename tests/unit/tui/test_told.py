"""What the diagnosis works out on request, on the screens where one looks for it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.unit.tui import canned, canned_source
from tests.unit.tui.conftest import NARROW, WIDE, Open, screen_text, wait_for


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_step_time_says_why_a_step_was_slow_and_who_waits(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app([canned.make()], size) as (app, pilot):
        await pilot.press("3", "3", "left_square_bracket")
        await wait_for(pilot, lambda: (app.view.at, app.view.cursor) in app.view.insights, "why it was slow")
        await pilot.pause()
        text = " ".join(screen_text(app).split())
        assert f"step {app.view.cursor}: 300 s, 2 times the usual 150 s" in text
        assert text.count("2 times the usual") == 1
        if size == WIDE:
            assert canned_source.WAITS in text


async def test_step_time_sets_shares_against_the_run_itself(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("3", "3")
        await wait_for(pilot, lambda: bool(app.view.insights), "the shares")
        await pilot.pause()
        line = next(line for line in screen_text(app).splitlines() if "71 (55–64) %" in line)
        assert "generation" in line


async def test_pipeline_tells_reward_values_and_constants(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("P")
        await wait_for(pilot, lambda: bool(app.view.insights), "the constants")
        await pilot.pause()
        text = screen_text(app)
        assert canned_source.REWARDS in text
        line = next(line for line in text.splitlines() if "clip range, lower" in line)
        assert line.split() == ["✓", "pass", "clip", "range,", "lower", "0.2", "bfloat16"]
        assert "from actor.clip_ratio" in text


async def test_coverage_lists_checks_that_do_not_apply(open_app: Open) -> None:
    frame, report = canned.make()
    report = replace(report, not_applicable=(("Value loss explodes", "the algorithm has no critic"),))
    async with open_app([(frame, report)]) as (app, pilot):
        await pilot.press("C")
        assert "1 do not apply" in screen_text(app)
        await pilot.press("G")
        line = next(line for line in screen_text(app).splitlines() if "Value loss explodes" in line)
        assert "the algorithm has no critic" in line


async def test_the_decision_says_by_what_a_checkpoint_is_the_best(open_app: Open) -> None:
    frame, report = canned.make()
    best = report.verdict.best_checkpoint
    assert best is not None
    verdict = replace(report.verdict, best_checkpoint=replace(best, basis="validation, math500"))
    async with open_app([(frame, replace(report, verdict=verdict))]) as (app, pilot):
        await pilot.press("D")
        await pilot.pause()
        assert "chosen by validation, math500" in screen_text(app)


LOST = "40 lines of train.log with “reward” were left out, as line 2: “[grader] batch 1: reward=0.31”."


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_lines_that_were_left_out_are_told(open_app: Open, size: tuple[int, int]) -> None:
    frame, report = canned.make()
    verdict = replace(report.verdict, best_checkpoint=None, text="Neither reward nor validation is logged.")
    async with open_app([(frame, replace(report, verdict=verdict, lost=LOST))], size) as (app, pilot):
        await pilot.pause()
        assert "40 lines of train.log with “reward” were left out" in " ".join(screen_text(app).split())
        await pilot.press("C")
        assert "40 lines of train.log with “reward” were left out" in screen_text(app)

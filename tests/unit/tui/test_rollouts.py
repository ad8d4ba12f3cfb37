"""The rollouts screen over dumps written in the test: groups, best beside worst, steps, filter, hostile text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.tui.app import RltuiApp
from rltui.tui.screens.rollouts import RolloutsScreen
from tests.unit.rollouts.dumps import GOOD, LOOP, VERL_LOG, lines, verl
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for

ROWS = [("2+2?", GOOD, 1.0), ("2+2?", LOOP, 0.0), ("1+1?", "two it is", 1.0), ("1+1?", "two it is", 1.0)]


def run(root: Path) -> Path:
    (root / "train.log").write_text(VERL_LOG)
    for step in (2, 4, 6):
        verl(root, step, [(p, f"{c} at step {step}", s) for p, c, s in ROWS])
    return root


@asynccontextmanager
async def shown(
    path: Path, size: tuple[int, int] = WIDE
) -> AsyncIterator[tuple[RltuiApp, Pilot[None], RolloutsScreen]]:
    app = RltuiApp(SampleOpener(path), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("5")
        screen = app.screen
        assert isinstance(screen, RolloutsScreen)
        await wait_for(pilot, lambda: screen.page is not None, "the rollouts are read")
        await pilot.pause()
        yield app, pilot, screen


async def test_the_newest_step_with_its_groups_and_the_best_beside_the_worst(tmp_path: Path) -> None:
    async with shown(run(tmp_path)) as (app, _, _screen):
        text = screen_text(app)
        assert "step 6" in text
        assert "○│●" in text
        best = next(line for line in text.split("\n") if "Best" in line)
        assert "reward 1.00" in best
        assert "reward 0.000" in best
        assert "2 and 2 is 4" in text
        assert "let me check again" in text
        assert "zero-variance groups" in text
        assert "50 %" in text


async def test_the_step_goes_from_dump_to_dump_and_takes_the_cursor_along(tmp_path: Path) -> None:
    async with shown(run(tmp_path)) as (app, pilot, screen):
        await pilot.press("left_square_bracket")
        await wait_for(pilot, lambda: "at step 4" in screen_text(app), "the dump before")
        assert app.view.cursor == 4
        await pilot.press("f")
        await wait_for(pilot, lambda: "at step 6" in screen_text(app), "the newest")
        await wait_for(pilot, lambda: screen.page is not None and screen.page.place == 2, "its page")


def means(screen: RolloutsScreen) -> list[float | None]:
    """Mean reward of each row that is shown."""
    return [line.mean for line in screen.page.lines] if screen.page is not None else []


def chosen(screen: RolloutsScreen) -> str:
    """The text of the row that is chosen, once it is answered."""
    line = screen.page.line(screen.row) if screen.page is not None else None
    return "" if line is None else line.text


async def test_filter_and_choice_of_a_group(tmp_path: Path) -> None:
    async with shown(run(tmp_path)) as (app, pilot, screen):
        await pilot.press("j")
        assert chosen(screen) == "1+1?"
        await pilot.press("slash", *"2+2", "enter")
        await wait_for(pilot, lambda: "1 of 2" in screen_text(app) and chosen(screen) == "2+2?", "one group is left")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "1 of 2" not in screen_text(app), "all groups")
        await pilot.press("slash", *"same", "enter")
        await wait_for(pilot, lambda: chosen(screen) == "1+1?", "the group of one reward")
        assert "= 1+1?" in screen_text(app)


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_from_a_group_to_its_samples_and_on_across_the_steps(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(run(tmp_path), size) as (app, pilot, screen):
        await pilot.press("enter")
        await wait_for(pilot, lambda: "Samples of one prompt" in screen_text(app), "its samples")
        await wait_for(pilot, lambda: means(screen) == [1.0, 0.0], "the best first")
        await wait_for(pilot, lambda: "Worst of its prompt" in screen_text(app), "best beside worst")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "The same prompt across steps" in screen_text(app), "the steps")
        await wait_for(pilot, lambda: "Best at step 2" in screen_text(app), "the best of them")
        assert screen.page is not None
        assert [line.step for line in screen.page.lines] == [2, 4, 6]
        assert "At step 6" in screen_text(app)
        await pilot.press("enter")
        await wait_for(pilot, lambda: "›  step 2" in screen_text(app), "that step")
        await pilot.press("f")
        await wait_for(pilot, lambda: "step 6" in screen_text(app), "the newest")
        await pilot.press("enter")
        await wait_for(pilot, lambda: "Samples of one prompt" in screen_text(app), "its samples again")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "5 Groups" in screen_text(app), "and back")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_all_samples_sorted_and_filtered(tmp_path: Path, size: tuple[int, int]) -> None:
    async with shown(run(tmp_path), size) as (app, pilot, screen):
        await pilot.press("tab")
        await wait_for(pilot, lambda: means(screen) == [1.0, 1.0, 1.0, 0.0], "all samples, the best first")
        await wait_for(pilot, lambda: "reward ▼" in screen_text(app), "the order")
        await pilot.press("backslash")
        await wait_for(pilot, lambda: means(screen)[:1] == [0.0], "the lowest first")
        await wait_for(pilot, lambda: "reward ▲" in screen_text(app), "the order")
        await pilot.press("greater_than_sign", "greater_than_sign")
        await wait_for(pilot, lambda: "tokens" in screen_text(app).split("Samples")[1][:200], "by length")
        await pilot.press("slash", *"repeated", "enter")
        await wait_for(pilot, lambda: chosen(screen).startswith("Wait, let me check again."), "the loop")
        assert "1 of 4" in screen_text(app)
        await pilot.press("escape", "slash", *"two it is", "enter")
        await wait_for(pilot, lambda: "2 of 4" in screen_text(app), "by text")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_numbers_of_a_step_in_full(tmp_path: Path, size: tuple[int, int]) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    (tmp_path / "config.yaml").write_text("data:\n  max_response_length: 64\n")
    rows = [
        {"input": f"p{n // 2}", "output": "x", "score": float(n % 2), "step": 3, "response_length": 8 * (n + 1)}
        for n in range(8)
    ]
    lines(tmp_path / "rollouts" / "3.jsonl", rows)
    async with shown(tmp_path, size) as (app, pilot, _):
        await pilot.press("shift+tab")
        await wait_for(pilot, lambda: "Tokens ─" in screen_text(app), "the numbers")
        text = screen_text(app)
        assert "most are 0.000 50 %" in text or "most are 1.00 50 %" in text
        bars = [line for line in text.split("\n") if "limit 64 ─" in line]
        assert bars, "the line of the limit is drawn"
        await pilot.press(*"jjjjjjjjjjjjjjjjjjjjjjjj")
        await wait_for(pilot, lambda: "distinct" in screen_text(app), "what is further down")
        await pilot.press("escape")
        await wait_for(pilot, lambda: "5 Groups" in screen_text(app), "back")


async def test_a_list_of_many_goes_by_windows(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    verl(tmp_path, 3, [(f"p{n}", f"completion {n}", n / 1000) for n in range(1000)])
    async with shown(tmp_path) as (app, pilot, screen):
        assert screen.page is not None
        assert screen.page.query.listed == "samples", "there are no groups"
        assert len(screen.page.lines) == 200
        assert "1000" in screen_text(app)
        await pilot.press("G")
        await wait_for(pilot, lambda: chosen(screen) == "completion 0", "the last one")
        assert "completion 5" in screen_text(app)
        await pilot.press("g")
        await wait_for(pilot, lambda: chosen(screen) == "completion 999", "the first one")


async def test_without_rollouts_it_says_how_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    async with shown(tmp_path) as (app, pilot, _):
        assert "No generated text found" in screen_text(app)
        await pilot.press("j", "right_square_bracket", "z", "slash", "escape")
        assert app.is_running


@pytest.mark.long
async def test_hostile_text_stays_in_its_cell(tmp_path: Path) -> None:
    hostile = (
        "\x1b[2Jboom\x1b]0;t\x07 [bold red]x[/] \u202eabc\u202c hf_abcdefghijklmnopqrstuvwxyz012345 " + "y" * 200_000
    )
    (tmp_path / "train.log").write_text(VERL_LOG)
    verl(tmp_path, 3, [(hostile, hostile, 0.0), (hostile, GOOD, 1.0)])
    for size in (WIDE, NARROW):
        async with shown(tmp_path, size) as (app, _, _screen):
            text = screen_text(app)
            assert "boom" in text
            assert "[bold red]x[/]" in text
            assert "\x1b" not in text
            assert "\u202e" not in text
            assert "hf_abcdef" not in text
            assert {len(line) for line in text.split("\n")} == {size[0]}

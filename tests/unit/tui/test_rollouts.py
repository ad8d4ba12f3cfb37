"""The rollouts screen over dumps written in the test: groups, best beside worst, steps, filter, hostile text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from rltui.tui.app import RltuiApp
from rltui.tui.screens.rollouts import RolloutsScreen
from tests.unit.rollouts.dumps import GOOD, LOOP, VERL_LOG, verl
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
        assert "groups without spread" in text
        assert "50 %" in text


async def test_the_step_goes_from_dump_to_dump_and_takes_the_cursor_along(tmp_path: Path) -> None:
    async with shown(run(tmp_path)) as (app, pilot, screen):
        await pilot.press("left_square_bracket")
        await wait_for(pilot, lambda: "at step 4" in screen_text(app), "the dump before")
        assert app.view.cursor == 4
        await pilot.press("f")
        await wait_for(pilot, lambda: "at step 6" in screen_text(app), "the newest")
        assert screen.page is not None
        assert screen.page.place == 2


async def test_filter_and_choice_of_a_group(tmp_path: Path) -> None:
    async with shown(run(tmp_path)) as (_, pilot, screen):
        await pilot.press("j")
        assert screen.pair is not None
        assert screen.pair.summary.prompt == "1+1?"
        await pilot.press("slash", *"2+2", "enter")
        assert [pair.summary.prompt for pair in screen.pairs] == ["2+2?"]
        await pilot.press("escape")
        assert len(screen.pairs) == 2
        await pilot.press("slash", *"same", "enter")
        assert [pair.summary.prompt for pair in screen.pairs] == ["1+1?"]


async def test_without_rollouts_it_says_how_to_keep_them(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(VERL_LOG)
    async with shown(tmp_path) as (app, pilot, _):
        assert "No generated text found" in screen_text(app)
        await pilot.press("j", "right_square_bracket", "z", "slash", "escape")
        assert app.is_running


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

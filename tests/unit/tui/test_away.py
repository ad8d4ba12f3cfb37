"""Coming back to a screen that stayed open: the focus returns, or a key after a while without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

from rltui import settings
from rltui.events.digest import Digest
from rltui.tui.app import RltuiApp
from rltui.tui.away import Attention
from tests.unit.tui.conftest import SampleOpener, is_read, screen_text, wait_for
from tests.unit.watch.test_replay import dip


def row(step: int) -> str:
    return json.dumps({"step": step, "kl": 0.02, "entropy": 1.0, "loss": 0.1, **dip(step)}) + "\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    settings._load.cache_clear()
    path = tmp_path / "run" / "metrics.jsonl"
    path.parent.mkdir()
    path.write_text("".join(map(row, range(1, 90))))
    return path


def grow(log: Path, first: int, last: int) -> None:
    with log.open("a") as file:
        file.write("".join(map(row, range(first, last))))


def step_of(app: RltuiApp) -> int | None:
    return app.view.newest.run.steps.last if app.view.newest else None


@pytest.mark.parametrize("how", ["focus", "key"])
async def test_what_happened_is_told_on_return(log: Path, how: str) -> None:
    now = [0.0]
    app = RltuiApp(SampleOpener(log.parent), target="here")
    app.attention = Attention(lambda: 10.0, lambda: now[0])
    async with app.run_test(size=(160, 45)) as pilot:
        await wait_for(pilot, lambda: is_read(app) and step_of(app) == 89, "the run")
        await _looked_at(pilot, app)
        if how == "focus":
            app.post_message(events.AppBlur())
            await pilot.pause()
        now[0] = 1200.0
        grow(log, 90, 160)
        await wait_for(pilot, lambda: step_of(app) == 159, "the rows of the absence")
        assert app.digest is None, "nobody is there to be told"
        if how == "focus":
            app.post_message(events.AppFocus())
        else:
            await pilot.press("j")
        await wait_for(pilot, lambda: app.digest is not None, "the digest")
        assert app.digest is not None
        assert "70 steps to 159" in app.digest.headline
        assert "70 steps to 159" in screen_text(app)
        before = app.digest
        await pilot.press("d")
        await pilot.pause()
        assert app.screen.name == "digest"
        assert "Reward collapsed, now resolved" in screen_text(app)
        assert app.digest is before, "a second key is no second return"


async def _looked_at(pilot: Pilot[None], app: RltuiApp) -> None:
    """Until the first look is kept."""
    await wait_for(pilot, lambda: bool(app.worker._chronicle and app.worker._chronicle._look), "the first look")


async def test_a_first_look_says_that_there_is_nothing(log: Path) -> None:
    app = RltuiApp(SampleOpener(log.parent), target="here")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run")
        await pilot.press("d")
        await pilot.pause()
        assert "this is the first look at this run" in " ".join(screen_text(app).split())


async def test_the_digest_of_one_run_is_not_shown_for_another(log: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "metrics.jsonl").write_text("".join(map(row, range(1, 40))))
    app = RltuiApp(SampleOpener(log.parent, other), target="here")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for(pilot, lambda: app.screen.name == "picker", "the picker")
        app.open_run(0, "run")
        await _looked_at(pilot, app)
        app.digest = Digest(0.0, 1.0, "since 00:00: 3 steps", ())
        app.open_run(1, "other")
        await wait_for(pilot, lambda: step_of(app) == 39, "the other run")
        assert app.digest is None

"""What was closed is freed, and the garbage collector never holds a key up for long."""

from __future__ import annotations

import gc

import pytest
from textual._styles_cache import StylesCache

from rltui.tui import start
from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui import canned
from tests.unit.tui.conftest import Open, SampleOpener, wait_for


def drawn() -> int:
    """Widgets whose lines are kept."""
    gc.collect()
    return sum(isinstance(one, StylesCache) for one in gc.get_objects())


async def test_screens_that_were_closed_are_freed(open_app: Open) -> None:
    async with open_app([canned.make()]) as (_, pilot):
        await pilot.press("question_mark", "escape", "i", "escape")
        before = drawn()
        for _ in range(3):
            await pilot.press("question_mark", "escape", "i", "escape")
        await wait_for(pilot, lambda: drawn() <= before, "no screen more than before")


async def test_each_run_that_was_read_is_told_once() -> None:
    runs = [REPO / "sample_runs" / name for name in ("trl-reward-flip", "trl-nan-crash")]
    app = RltuiApp(SampleOpener(*runs), target="here")
    told: list[int] = []
    app.worker.was_read = told.append
    async with app.run_test() as pilot:
        await wait_for(pilot, lambda: app.screen.name == "picker", "the picker")
        app.worker.open(0)
        await wait_for(pilot, lambda: told == [1], "the first run")
        app.worker.open(1)
        await wait_for(pilot, lambda: told == [1, 2], "the second")


@pytest.mark.parametrize("opening", [1, 2])
def test_a_collection_looks_through_little_once_a_run_is_read(opening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("freeze", "unfreeze", "collect"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    before = gc.get_threshold()
    try:
        start.collect_little(opening)
        assert gc.get_threshold()[0] == start.COLLECT_AFTER
    finally:
        gc.set_threshold(*before)
    assert done == (["freeze"] if opening == 1 else ["unfreeze", "collect", "freeze"])

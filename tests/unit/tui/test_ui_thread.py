"""No callback on the UI thread takes over 20 ms of its own CPU: a key is answered before the next one comes."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator

import pytest
from textual._compositor import Compositor

from rltui.tui.app import RltuiApp
from tests.conftest import REPO
from tests.unit.tui.conftest import SHOWN, WIDE, SampleOpener, is_read, wait_for
from tests.unit.tui.test_keys import OPENS

LIMIT_S = 0.020
ROUNDS = 5
"""The best of at most so many counts, where the first is not good enough: imports and caches come first."""
MORE = {
    "all metrics": ["2", "2", "greater_than_sign", "j"],
    "all findings": ["A", "j"],
    "chart": ["2", "enter", "h", "l", "y", "o", "x", "plus", "z", "j"],
    "time travel": ["left_square_bracket", "left_curly_bracket", "f"],
    "filter": ["slash", "k", "l", "enter"],
    "help": ["question_mark"],
    "theme": ["T"],
}


@pytest.fixture
def longest(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """CPU seconds of the longest callback of the event loop since the list was last cleared, all drawn as for a
    terminal."""
    monkeypatch.setattr(Compositor, "render_update", SHOWN)
    found: list[float] = []
    work = asyncio.events.Handle._run

    def timed(self: asyncio.Handle) -> None:
        begin = time.thread_time()
        work(self)
        found.append(time.thread_time() - begin)

    monkeypatch.setattr(asyncio.events.Handle, "_run", timed)
    gc.collect()
    gc.disable()  # a collection here looks through all that the tests before this one left; the program's are short
    yield found
    gc.enable()


@pytest.mark.long
async def test_every_key_of_every_screen_is_quick(longest: list[float]) -> None:
    app = RltuiApp(SampleOpener(REPO / "sample_runs" / "trl-reward-flip"), target="here", clock=lambda: 1.8e9)
    took: dict[tuple[str, str], float] = {}
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        for _ in range(ROUNDS):
            if took and max(took.values()) <= LIMIT_S:
                break
            for name, keys in (OPENS | MORE).items():
                for key in keys:
                    longest.clear()
                    await pilot.press(key)
                    await pilot.pause(0.01)  # what comes after the next paint
                    took[name, key] = min(took.get((name, key), 1.0), max(longest))
                while not app.at_top or app.screen.leave():  # type: ignore[attr-defined]
                    await pilot.press("escape")
                await pilot.press("1")
    slow = {where: f"{1000 * seconds:.1f} ms" for where, seconds in took.items() if seconds > LIMIT_S}
    assert not slow
    assert len(took) > len(OPENS)

"""Slow steps and waits on runs that are read as any other: s and S find them, the screen says why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.tui.app import RltuiApp
from rltui.tui.panes.phases import SLOW, slow_steps
from tests.conftest import REPO
from tests.unit.tui.conftest import NARROW, WIDE, SampleOpener, is_read, screen_text, wait_for

SLOW_REWARD = REPO / "sample_runs" / "trl-slow-reward"


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_s_goes_to_a_slow_step_and_the_screen_says_what_took_the_time(size: tuple[int, int]) -> None:
    app = RltuiApp(SampleOpener(SLOW_REWARD), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("3", "3", "s")
        slow = slow_steps(app.view)
        assert app.view.cursor == slow[0]
        usual = app.view.metric("time_per_step_s")
        took = app.view.value_at("time_per_step_s", slow[0])
        assert usual is not None
        assert usual.mid is not None
        assert took is not None
        assert took > SLOW * usual.mid
        await wait_for(pilot, lambda: f"step {slow[0]}: " in screen_text(app), "the reason")
        await wait_for(pilot, lambda: "of the extra" in screen_text(app), "where the time went")
        told = " ".join(screen_text(app).split())
        assert "of the extra time in reward" in told
        await pilot.press("s")
        assert app.view.cursor == slow[1]
        await pilot.press("S")
        assert app.view.cursor == slow[0]


async def test_an_asynchronous_run_tells_who_waits_for_whom(tmp_path: Path) -> None:
    rows = [
        {
            "step": step,
            "time": 1.7e9 + 42 * step,
            "time/step": 42.0,
            "time/wait_for_batch": 30.0,
            "optim/grad_norm": 0.2,
        }
        for step in range(60)
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    app = RltuiApp(SampleOpener(tmp_path), target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.press("3", "3")
        told = "the trainer waits 71 % of the step for rollouts: generation is the bottleneck"
        await wait_for(pilot, lambda: told in screen_text(app), "who waits")

"""The screen over a real session: time travel, replay, what it writes, and what it costs the UI thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from rltui.session.live import Replay
from rltui.session.locate import locate
from rltui.tui.app import RltuiApp
from rltui.tui.messages import Choice
from rltui.tui.screens.finding import FindingScreen
from rltui.tui.screens.picker import PickerScreen
from rltui.tui.worker import FrameSource
from tests.conftest import REPO
from tests.unit.tui.conftest import WIDE, SampleOpener, is_read, screen_text, wait_for

FLIP = REPO / "sample_runs" / "trl-reward-flip"
HEALTHY = REPO / "sample_runs" / "trl-grpo-healthy"
FLIPS_AT = 200


@asynccontextmanager
async def shown(*runs: Path) -> AsyncIterator[tuple[RltuiApp, Pilot[None], SampleOpener]]:
    opener = SampleOpener(*runs)
    app = RltuiApp(opener, target="here", clock=lambda: 1.8e9)
    async with app.run_test(size=WIDE) as pilot:
        if len(runs) == 1:
            await wait_for(pilot, lambda: is_read(app), "the run is read")
            await pilot.pause()
        yield app, pilot, opener


async def test_time_travel_shows_the_diagnosis_as_it_stood() -> None:
    async with shown(FLIP) as (app, pilot, _):
        assert app.view.worst is not None
        now = {f.id for f in app.view.open_findings()}
        app.set_cursor(FLIPS_AT - 20)
        await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == FLIPS_AT - 20, "the past")
        await pilot.pause()
        then = app.view.open_findings()
        assert "reward-collapse" in now - {f.id for f in then}
        assert all(f.onset_step is None or f.onset_step <= FLIPS_AT - 20 for f in then)
        assert "as at step 180 of 300" in screen_text(app)
        await pilot.press("left_square_bracket")
        await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == FLIPS_AT - 21, "one back")
        await pilot.press("f")
        assert {f.id for f in app.view.open_findings()} == now


async def test_the_newest_of_many_requests_is_answered() -> None:
    async with shown(FLIP) as (app, pilot, _):
        for step in range(20, 260, 10):
            app.set_cursor(step)
        await wait_for(pilot, lambda: app.view.past is not None and app.view.past[0] == 250, "the last one")


async def test_what_moved_first_stands_on_the_finding() -> None:
    async with shown(FLIP) as (app, pilot, _):
        await pilot.press("enter")
        await wait_for(pilot, lambda: "What moved first" in screen_text(app), "the answer")
        assert isinstance(app.screen, FindingScreen)


async def test_what_moved_first_around_any_step_is_a_screen_of_its_own() -> None:
    async with shown(FLIP) as (app, pilot, _):
        await pilot.press("M")
        await wait_for(pilot, lambda: "sd of noise" in screen_text(app), "the answer")
        worst = app.view.worst
        assert worst is not None
        assert f"around step {worst.onset_step}" in screen_text(app)
        await pilot.press("enter")
        assert app.screen.name == "metric"
        await pilot.press("escape")
        app.set_cursor(150)
        await wait_for(pilot, lambda: "around step 150" in screen_text(app), "another step")


async def test_decision_tells_the_case_and_what_must_hold() -> None:
    async with shown(FLIP) as (app, pilot, _):
        await pilot.press("D")
        await wait_for(pilot, lambda: "WHAT MUST HOLD" in screen_text(app), "the answer")
        text = screen_text(app)
        assert "KL AND REWARD" in text
        assert "checkpoint-100" in text


async def test_opening_another_run_closes_the_first() -> None:
    async with shown(FLIP, HEALTHY) as (app, pilot, opener):
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen), "the picker")
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_read(app), "the first run")
        await pilot.press("r")
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen), "the picker again")
        await pilot.press("j", "enter")
        await wait_for(
            pilot, lambda: app.view.newest is not None and app.view.newest.run.id == HEALTHY.name, "the second run"
        )
        first, second = opener.opened
        assert first.next_frame(0) is None, "the first run goes on being read"
        assert not second._closed
        assert app.at_top


@pytest.mark.parametrize("step", [None, 100])
async def test_snapshot_lies_outside_the_run_and_its_path_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int | None
) -> None:
    monkeypatch.chdir(tmp_path)
    before = {file: file.stat().st_mtime_ns for file in FLIP.rglob("*")}
    async with shown(FLIP) as (app, pilot, _):
        if step is not None:
            app.set_cursor(step)
        await pilot.press("ctrl+s")
        await wait_for(pilot, lambda: "snapshot written to" in app.view.message, "the path")
        path = Path(app.view.message.removeprefix("snapshot written to "))
    text = path.read_text()
    assert path.parent == tmp_path
    assert "```text" in text
    assert ("as at step 100" in text) == (step is not None)
    assert ("| last | 100" in text or "step 100" in text) or step is None
    assert {file: file.stat().st_mtime_ns for file in FLIP.rglob("*")} == before


async def test_copy_picture_and_check_in_go_to_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with shown(FLIP) as (app, pilot, _):
        await pilot.press("enter", "Y")
        await wait_for(pilot, lambda: any("- fix: " in f.read_text() for f in tmp_path.glob("*.txt")), "the copy")
        app.exports.picture()
        await wait_for(pilot, lambda: bool(list(tmp_path.glob("*.svg"))), "the picture")
        app.exports.append("STATUS.md")
        entry = tmp_path / "STATUS.md"
        await wait_for(pilot, lambda: entry.exists() and "step 300" in entry.read_text(), "the entry")
        assert "trl-reward-flip: step 300" in entry.read_text()


@pytest.mark.long
async def test_marks_are_kept_for_the_next_time() -> None:
    async with shown(FLIP) as (app, pilot, _):
        await wait_for(pilot, lambda: app.view.marks is not None, "marks")
        await pilot.press("a", "2", "space")
        assert app.view.marks is not None
        kept = app.view.marks
        assert len(kept.acknowledged) == 1
        assert len(kept.pinned) == 1
        await wait_for(pilot, lambda: "acknowledged" in screen_text(app), "the count")
    async with shown(FLIP) as (app, pilot, _):
        await wait_for(pilot, lambda: app.view.marks == kept, "the same marks")


class ReplayOpener:
    def __init__(self, speed: float) -> None:
        self.speed = speed

    def first_values(self) -> None:
        """A replay begins at its first row."""

    def find(self) -> list[Choice]:
        return [Choice(FLIP.name, str(FLIP), "", 0)]

    def open(self, index: int) -> FrameSource:
        return Replay(locate([str(FLIP)])[0], speed=self.speed)


async def test_replay_plays_to_the_end_without_looking_ahead() -> None:
    app = RltuiApp(ReplayOpener(400.0), target="here", replaying=True, clock=lambda: 1.8e9)
    early: set[str] = set()
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.newest is not None, "the first frame")
        while app.view.newest is not None and app.view.newest.run.state == "running":
            last = app.view.newest.run.steps.last or 0
            known = app.view.outlook
            assert known is None or all(move.step <= last for move in known.moves)
            if last < FLIPS_AT - 10:
                early |= {f.id for f in app.view.newest.findings if f.severity == "critical"}
            await pilot.pause(0.01)
        assert app.view.newest is not None
        assert app.view.newest.run.steps.last == 300
        assert "reward-collapse" not in early


def test_a_paused_replay_stands_still() -> None:
    replay = Replay(locate([str(FLIP)])[0], speed=1000.0)
    assert replay.next_frame(1.0) is not None
    replay.pause(True)
    assert replay.next_frame(0.0) is None
    replay.pause(False)
    assert replay.next_frame(1.0) is not None
    replay.close()


async def test_no_name_of_a_directory_reaches_the_terminal_as_a_command(tmp_path: Path) -> None:
    run = tmp_path / "a\x1b[31mred\x1b]0;title\x07\n\udcff"
    run.mkdir()
    (run / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5, "kl": 0.1}\n')
    async with shown(run) as (app, pilot, _):
        await pilot.press("i")
        await wait_for(pilot, lambda: "SOURCES" in screen_text(app), "the sources")
        assert all(character.isprintable() for line in screen_text(app).splitlines() for character in line)
        assert "/ared" in screen_text(app)

"""Picker and compare screen on the sample runs: what shows at once, what fills in, what the keys do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from textual.pilot import Pilot

from rltui.compare import read as read_module
from rltui.compare import runs as runs_module
from rltui.compare.read import ComparedRun, facts
from rltui.compare.runs import RunRow, of_whole
from rltui.discovery.found import Found
from rltui.session.live import LiveRun
from rltui.tui.app import RltuiApp
from rltui.tui.screens.compare import TABS, CompareScreen
from rltui.tui.screens.metric import MetricScreen
from rltui.tui.screens.picker import PickerScreen
from rltui.tui.start import SessionOpener
from tests.conftest import REPO
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, is_read, screen_text, wait_for

SAMPLES = REPO / "sample_runs"
FACTS: dict[str, ComparedRun] = {}
ROWS: dict[str, RunRow] = {}


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read to its end is read once for all tests; whoever stops on the way reads for himself."""

    def facts_once(found: Found, key_map: Any, primary: str | None, cancelled: Callable[[], bool]) -> ComparedRun:
        known = FACTS.get(found.candidate.root)
        told = facts(found, key_map, primary, cancelled) if known is None else known
        return told if cancelled() else FACTS.setdefault(found.candidate.root, told)

    def row_once(found: Found, cancelled: Callable[[], bool]) -> RunRow:
        known = ROWS.get(found.candidate.root)
        told = of_whole(found, cancelled=cancelled) if known is None else known
        return told if cancelled() else ROWS.setdefault(found.candidate.root, told)

    monkeypatch.setattr("rltui.compare.read.facts", facts_once)
    monkeypatch.setattr("rltui.compare.runs.of_whole", row_once)


class Opener(SessionOpener):
    """As the screen opens runs, without sampling this machine; what is read of the others waits for `go`, the verdicts
    of the picker for `judge`."""

    def __init__(self, *targets: Path) -> None:
        super().__init__([str(target) for target in targets], {}, None)
        self.go, self.judge = Event(), Event()
        self.go.set()
        self.judge.set()
        self.read = 0

    def open(self, index: int) -> LiveRun:
        return LiveRun(self._found[index])

    def rows(self) -> Iterator[tuple[int, RunRow]]:
        self.go.wait()
        yield from super().rows()

    def judged(self, number: int, cancelled: Callable[[], bool]) -> RunRow | None:
        self.judge.wait()
        return super().judged(number, cancelled)

    def facts(
        self,
        picked: Sequence[int],
        own: str,
        told: Callable[[int, int, str], None],
        lost: Callable[[str, Exception], None],
        cancelled: Callable[[], bool],
    ) -> list[ComparedRun]:
        def counted(done: int, total: int, name: str) -> None:
            self.read += 1
            told(done, total, name)
            self.go.wait()

        return super().facts(picked, own, counted, lost, cancelled)


@asynccontextmanager
async def opened(opener: Opener, size: tuple[int, int] = WIDE) -> AsyncIterator[tuple[RltuiApp, Pilot[None]]]:
    app = RltuiApp(opener, target="runs", clock=canned.clock)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: app.screen.name == "picker" or is_read(app), "something to see")
        yield app, pilot
        opener.go.set()
        opener.judge.set()


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_the_picker_shows_at_once_and_fills_in_with_what_needs_attention_first(size: tuple[int, int]) -> None:
    opener = Opener(SAMPLES)
    opener.go.clear()
    opener.judge.clear()
    async with opened(opener, size) as (app, pilot):
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        await wait_for(pilot, lambda: "0 of 7 looked at" in screen_text(app), "the list")
        assert "trl-grpo-healthy" in screen_text(app)
        opener.go.set()
        await wait_for(pilot, lambda: bool(picker.basis), "all runs looked at")
        text = screen_text(app)
        assert text.index("trl-nan-crash") < text.index("trl-grpo-healthy")
        assert "do not show onset" in text
        assert "crashed" in text


async def test_what_was_not_judged_is_not_ok_and_the_verdicts_come_by_themselves() -> None:
    opener = Opener(SAMPLES)
    opener.judge.clear()
    async with opened(opener) as (app, pilot):
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        await wait_for(pilot, lambda: bool(picker.basis), "all runs looked at")
        healthy = next(n for n, choice in enumerate(picker.choices) if choice.name == "trl-grpo-healthy")

        def line() -> str:
            return next(text for text in screen_text(app).splitlines() if "trl-grpo-healthy" in text)

        await wait_for(pilot, lambda: "· not looked" in line(), "the run that nobody judged")
        assert "✓ ok" not in screen_text(app)
        opener.judge.set()
        await wait_for(pilot, lambda: all(row.decision is not None for row in picker.rows.values()), "the verdicts")
        assert picker.rows[healthy].decision == "continue"
        badge = picker.rows[healthy].badge
        assert badge
        await wait_for(pilot, lambda: f"✓ {badge}" in line(), "its verdict, in the words of its badge")
        attention = [picker.rows[n].attention for n in picker.order]
        assert attention == sorted(attention, reverse=True), "what needs attention goes first as verdicts come"


async def test_who_has_begun_to_choose_is_not_moved() -> None:
    opener = Opener(SAMPLES)
    opener.go.clear()
    async with opened(opener) as (app, pilot):
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        await pilot.press("j")
        before = list(picker.order)
        opener.go.set()
        await wait_for(pilot, lambda: bool(picker.basis), "all runs looked at")
        assert picker.order == before
        assert picker.selected == 1


async def test_selected_runs_are_compared_and_opened_from_there() -> None:
    async with opened(Opener(SAMPLES)) as (app, pilot):
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen) and bool(app.screen.basis), "rows")
        await pilot.press("space", "space", "space")
        await wait_for(pilot, lambda: "3 selected" in screen_text(app), "three selected")
        await pilot.press("c")
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await wait_for(pilot, lambda: screen.comparison is not None, "the comparison")
        assert screen.comparison is not None
        assert len(screen.comparison.runs) == 3
        await pilot.press("enter")
        await wait_for(pilot, lambda: is_read(app), "the run that was opened")
        assert app.view.newest is not None
        assert app.view.newest.run.path in {run.path for run in screen.comparison.runs}


async def test_a_filter_leaves_the_runs_that_are_compared_or_opened() -> None:
    async with opened(Opener(SAMPLES)) as (app, pilot):
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        await wait_for(pilot, lambda: bool(picker.basis), "rows")
        await pilot.press("slash", *"nothing like this", "enter", "enter", "space", "j")
        assert app.screen is picker
        assert "0 of 7 runs" in screen_text(app)
        await pilot.press("escape")
        assert picker.pattern is None
        await pilot.press("slash", *"crashed | healthy", "enter")
        text = screen_text(app)
        assert "3 of 7 runs" in text
        assert "trl-slow-reward" not in text
        assert "c compares those shown" in text
        await pilot.press("c")
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await wait_for(pilot, lambda: screen.comparison is not None, "the comparison")
        assert screen.comparison is not None
        assert {run.id for run in screen.comparison.runs} == {"trl-nan-crash", "verl-grpo-crash", "trl-grpo-healthy"}
        await pilot.press("escape")
        await pilot.press("G", "enter")
        await wait_for(pilot, lambda: is_read(app), "the run that was opened")
        assert app.view.newest is not None
        assert app.view.newest.run.path.endswith("trl-grpo-healthy")


@pytest.mark.parametrize("size", [WIDE, NARROW])
async def test_a_run_beside_those_around_it(size: tuple[int, int]) -> None:
    opener = Opener(SAMPLES / "trl-grpo-healthy")
    async with opened(opener, size) as (app, pilot):
        await pilot.press("c")
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await wait_for(pilot, lambda: screen.comparison is not None and screen.diff is not None, "the comparison")
        assert screen.comparison is not None
        assert len(screen.comparison.runs) == 7
        await wait_for(pilot, lambda: "higher is better" in screen_text(app), "the metric")
        seen = set()
        for _ in TABS:
            seen.add(screen.tab)
            assert screen_text(app).strip()
            if screen.tab == "next":
                await wait_for(pilot, lambda: "refuted if" in screen_text(app), "experiments")
            if screen.tab == "config":
                await wait_for(pilot, lambda: " key" in screen_text(app), "two configs")
            await pilot.press("tab")
        assert seen == set(TABS)
        await pilot.press("x", "escape")
        assert app.screen.name == "main"
        read = opener.read
        await pilot.press("c")
        assert app.screen.name == "compare"
        assert opener.read == read, "what was read once is kept"


async def test_two_marked_runs_show_their_configs() -> None:
    async with opened(Opener(SAMPLES / "trl-grpo-healthy")) as (app, pilot):
        await pilot.press("c")
        screen = app.screen
        assert isinstance(screen, CompareScreen)
        await wait_for(pilot, lambda: screen.comparison is not None and screen.diff is not None, "the comparison")
        assert screen.comparison is not None
        screen.tab = max(("good", "bad", "ugly"), key=lambda g: sum(r.group == g for r in screen.comparison.runs))
        await pilot.press("g", "space", "space")
        assert len(screen.marked) == 2
        wanted = tuple(screen.marked)
        await wait_for(pilot, lambda: (screen.diff.a, screen.diff.b) == wanted, "their configs")


async def test_reading_shows_how_far_it_is_and_stops_on_escape() -> None:
    opener = Opener(SAMPLES / "trl-grpo-healthy")
    async with opened(opener) as (app, pilot):
        opener.go.clear()
        await pilot.press("c")
        await wait_for(pilot, lambda: "reading 1 of 7" in screen_text(app), "progress")
        await pilot.press("escape")
        assert app.screen.name == "main"
        opener.go.set()
        await pilot.press("j")
        assert app.many.comparison is None
        assert opener.read < 3


async def test_alone_is_told(tmp_path: Path) -> None:
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n{"step": 2, "reward": 0.5}\n')
    async with opened(Opener(tmp_path / "only")) as (app, pilot):
        await pilot.press("c")
        await wait_for(pilot, lambda: "no other run found" in screen_text(app), "why there is nothing")


@pytest.mark.long
async def test_a_metric_beside_the_band_of_the_others_and_beside_each() -> None:
    async with opened(Opener(SAMPLES / "trl-grpo-healthy")) as (app, pilot):
        app.open_metric("reward_mean")
        await pilot.pause()
        screen = app.screen
        assert isinstance(screen, MetricScreen)
        await pilot.press("c")
        await wait_for(pilot, lambda: "others" in screen_text(app) and app.many.comparison is not None, "the band")
        await wait_for(pilot, lambda: "10–90 % of 6 others" in screen_text(app), "the band")
        await pilot.press("c")
        assert screen.beside in {run.id for run in app.many.facts}
        await wait_for(pilot, lambda: str(screen.beside) in screen_text(app), "the other run's name")
        for _ in range(6):
            await pilot.press("c")
        assert screen.beside is None


async def test_a_run_that_fails_by_our_fault_ends_no_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: Found, *args: Any) -> ComparedRun:
        if found.candidate.root.endswith("trl-nan-crash"):
            raise RuntimeError("a fault of ours")
        return sound(found, *args)

    sound = read_module.facts
    monkeypatch.setattr(read_module, "facts", broken)
    async with opened(Opener(SAMPLES)) as (app, pilot):
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen), "the picker")
        await pilot.press("c")
        await wait_for(pilot, lambda: app.many.comparison is not None, "a comparison")
        await wait_for(pilot, lambda: "left out, by a fault of rltui: trl-nan-crash" in screen_text(app), "its name")
        assert len(app.many.facts) == 6
        assert str(app.many.fault) == "a fault of ours"  # `start` raises it at the end: a crash file, exit code 3


async def test_if_too_few_runs_are_left_the_screen_says_whose_fault_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: Found, *args: Any) -> ComparedRun:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(read_module, "facts", broken)
    async with opened(Opener(SAMPLES)) as (app, pilot):
        await wait_for(pilot, lambda: isinstance(app.screen, PickerScreen), "the picker")
        await pilot.press("c")
        await wait_for(pilot, lambda: "a fault of rltui ended the reading of" in screen_text(app), "why")


@pytest.mark.long
async def test_a_run_that_cannot_be_judged_leaves_the_others_their_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(found: Found, cancelled: Callable[[], bool]) -> RunRow:
        if found.candidate.root.endswith("trl-grpo-healthy"):
            raise RuntimeError("a fault of ours")
        return sound(found, cancelled=cancelled)

    sound = runs_module.of_whole
    monkeypatch.setattr(runs_module, "of_whole", broken)
    async with opened(Opener(SAMPLES)) as (app, pilot):
        picker = app.screen
        assert isinstance(picker, PickerScreen)
        await wait_for(pilot, lambda: sum(row.decision is not None for row in picker.rows.values()) == 6, "the others")
        await wait_for(pilot, lambda: app.many.fault is not None, "the fault of the one")


async def test_the_curves_of_all_runs_stand_on_one_axis() -> None:
    """The selected run and the one that is open are named; on a small screen the list has the room."""
    for size, there in (((160, 50), True), ((80, 24), False)):
        async with opened(Opener(SAMPLES / "trl-reward-flip"), size) as (app, pilot):
            await pilot.press("c")
            await wait_for(pilot, lambda app=app: "higher is better" in screen_text(app), "the comparison")  # type: ignore[misc]
            text = screen_text(app)
            assert ("selected" in text) == there
            assert ("this run   " in text) == there
            assert any("⠁" <= char <= "⣿" for char in text.split("selected")[-1]) == there

"""What the screen says of a run is what the report says of it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from rltui.tui.app import RltuiApp
from rltui.tui.screens.commands import verbs
from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.tui import canned
from tests.unit.tui.conftest import NARROW, WIDE, Open, SampleOpener, is_read, screen_text, wait_for

T0 = 1_760_000_000


@asynccontextmanager
async def shown(
    run: Path, size: tuple[int, int] = (120, 36), now: float = 1.8e9
) -> AsyncIterator[tuple[RltuiApp, Pilot[None]]]:
    app = RltuiApp(SampleOpener(run), target="here", clock=lambda: now)
    async with app.run_test(size=size) as pilot:
        await wait_for(pilot, lambda: is_read(app), "the run is read")
        await pilot.pause()
        yield app, pilot


def logged(folder: Path, rows: int, planned: int, end: str = "", **more: Callable[[int], Any]) -> Path:
    folder.mkdir()
    lines = []
    for i in range(1, rows + 1):
        extra = "".join(f" | {name} {value(i)}" for name, value in more.items())
        lines.append(f"Step {i}/{planned} | reward {0.2 + 0.6 * i / rows:.3f} | loss {0.02 * (i % 7):.3f}{extra}")
    (folder / "train.log").write_text("\n".join([*lines, end]) + "\n")
    return folder


def footer(app: RltuiApp) -> str:
    return screen_text(app).rstrip().splitlines()[-1]


async def test_the_footer_offers_only_findings_that_are_there(tmp_path: Path) -> None:
    fallen = learning(240) | {"score": 0.75 - 0.7 * (wave(0, 0, 240).cumsum() + range(240)) / 240}
    fallen["score"] = [0.7 if i < 150 else 0.02 for i in range(240)] + wave(0, 0.02, 240, 1)
    async with shown(write(tmp_path / "calm", learning(120), end=True)) as (app, _):
        assert "next critical" not in footer(app)
        assert "next warning" not in footer(app)
    async with shown(write(tmp_path / "fallen", fallen)) as (app, _):
        there = {f.severity for f in app.view.open_findings()}
        assert "critical" in there
        assert "next critical" in footer(app)
        assert ("next warning" in footer(app)) == ("warning" in there)


async def test_a_run_that_nobody_saw_alive_is_not_said_to_hang(tmp_path: Path) -> None:
    """The header has the word of the report, as loud as the finding."""
    rows = [
        json.dumps({"step": i, "timestamp": T0 + 20 * i, "reward": 0.2 + 0.002 * i, "loss": 0.02, "max_steps": 400})
        for i in range(1, 151)
    ]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "metrics.jsonl").write_text("\n".join(rows) + "\n")
    async with shown(tmp_path / "run", now=T0 + 9000) as (app, pilot):
        await wait_for(pilot, lambda: "stalled" in screen_text(app).splitlines()[0], "the state")
        head = screen_text(app).splitlines()[0]
        assert "! stalled" in head
        assert "hung" not in screen_text(app)
        found = next(f for f in app.view.open_findings() if f.id == "run-stalled")
        assert (found.severity, found.evidence) == ("warning", ())
        await pilot.press("3", "3")
        await wait_for(pilot, lambda: app.screen.name == "phases", "the screen")
        assert "hung" not in screen_text(app)


async def test_of_a_run_that_ended_the_best_is_not_so_far(tmp_path: Path) -> None:
    for step in (60, 120):
        (tmp_path / "run" / f"checkpoint-{step}").mkdir(parents=True)
        (tmp_path / "run" / f"checkpoint-{step}" / "model.safetensors").write_bytes(b"weights")
    columns = learning(120) | {"eval_accuracy": learning(120)["score"], "max_steps": wave(120.0)}
    run = write(tmp_path / "run", columns, {"eval_accuracy": 10})
    async with shown(run) as (app, _):
        assert "Keep checkpoint-120" in screen_text(app)
        assert "so far" not in screen_text(app)


async def test_no_metric_is_marked_for_an_error_of_the_log(tmp_path: Path) -> None:
    run = logged(tmp_path / "run", 130, 200, "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried 2.50 GiB.")
    async with shown(run) as (app, _):
        text = screen_text(app)
        found = next(line for line in text.splitlines() if "Run ended early" in line and "critical" in line)
        assert "→" not in found
        assert not re.search(r"✗ reward", text.partition("2 Metrics")[2])


async def test_a_learning_rate_of_zero_is_no_rounded_one(tmp_path: Path) -> None:
    run = logged(tmp_path / "run", 100, 100, lr=lambda i: f"{1e-6 * (1 - i / 100):.2e}")
    async with shown(run, WIDE) as (app, pilot):
        await wait_for(pilot, lambda: "step 100" in screen_text(app), "the last row")
        row = next(line for line in screen_text(app).splitlines() if "learning rate" in line)
        assert "0.000" not in row
        assert re.search(r" 0 ", row)


@pytest.mark.parametrize("size", [NARROW, (60, 20)])
async def test_a_pane_without_room_opens_at_once(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app([canned.make()], size) as (app, pilot):
        await pilot.press("6")
        await wait_for(pilot, lambda: app.screen.name == "log", "the log")
        await pilot.press("escape")
        assert app.at_top


async def test_a_pane_that_is_there_takes_the_focus_first(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, pilot):
        await pilot.press("6")
        assert app.at_top
        await pilot.press("6")
        await wait_for(pilot, lambda: app.screen.name == "log", "the log")


async def test_the_palette_has_the_snapshot(open_app: Open) -> None:
    async with open_app([canned.make()]) as (app, _):
        assert {"snapshot", "report"} <= {verb.name for verb in verbs(app)}


@pytest.mark.parametrize("size", [WIDE, (120, 36), NARROW])
async def test_memory_of_the_host_has_its_unit(open_app: Open, size: tuple[int, int]) -> None:
    async with open_app([canned.make()], size) as (app, _):
        line = next(line for line in screen_text(app).splitlines() if "RAM" in line)
        assert re.search(r"RAM +[\d.]+ [GMT]B", line)

"""The screen goes on when a check or the whole diagnosis fails, and says which and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rltui.diagnosis import conclusions
from rltui.rules import registry
from rltui.tui import panes
from rltui.tui.app import RltuiApp
from rltui.tui.view import View
from tests.unit.tui.conftest import PANE_FAILED, WIDE, SampleOpener, screen_text, wait_for

ERROR = "a detector's own fault"


def boom(*_: object, **__: object) -> Any:
    raise ZeroDivisionError(ERROR)


def rows(first: int, last: int) -> str:
    return "".join(json.dumps({"step": n, "reward": 0.01 * n, "grad_norm": 0.5}) + "\n" for n in range(first, last))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.jsonl"
    path.write_text(rows(1, 60))
    return path


async def test_the_coverage_screen_names_a_check_that_failed(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [replace(one, detect=boom) if one.rule == "grad-norm-explosion" else one for one in registry.REGISTERED]
    monkeypatch.setattr(registry, "REGISTERED", broken)
    app = RltuiApp(SampleOpener(log))
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.report is not None and app.view.report.checks > 0, "the diagnosis")
        await pilot.press("C")
        await wait_for(pilot, lambda: "grad-norm-explosion" in screen_text(app), "the name of the check")
        assert ERROR in screen_text(app)
        assert "1 failed" in screen_text(app)


@pytest.mark.parametrize("pane", ["gpu", "findings", "header"])
async def test_a_pane_that_cannot_be_drawn_says_so_and_the_others_are_drawn(
    pane: str, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(View, "pane_failed", PANE_FAILED)
    monkeypatch.setattr(getattr(panes, pane), "draw", boom)
    app = RltuiApp(SampleOpener(log))
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.report is not None and app.view.report.checks > 0, "the diagnosis")
        await wait_for(pilot, lambda: f"{pane} cannot be drawn, by a fault of rltui" in screen_text(app), "the fault")
        assert "2 Metrics" in screen_text(app)
        await pilot.press("C")
        await wait_for(pilot, lambda: f"pane {pane} of the screen main" in screen_text(app), "its name")
        assert ERROR in screen_text(app)
        assert "1 failed" in screen_text(app)
        await pilot.press("escape", "q")
    assert app.return_code == 0


async def test_a_screen_whose_diagnosis_fails_reads_on_and_says_where_it_stands(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = RltuiApp(SampleOpener(log))
    async with app.run_test(size=WIDE) as pilot:
        await wait_for(pilot, lambda: app.view.report is not None and app.view.report.checks > 0, "the diagnosis")
        monkeypatch.setattr(conclusions, "judge", boom)
        with log.open("a") as more:
            more.write(rows(60, 80))
        await wait_for(pilot, lambda: "diagnosis stands at step 59" in screen_text(app), "where the diagnosis stands")
        await wait_for(pilot, lambda: app.view.report is not None and app.view.report.run.steps.last == 79, "the rows")
        assert app.view.report is not None
        assert ERROR in app.view.report.verdict.text
        monkeypatch.undo()
        with log.open("a") as more:
            more.write(rows(80, 90))
        await wait_for(pilot, lambda: "diagnosis stands" not in screen_text(app), "the next diagnosis")

"""No two statements about a labelled run contradict each other: its report and its row of `runs` for each run, all
commands for one in six, the screens for one in fourteen. `python -m tests.contradictions` asks all of all."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tests.conftest import labelled_runs
from tests.contradictions.holding import hold
from tests.contradictions.labelled import all_labelled, draws
from tests.contradictions.screens import look
from tests.contradictions.surfaces import Json, runs, said
from tests.unit.tui.conftest import own_state, quick_keys  # noqa: F401  the screen's fixtures

ROOT = labelled_runs()
PATHS = all_labelled(ROOT) if ROOT is not None else []
DEEP, SCREEN = 6, 14

pytestmark = pytest.mark.skipif(not PATHS, reason="no labelled runs: set RLTUI_TEST_RUNS")


@cache
def rows(folder: Path) -> dict[str, Json]:
    """`runs` looks at a whole folder at once."""
    return runs(folder)


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_labelled_run(path: Path) -> None:
    told = said(path, rows(path.parent), deep=draws(path.name, DEEP))
    if told is not None:
        hold(told)


@pytest.mark.parametrize("path", [p for p in PATHS if draws(p.name, SCREEN, "screen")], ids=lambda path: path.name)
async def test_a_labelled_run_on_the_screen(path: Path) -> None:
    told = said(path)
    if told is not None:
        await look(told, path)
        hold(told)

"""No two statements about a written run contradict each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.contradictions.holding import hold
from tests.contradictions.screens import look, look_picker
from tests.contradictions.surfaces import report, runs, said
from tests.contradictions.written import COURSES, draw, write, write_all
from tests.moments import draws
from tests.unit.tui.conftest import own_state, quick_keys  # noqa: F401  the screen's fixtures

SEED = 14
COUNT = len(COURSES)


@pytest.mark.parametrize("number", range(COUNT))
def test_a_written_run(number: int, tmp_path: Path) -> None:
    drawn = draw(number, SEED)
    path = write(drawn, tmp_path)
    told = said(path, runs(tmp_path))
    assert told is not None
    told.whole = runs(tmp_path, "--full").get(str(path))
    for step in [step for step in told.earlier if step < drawn.rows]:
        cut = report(write(replace(drawn, until=step), tmp_path / f"cut-{step}"))
        assert cut is not None
        told.cut[step] = cut
    hold(told)


@pytest.mark.parametrize("number", [n for n in range(COUNT) if draws(f"written {n}", 8, "contradictions")])
async def test_a_written_run_on_the_screen(number: int, tmp_path: Path) -> None:
    path = write(draw(number, SEED), tmp_path)
    told = said(path)
    assert told is not None
    await look(told, path)
    hold(told)


async def test_the_picker_of_written_runs(tmp_path: Path) -> None:
    paths = list(write_all(tmp_path, 10, SEED + 1))
    lines = await look_picker(paths)
    assert set(lines) == set(paths)
    for path, line in lines.items():
        told = said(path, deep=False)
        assert told is not None
        told.picked = line
        hold(told)

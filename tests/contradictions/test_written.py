"""No two statements about a written run, or about one that ships with rltui, contradict each other."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.contradictions.holding import hold
from tests.contradictions.screens import look, look_comparison, look_picker
from tests.contradictions.surfaces import Said, command, report, runs, said, table
from tests.contradictions.writers import write, write_all
from tests.contradictions.written import COURSES, ODD, Draw, draw, odd
from tests.moments import age_of, draws, judged_after, unless_drawn
from tests.unit.tui.conftest import own_state, quick_keys  # noqa: F401  the screen's fixtures

SEED = 14
COUNT = len(COURSES)
EVERY = 4
"""Of so many runs all that the commands say is held in CI; of the others the report, the page and the lists."""
SAMPLES = sorted(path for path in (REPO / "sample_runs").iterdir() if path.is_dir())


def told_of(drawn: Draw, folder: Path) -> Said:
    """All that the commands say of a run, also of its log as it was on the way."""
    path = write(drawn, folder)
    told = said(path, runs(folder))
    assert told is not None
    told.whole = runs(folder, "--full").get(str(path))
    (told.listed,) = table(folder)
    for step in [step for step in told.earlier if step < drawn.rows]:
        told.cut[step] = report(write(replace(drawn, until=step), folder / f"cut-{step}")) or {}
    return told


WRITTEN = {one.name: one for one in (*(draw(n, SEED) for n in range(COUNT)), *(odd(n, SEED) for n in range(len(ODD))))}


@pytest.mark.parametrize("name", [name for name in WRITTEN if not draws(name, EVERY, "deep")])
def test_the_report_and_the_lists_of_a_written_run(name: str, tmp_path: Path) -> None:
    path = write(WRITTEN[name], tmp_path)
    told = said(path, runs(tmp_path), deep=False)
    assert told is not None
    (told.listed,) = table(tmp_path)
    hold(told)


@pytest.mark.long
@pytest.mark.parametrize("name", [pytest.param(name, marks=unless_drawn(name, EVERY, "deep")) for name in WRITTEN])
def test_a_written_run(name: str, tmp_path: Path) -> None:
    """All that is held of the others, and more."""
    hold(told_of(WRITTEN[name], tmp_path))


@pytest.mark.long
@pytest.mark.parametrize("number", [n for n in range(COUNT) if draws(f"written {n}", 12, "contradictions")])
async def test_a_written_run_on_the_screen(number: int, tmp_path: Path) -> None:
    path = write(draw(number, SEED), tmp_path)
    told = said(path)
    assert told is not None
    await look(told, path)
    hold(told)


@pytest.mark.long
async def test_the_picker_of_written_runs(tmp_path: Path) -> None:
    paths = list(write_all(tmp_path, 10, SEED + 1))
    lines = await look_picker(paths)
    assert set(lines) == set(paths)
    for path, line in lines.items():
        told = said(path, deep=False)
        assert told is not None
        told.picked = line
        hold(told)


@pytest.mark.long
async def test_the_comparison_of_written_runs(tmp_path: Path) -> None:
    paths = list(write_all(tmp_path, 5, SEED + 2))
    _, text, _ = command("compare", str(tmp_path), "--format", "json")
    compared = json.loads(text)
    rows = await look_comparison(tmp_path, [path.name for path in paths])
    assert set(rows) == {path.name for path in paths}
    for path in paths:
        told = said(path, deep=False)
        assert told is not None
        told.compared = next(row for row in compared["runs"] if row["id"] == path.name)
        told.compared["metric"], told.row = compared["primary"]["name"], rows[path.name]
        hold(told)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_run_of_the_demo(path: Path) -> None:
    with judged_after(path, age_of(path.name)):
        told = said(path, runs(path), deep=draws(path.name, 2, "demo"))
        assert told is not None
        (told.listed,) = table(path)
    hold(told)

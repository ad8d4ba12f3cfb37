"""No two statements about a labelled run contradict each other, or its label's steps and state: its report and its row
of `runs` for one in nine (all with `-m "fuzz_full or not fuzz_full"`), all commands for a quarter of these, the screens
for one in sixty. Half of them are judged a minute after they were written, half a day after.
`python -m tests.contradictions --screen` asks all of all, at both ages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import labelled_runs
from tests.contradictions.holding import hold
from tests.contradictions.labelled import all_labelled
from tests.contradictions.screens import look
from tests.contradictions.surfaces import runs, said
from tests.known_gaps import cases
from tests.moments import age_of, draws, judged_after, unless_drawn
from tests.unit.tui.conftest import own_state, quick_keys  # noqa: F401  the screen's fixtures

ROOT = labelled_runs()
PATHS = all_labelled(ROOT) if ROOT is not None else []
EVERY, DEEP, SCREEN = 9, 4, 60

pytestmark = pytest.mark.skipif(not PATHS, reason="no labelled runs: set RLTUI_TEST_RUNS")


def sampled(case: Any) -> Any:
    """The rest is for the long tests."""
    (label,) = case.values
    return pytest.param(label, id=case.id, marks=[*case.marks, *unless_drawn(label["path"], EVERY, "read")])


@pytest.mark.parametrize("label", [sampled(case) for case in cases("read")])
def test_a_labelled_run(label: dict[str, Any], runs_dir: Path) -> None:
    path = runs_dir / label["path"]
    with judged_after(path, age_of(path.name)):
        listed = runs(path if path.is_dir() else path.parent)
        told = said(path, listed, deep=draws(path.name, DEEP, "contradictions"))
    steps = {} if told is None else told.report["run"]["steps"]
    assert "steps" not in label or [steps.get("first"), steps.get("last")] == label["steps"]
    if told is not None:
        assert told.state in label.get("state", [told.state])
        hold(told)


@pytest.mark.long
@pytest.mark.parametrize("path", [p for p in PATHS if draws(p.name, SCREEN, "screen")], ids=lambda path: path.name)
async def test_a_labelled_run_on_the_screen(path: Path) -> None:
    with judged_after(path, age_of(path.name)):
        told = said(path)
        if told is not None:
            await look(told, path)
    if told is not None:
        hold(told)

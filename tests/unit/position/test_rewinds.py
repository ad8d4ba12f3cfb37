"""Random runs that go back to a checkpoint: no row is lost, none is wrong, and the going back is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.position.rewinds import WRITERS, Cells, write
from tests.unit.session.runs import content, opened

SOME, ALL = 12, 1000


def check(folder: Path, style: str, seed: int) -> None:
    path, told = write(folder, style, seed)
    run = opened(path)
    found = content(run)
    for step, cells in found.items():
        if step in told.glued:
            continue
        whole = told.values.get(step)
        if whole is None:  # of a step that was never whole what was written of it may be told
            assert step in told.torn, f"step {step} of {style} {seed} was never written"
            assert cells.items() <= told.torn[step].items(), f"step {step} of {style} {seed}"
        else:
            assert cells == whole, f"step {step} of {style} {seed}"
    lost = told.values.keys() - found.keys() - told.glued
    assert not lost, f"{style} {seed}: lost {sorted(lost)}"
    assert run.run.sources[0].skipped or not told.glued, "a row that nobody could take apart is counted"
    restarts = run.run.history.table.restarts
    expected = [step for step in told.resumed if step not in told.glued]
    assert not set(expected) - set(restarts), f"{style} {seed}: restarts {restarts}, resumed at {expected}"


@pytest.mark.parametrize("style", WRITERS)
def test_runs_that_go_back(style: str, tmp_path: Path) -> None:
    for seed in range(SOME):
        check(tmp_path, style, seed)


@pytest.mark.fuzz_full
@pytest.mark.parametrize("style", WRITERS)
def test_five_thousand_rewinds(style: str, tmp_path: Path) -> None:
    for seed in range(ALL):
        check(tmp_path, style, seed)


def test_rows_that_come_again_as_they_were_are_told(tmp_path: Path) -> None:
    """A resumed run that repeats its rows to the end and goes on: all rows stay, and the repetition is told."""

    def cells(step: int) -> Cells:
        return {"reward": step / 1000, "loss": 1.0 / step}

    log = tmp_path / "train.log"
    text = WRITERS["verl"][1]
    log.write_text("".join(text(s, cells(s)) for s in (*range(1, 101), *range(81, 201))))
    run = opened(log)
    assert content(run) == {step: pytest.approx(cells(step)) for step in range(1, 201)}
    assert "came again unchanged: 20" in run.frame().run.sources[0].note


def test_steps_repeated_as_they_were_before_anything_new_are_kept(tmp_path: Path) -> None:
    """What the resumed launch repeats unchanged, before it does other things, is its own: 18 rows of 201 were lost."""
    log = tmp_path / "train.log"
    line = WRITERS["verl"][1]
    again = "".join(line(s, {"reward": s / 1000, "loss": 0.5}) for s in range(1, 102))
    rest = "".join(line(s, {"reward": s / 500, "loss": 0.25}) for s in range(102, 202))
    first = "".join(line(s, {"reward": s / 1000, "loss": 0.5}) for s in range(1, 121))
    log.write_text(first + "".join(again.splitlines(True)[83:]) + rest)
    run = opened(log)
    assert list(content(run)) == list(range(1, 202))
    assert run.run.history.table.restarts == [84]

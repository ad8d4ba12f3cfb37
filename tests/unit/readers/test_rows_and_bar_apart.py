"""A job whose rows are in one file and whose bar is in another: the steps of its rows, also if it went on from a
checkpoint, which only its epochs tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.session.runs import content, opened

TOTAL = 8000


def written(folder: Path, first: int, last: int, every: int, digits: int = 2, ahead: int = 0) -> Path:
    """`ahead`: steps by which the bar is ahead of the rows."""
    steps = [n for n in range(first, last + 1) if n % every == 0]
    folder.mkdir()
    (folder / "slurm-7.out").write_text(
        "".join(
            f"{{'loss': {1 / n:.5f}, 'reward': {n / TOTAL:.5f}, 'epoch': {round(n / 50, digits)}}}\n" for n in steps
        )
    )
    (folder / "slurm-7.err").write_text(
        "".join(
            f"\r{100 * n // TOTAL:3}%|     | {n}/{TOTAL} [00:00<01:00,  1.02s/it]"
            for n in (0, *range(first, last + ahead + 1))
        )
    )
    return folder


@pytest.mark.parametrize("digits", [2, 6])
@pytest.mark.parametrize(
    ("first", "last", "every"),
    [(1, 40, 1), (1, 200, 5), (21, 40, 1), (21, 240, 5), (2001, 4000, 10), (501, 900, 1), (105, 200, 5)],
)
def test_each_row_at_its_step(first: int, last: int, every: int, digits: int, tmp_path: Path) -> None:
    found = content(opened(written(tmp_path / "run", first, last, every, digits, every - 1)))
    steps = [n for n in range(first, last + 1) if n % every == 0]
    assert {n: row["reward"] for n, row in found.items()} == {n: round(n / TOTAL, 5) for n in steps}


def test_too_coarse_epochs_give_no_steps(tmp_path: Path) -> None:
    """The epochs have no decimals: where the launch began is not known to a step, so the rows are counted, and told
    to be."""
    run = opened(written(tmp_path / "run", 1021, 1060, 1, 0))
    assert run.run.history.counted
    assert list(content(run)) == list(range(1, 41))

"""A log that states no steps shows them late; an error behind its rows ends the run all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.reported import told

ERROR = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    go()\nRuntimeError: no luck\n'


def rows(first: int, last: int) -> str:
    return "".join(
        f"{{'loss': 0.{i:02}, 'reward': 0.5, 'kl': 0.01, 'epoch': {i / 100}}}\n" for i in range(first, last + 1)
    )


def state(folder: Path, text: str) -> str:
    (folder / "train.log").write_text(text)
    said: str = told(folder / "train.log")[2]["run"]["state"]
    return said


@pytest.mark.parametrize("count", [1, 2, 3, 8, 12, 30])
def test_an_error_behind_the_rows_of_a_young_log_ends_it(count: int, tmp_path: Path) -> None:
    assert state(tmp_path, rows(1, count) + ERROR) == "crashed"


@pytest.mark.parametrize("count", [3, 8, 30])
@pytest.mark.parametrize("before", [0, 2])
def test_an_error_that_the_training_survived_does_not(before: int, count: int, tmp_path: Path) -> None:
    assert state(tmp_path, rows(1, before) + ERROR + rows(before + 1, before + count)) != "crashed"

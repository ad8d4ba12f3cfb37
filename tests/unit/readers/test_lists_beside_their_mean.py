"""A mean that a line states counts, not that of the list beside it, which may show a few of the numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import ends, reported

N = 20


def log(tmp_path: Path, form: str) -> Path:
    path = tmp_path / "train.log"
    path.write_text("".join(form.format(i=i, score=f"{0.3 + 0.01 * i:.2f}") + "\n" for i in range(1, N + 1)))
    return path


@pytest.mark.parametrize(
    "form",
    [
        "step {i}: rewards [1.0, 0.0, 0.0, 1.0], mean {score}, kl 0.0{i:02d}",
        "step {i}: rewards=[1.0, 0.0, 0.0, 1.0] mean={score} kl=0.0{i:02d}",
    ],
)
def test_the_stated_mean_counts(tmp_path: Path, form: str) -> None:
    assert ends(reported(log(tmp_path, form)), "reward_mean") == (N, 0.31, 0.5)


def test_a_list_alone_has_its_mean(tmp_path: Path) -> None:
    read = reported(log(tmp_path, "step {i}: rewards [1.0, 0.0, 0.0, 0.0], kl 0.0{i:02d}"))
    assert ends(read, "reward_mean") == (N, 0.25, 0.25)

"""Names whose words only a capital sets apart: `meanReward`, `GlobalStep`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import STEPS, steps


@pytest.mark.parametrize(
    "line",
    [
        "globalStep={n} meanReward={x} klDivergence={kl}",
        "GlobalStep {n} MeanReward {x} KlDiv {kl}",
        "trainStep: {n}, avgReward: {x}, approxKl: {kl}",
    ],
)
def test_they_are_read_as_their_words(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, line)
    assert {n: row["reward_mean"] for n, row in found.items()} == {n: n / 1000 for n in range(1, STEPS + 1)}
    assert {x for row in found.values() for name, x in row.items() if "kl" in name} == {0.125}

"""Groups without variance, beside a reward that has stopped to rise: they keep a run from learning only if they have
not become fewer than they were while it learnt."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import finding, learning, report, wave, write
from tests.unit.rules.asked import asking

ROWS, UNTIL = 400, 200
T = np.arange(ROWS)
RULE, PLATEAU = "zero-variance-groups", "reward-plateau"
ROSE = 0.03 + 0.42 * np.clip(T / UNTIL, 0, 1) + wave(0, 0.012, ROWS, 1)
SHARES = {
    "fewer than while it learnt": (np.linspace(0.83, 0.5, UNTIL), False),
    "as many as ever": (np.full(UNTIL, 0.52), True),
    "more than while it learnt": (np.linspace(0.1, 0.52, UNTIL), True),
}


@pytest.mark.parametrize(("share", "loud"), SHARES.values(), ids=list(SHARES))
def test_half_of_the_groups_beside_a_plateau(
    share: np.ndarray, loud: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = np.concatenate([share, np.full(ROWS - UNTIL, share[-1])]) + wave(0, 0.03, ROWS, 2)
    top = {"score_min": np.zeros(ROWS), "score_max": np.ones(ROWS), "frac_reward_zero_std": dead}
    with asking(RULE, PLATEAU):
        of = report(write(tmp_path / "run", learning(ROWS) | {"score": ROSE} | top), capsys)
    found = finding(of, RULE)
    assert (found is not None and found["severity"] != "info") == loud

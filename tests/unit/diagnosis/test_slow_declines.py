"""A reward that falls over hundreds of rows, and a validation that stays behind, are dated where that began."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.draws import some
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.written import finding, wave, write
from tests.unit.reported import told
from tests.unit.rules.asked import asking, near


def carried(rows: int, carry: float, seed: int) -> np.ndarray:
    """Noise of sd 1 of which so much goes on from row to row."""
    fresh = np.random.default_rng(seed).standard_normal(rows)
    out = fresh.copy()
    for i in range(1, rows):
        out[i] = carry * out[i - 1] + np.sqrt(1 - carry * carry) * fresh[i]
    return out


@pytest.mark.parametrize("rises", ["then level", "until it falls"])
@pytest.mark.parametrize("carry", [0.0, 0.8], ids=["white", "carried"])
@pytest.mark.parametrize(("rows", "begins", "by"), [(600, 300, 0.3), (1000, 560, 0.5), (1500, 600, 0.3)])
def test_a_slow_decline_is_dated_within_a_tenth_of_the_run(
    rows: int, begins: int, by: float, carry: float, rises: str
) -> None:
    t = np.arange(rows)
    learnt = 0.5 * np.minimum(t / (begins * (0.4 if rises == "then level" else 1.0)), 1.0)
    fallen = by * np.clip((t - begins) / (rows - begins), 0, 1)
    for seed in (0, 1):
        score = 0.2 + learnt - fallen + 0.04 * carried(rows, carry, seed * 7 + rows + int(by * 100))
        of = near("reward-collapse", "reward-peak-decline").advance(FakeRun({"score_mean": score}).grow())
        dates = {
            f.id: f.onset_step
            for f in of.findings
            if f.id in ("reward-collapse", "reward-peak-decline") and f.status == "active"
        }
        assert dates
        for rule, date in dates.items():
            assert date is not None
            assert abs(date - begins) <= 0.1 * rows, (rule, seed)


def test_a_second_fall_after_a_recovery_keeps_its_own_date() -> None:
    t = np.arange(700)
    down = np.clip((t - 200) / 3, 0, 1) - np.clip((t - 260) / 3, 0, 1) + np.clip((t - 600) / 3, 0, 1)
    of = near("reward-collapse").advance(FakeRun({"score_mean": 0.7 - 0.5 * down + 0.02 * carried(700, 0.0, 3)}).grow())
    found = next(f for f in of.findings if f.id == "reward-collapse")
    assert found.onset_step is not None
    assert abs(found.onset_step - 600) <= 10
    assert len(found.episodes) == 2


@pytest.mark.parametrize("seed", some([1, 2]))
@pytest.mark.parametrize(("rows", "every"), [(400, 10), (300, 20)])
def test_validation_left_behind_is_dated_where_it_parted(rows: int, every: int, seed: int, tmp_path: Path) -> None:
    parts = 3 * rows // 10
    both = 0.3 + 0.45 * np.arange(rows) / rows
    columns = {
        "score": both + wave(0, 0.03, rows, seed),
        "val": np.minimum(both, both[parts]) - 0.02 + wave(0, 0.012, rows, seed + 10),
        "entropy": wave(0.5, 0.01, rows, seed + 20),
    }
    with asking("train-val-divergence"):
        _, _, of = told(write(tmp_path / "run", columns, {"val": every}))
    found = finding(of, "train-val-divergence")
    assert found is not None
    assert abs(found["onset_step"] - parts) <= max(every, 0.06 * rows)

"""As many numbers as names, side by side: `loss(pi/v/ent) 0.1/0.3/1.2`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import STEPS, steps

LINES = {
    "step {n} loss(pi/v/ent) {x}/{loss}/{kl}": {"pg_loss": None, "vf_loss": 1.25, "entropy": 0.125},
    "step {n} | reward {loss} | loss [pi/v] = {x} / {kl}": {"pg_loss": None, "vf_loss": 0.125, "reward_mean": 1.25},
    "step {n} acc/fmt: {x}/{kl} loss {loss}": {"score_mean": None, "total_loss": 1.25, "reward_component_mean": 0.125},
    "step {n}, reward {x}, kl/entropy {kl} / {loss}": {"reward_mean": None, "kl_ref": 0.125, "entropy": 1.25},
    "step={n} reward_min/mean/max={kl}/{x}/{loss}": {"reward_min": 0.125, "reward_mean": None, "reward_max": 1.25},
    "step {n} | reward {x}/{loss} (mean/max) | kl {kl}": {"reward_mean": None, "reward_max": 1.25, "kl_ref": 0.125},
    "step {n} r={x}/{kl} (train/val) loss {loss}": {"reward_mean": None, "val_score": 0.125, "total_loss": 1.25},
}


@pytest.mark.parametrize("line", LINES)
def test_each_number_gets_its_name(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, line)
    wanted = {n: {name: n / 1000 if x is None else x for name, x in LINES[line].items()} for n in range(1, STEPS + 1)}
    assert {n: {name: row.get(name) for name in wanted[n]} for n, row in found.items()} == wanted


@pytest.mark.parametrize("line", ["step/total: {n}/80 reward {x}", "step {n} (solved/asked) 12/64 reward {x}"])
def test_counts_out_of_a_total_stay_counts(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, line)
    assert {n: row["reward_mean"] for n, row in found.items()} == {n: n / 1000 for n in range(1, STEPS + 1)}

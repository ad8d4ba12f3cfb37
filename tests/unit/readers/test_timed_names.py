"""What a line of people's own words says by a unit or by brackets: `gen 3.2s` is a time, `reward 0.4 (correct 0.3,
format 0.1)` has parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main

STEPS = 12


def columns(tmp_path: Path, line: str) -> list[dict[str, float]]:
    """The rows that twelve steps of a line give; `{x}` is a number that grows."""
    log = tmp_path / "train.log"
    rows = (line.replace("{n}", str(n)).replace("{x}", f"{0.1 + n / 100:.3f}") for n in range(1, STEPS + 1))
    log.write_text("\n".join(rows) + "\n", encoding="utf-8")
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(log), "--output", str(out)]) == 0
    return [json.loads(row) for row in out.read_text(encoding="utf-8").splitlines()]


def only(rows: list[dict[str, float]], name: str) -> float:
    """The one value that a metric has in all rows."""
    (value,) = {row[name] for row in rows}
    return value


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "step {n} reward {x} kl 0.01 | data 0.5s gen 3.2s reward 0.4s update 2s total 6.1s",
            {"phase:data_load": 0.5, "phase:rollout": 3.2, "phase:reward": 0.4, "time_per_step_s": 6.1},
        ),
        (
            "[step {n}] reward={x} gen=350ms train=1.5 sec total: 2 s",
            {"phase:rollout": 0.35, "phase:update_actor": 1.5, "time_per_step_s": 2.0},
        ),
        (
            "iter {n}: rew {x}, loss 0.2, sampling 40s, grading 3s, upd 12s, ref 4s, sync 1.5s",
            {"phase:rollout": 40.0, "phase:reward": 3.0, "phase:ref_log_prob": 4.0, "phase:weight_sync": 1.5},
        ),
    ],
)
def test_a_number_with_a_unit_of_time_is_a_time(tmp_path: Path, line: str, wanted: dict[str, float]) -> None:
    rows = columns(tmp_path, line)
    assert len(rows) == STEPS
    assert [row["reward_mean"] for row in rows] == [pytest.approx(0.1 + n / 100) for n in range(1, STEPS + 1)]
    assert {name: only(rows, name) for name in wanted} == pytest.approx(wanted)


@pytest.mark.parametrize(
    "line",
    [
        "step {n} reward {x} (task 0.25, format 0.9) std 0.3",
        "step {n} | reward: {x} [task: 0.25 format: 0.9] | std: 0.3",
        "step {n} reward={x} ± 0.3 (task=0.25 | format=0.9)",
    ],
)
def test_numbers_in_brackets_behind_a_reward_are_its_parts(tmp_path: Path, line: str) -> None:
    rows = columns(tmp_path, line + " kl=0.01")
    assert only(rows, "reward_component_mean:task") == 0.25
    assert only(rows, "reward_component_mean:format") == 0.9
    assert only(rows, "reward_std") == 0.3
    assert only(rows, "kl_ref") == 0.01


@pytest.mark.parametrize(
    "line",
    [
        "step {n} reward {x} (best 0.9, ema 0.3) kl 0.01",
        "step {n} reward {x} (max 1.0, min 0.0) kl 0.01",
        "step {n} reward {x} (entropy 0.5, lr 1e-6) kl 0.01",
        "step {n} reward {x} (acc 0.5) kl 0.01",
        "step {n} loss {x} (policy 0.1, value 0.2) reward 0.5",
    ],
)
def test_other_numbers_in_brackets_are_no_parts(tmp_path: Path, line: str) -> None:
    assert not [name for row in columns(tmp_path, line) for name in row if name.startswith("reward_component")]


def test_what_remains_of_the_time_is_no_time_of_the_step(tmp_path: Path) -> None:
    rows = columns(tmp_path, "step {n} reward {x} gen 3.2s eta 90s timeout 30s")
    assert not [name for row in rows for name in row if "time/eta" in name or "time/timeout" in name]

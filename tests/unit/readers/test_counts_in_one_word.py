"""A count in one word with its name: `global_step_12: reward=0.3`; and names below a group that only sorts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import STEPS, steps


@pytest.mark.parametrize(
    "line",
    [
        "global_step_{n}: reward={x} kl={kl}",
        "step_{n} reward={x} kl={kl}",
        "iter_{n} | reward {x} | kl {kl}",
        "[update_{n}] reward: {x}, kl: {kl}",
        "metrics.step: {n}\nmetrics.reward: {x}\nmetrics.kl: {kl}\n",
        "step {n} stats.reward={x} stats.kl={kl}",
    ],
)
def test_each_step_has_its_numbers(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, line)
    assert {n: (row["reward_mean"], row["kl_ref"]) for n, row in found.items()} == {
        n: (n / 1000, 0.125) for n in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("line", ["sample_{n}: reward={x}", "saved to out/step_{n}: reward={x}"])
def test_an_item_or_a_path_is_no_step(line: str, tmp_path: Path) -> None:
    found = steps(tmp_path, f"step {{n}} reward 0.5 kl {{kl}}\n{line}")
    assert {n: row["reward_mean"] for n, row in found.items()} == dict.fromkeys(range(1, STEPS + 1), 0.5)

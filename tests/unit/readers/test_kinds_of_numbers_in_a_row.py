"""Pairs that only blanks set apart: a word that says what kind of number follows is no unit of the one before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rltui.readers.console.plain_lines import pairs
from tests.unit.readers.reported import ends, reported

DEEPSPEED = "Epoch {e}/2, Step {i}, Actor Loss: {l:.6f}, Critic Loss: {c:.6f}, Unsupervised Loss: 0.0"


def metrics(head: str, below: str, folder: Path) -> dict[str, Any]:
    """The metrics of two epochs of 20 steps."""
    lines = [
        one.format(e=e + 1, i=i, l=1 / k, c=0.3 + 1 / k, r=0.1 + k / 90, m=0.05 + k / 90)
        for e in range(2)
        for i in range(20)
        for k in [20 * e + i + 1]
        for one in (head, below, "-" * 85)
    ]
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(folder)
    assert report["run"]["steps"]["rows"] == 40
    return report


def test_the_lines_of_deepspeed_chat(tmp_path: Path) -> None:
    report = metrics(DEEPSPEED, "Average reward score: {r:.4f} Ema reward score: {m:.4f}", tmp_path)
    assert report["run"]["framework"] == "deepspeed_chat"
    assert ends(report, "reward_mean") == (40, pytest.approx(0.1111), pytest.approx(0.5444))
    assert ends(report, "Ema reward score") == (40, pytest.approx(0.0611), pytest.approx(0.4944))


@pytest.mark.parametrize(
    "below",
    [
        "mean reward: {r:.4f} max reward: {m:.4f}",
        "  reward: {r:.4f} best reward: {m:.4f}",
        "reward: {r:.4f} running reward: {m:.4f} lr: 1e-06",
        "mean reward = {r:.4f} best reward = {m:.4f}",
    ],
)
def test_another_kind_of_reward_is_not_the_reward(below: str, tmp_path: Path) -> None:
    report = metrics("step {i} of epoch {e} done, loss: {l:.4f}, kl: 0.01", below, tmp_path)
    rewards = [m for m in report["metrics"].values() if m["last_value"] == pytest.approx(0.4944)]
    assert ends(report, "reward_mean") == (40, pytest.approx(0.1111), pytest.approx(0.5444))
    assert len(rewards) == 1


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("time: 3.2 s reward: 0.5", ["time", "reward"]),
        ("elapsed: 3.2 min reward: 0.5", ["elapsed", "reward"]),
        ("memory: 3 GB reward: 0.5", ["memory", "reward"]),
        ("eta: 12 min reward: 0.5", ["eta", "reward"]),
        ("tokens: 512 tok reward: 0.5", ["tokens", "reward"]),
        ("reward: 0.5 std: 0.2 kl: 0.01", ["reward", "reward std", "kl"]),
        ("Reward avg: 0.1, min: 0.0", ["Reward avg", "Reward min"]),
    ],
)
def test_units_stay_units(line: str, names: list[str]) -> None:
    assert [*pairs(line)] == names

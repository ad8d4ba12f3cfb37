"""`rewards/mean` is the mean of the reward whatever framework wrote it: a statistic is no reward function."""

from __future__ import annotations

import pytest

from rltui.frameworks.load import dialect_names
from rltui.frameworks.resolve import resolve

STATISTICS = ("mean", "std", "max", "min", "avg", "average")


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_is_no_reward_function(name: str) -> None:
    found = {framework: resolve(f"rewards/{name}", framework).canonical for framework in dialect_names()}
    assert "reward_component_mean" not in found.values()


def test_the_mean_of_the_rewards_is_that_of_the_reward_in_trl() -> None:
    assert resolve("rewards/mean", "trl").canonical == resolve("rewards/mean", "trl_ppo").canonical == "reward_mean"


@pytest.mark.parametrize(("key", "member"), [("rewards/format", "format"), ("rewards/length_fn/mean", "length_fn")])
def test_reward_functions_stay(key: str, member: str) -> None:
    found = resolve(key, "trl")
    assert (found.canonical, found.member) == ("reward_component_mean", member)

"""Config under canonical keys: the user's own key, its source, and whether it acts."""

from __future__ import annotations

import pytest

from rltui.run.config import Config, ConfigValue

KL = "actor_rollout_ref.actor.kl_loss_coef"
USE = "actor_rollout_ref.actor.use_kl_loss"
IN_REWARD = "algorithm.use_kl_in_reward"
COEF = "algorithm.kl_ctrl.kl_coef"


def resolved(dialect: str, **values: object) -> dict[str, ConfigValue]:
    config = Config()
    config.add(values, "a test")
    return config.resolved(dialect)


@pytest.mark.parametrize(
    ("dialect", "values", "canonical", "active"),
    [
        ("verl", {KL: 0.001, USE: False}, "kl_coef_loss", False),
        ("verl", {KL: 0.001, USE: True}, "kl_coef_loss", True),
        ("verl", {KL: 0.001}, "kl_coef_loss", False),
        ("verl", {COEF: 0.001, IN_REWARD: False, USE: True}, "kl_coef_reward", False),
        ("verl", {COEF: 0.001, IN_REWARD: True}, "kl_coef_reward", True),
        ("verl_0_2", {COEF: 0.001, USE: False}, "kl_coef_reward", True),
        ("verl_0_2", {COEF: 0.001, USE: True}, "kl_coef_reward", False),
        ("search_r1", {COEF: 0.001, USE: True}, "kl_coef_reward", False),
        ("trl", {"beta": 0.0}, "kl_coef_loss", False),
        ("trl", {"beta": 0.04}, "kl_coef_loss", True),
        ("trl", {"delta": None}, "clip_dual", False),
        ("trl", {"epsilon_high": 0.28}, "clip_high", True),
    ],
)
def test_what_acts(dialect: str, values: dict[str, object], canonical: str, active: bool) -> None:
    entry = resolved(dialect, **values)[canonical]
    assert entry.active is active
    assert bool(entry.note) is not active


def test_key_and_source_stay_the_users_own() -> None:
    entry = resolved("slime", **{"--eps-clip": 0.2})["clip_low"]
    assert (entry.value, entry.key, entry.source) == (0.2, "--eps-clip", "a test")


def test_a_specific_key_wins_over_the_general_one_only_where_it_is_set() -> None:
    both = {"actor_rollout_ref.actor.clip_ratio": 0.2, "actor_rollout_ref.actor.clip_ratio_low": 0.1}
    assert resolved("verl", **both)["clip_low"].value == 0.1
    both["actor_rollout_ref.actor.clip_ratio_low"] = None  # type: ignore[assignment]
    assert resolved("verl", **both)["clip_low"].value == 0.2


def test_later_sources_win_but_silence_hides_nothing() -> None:
    config = Config()
    config.add({"learning_rate": 1e-6, "beta": 0.1}, "first")
    config.add({"learning_rate": 2e-6, "beta": None}, "second")
    found = config.resolved("trl")
    assert (found["lr"].value, found["lr"].source) == (2e-6, "second")
    assert (found["kl_coef_loss"].value, found["kl_coef_loss"].source) == (0.1, "first")


def test_secrets_and_escapes_do_not_pass() -> None:
    config = Config()
    config.add({"wandb_api_key": "0123456789abcdef0123456789abcdef01234567", "run_name": "\x1b[31mred\x1b[0m"}, "env")
    assert "0123456789abcdef" not in str(config.raw)
    assert config.raw["run_name"].value == "red"


def test_a_home_made_config() -> None:
    found = resolved("generic", lr=1e-5, group_size=8, kl_coef=0.01)
    assert {name: entry.value for name, entry in found.items()} == {"lr": 1e-5, "group_size": 8, "kl_coef_loss": 0.01}

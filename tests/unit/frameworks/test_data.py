"""The data files say what they should: every name known, every alias usable, no framework at odds with itself."""

from __future__ import annotations

import re

import pytest

from rltui.frameworks.load import algorithms, config_meanings, dialect, dialect_names, metrics, phases, prefix_groups
from rltui.frameworks.resolve import keys_for, resolve

GROUPS = {
    *("reward", "validation", "drift", "policy", "length", "speed", "memory", "mismatch", "critic", "tools"),
    *("off-policy", "preference", "progress", "other"),
}
FRAMEWORKS = {
    *("verl", "verl_0_2", "search_r1", "trl", "online_dpo", "trl_ppo", "async_grpo", "openrlhf", "nemo_rl", "slime"),
    *("skyrl", "prime_rl", "areal", "art", "roll", "open_instruct", "tinker_cookbook", "ms_swift", "llama_factory"),
    *("trl_dpo", "trl_kto", "trl_rloo", "trl_rloo_0_21"),
    *("unsloth", "torchtune", "torchforge", "deepspeed_chat", "rllm", "verifiers"),
}


def test_all_frameworks_are_there() -> None:
    assert set(dialect_names()) == FRAMEWORKS | {"generic"}


def test_metrics_have_short_labels_and_known_groups() -> None:
    for name, metric in metrics().items():
        assert metric.group in GROUPS, name
        assert 0 < len(metric.label) <= 24, name
        assert metric.direction in {"up", "down", "none"}, name
    assert set(prefix_groups().values()) <= GROUPS


@pytest.mark.parametrize("name", sorted(FRAMEWORKS | {"generic"}))
def test_aliases_name_known_things_and_hold_no_comments(name: str) -> None:
    names = dialect(name)
    assert set(names.aliases) <= set(metrics())
    assert set(names.phases.keys) <= set(phases())
    assert set(names.config) <= set(config_meanings())
    keys = [key for group in (names.aliases, names.phases.keys) for keys in group.values() for key in keys]
    for key in keys:
        if key.startswith("re:"):
            re.compile(key[3:])
        else:
            assert not re.search(r" \([a-z]", key), "a comment in an alias"
            assert "derive" not in key
    assert set(names.convert) <= set(keys)
    assert {rule.config for rule in names.inactive} <= set(names.config)
    assert {rule.when for rule in names.inactive} <= set(names.config)
    assert dialect(names.framework).name == names.framework
    assert dialect(names.family).name == names.family


@pytest.mark.parametrize("name", sorted(FRAMEWORKS | {"generic"}))
def test_every_alias_is_found_again(name: str) -> None:
    for canonical, keys in dialect(name).aliases.items():
        for key in keys:
            if not key.startswith("re:"):
                assert resolve(key, name).canonical is not None
                assert keys_for(canonical, name, [key]) == [key]


def test_algorithms_are_told_by_known_metrics() -> None:
    assert {key for _, keys in algorithms().by_key for key in keys} <= set(metrics())

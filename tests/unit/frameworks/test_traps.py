"""What is easily misread is told for this run's framework and version, and for no other."""

from __future__ import annotations

import pytest

from rltui.frameworks.load import dialect, dialect_names, metrics
from rltui.frameworks.resolve import may_be_in, own_trap, trap, version_number


def test_only_the_own_framework_is_told() -> None:
    titles = {dialect(name).title for name in dialect_names()} | {"prime-rl", "Search-R1"}
    for name in dialect_names():
        own = {dialect(n).title for n in (name, *dialect(name).bases)}
        for metric in metrics():
            told = trap(metric, name)
            for title in titles - own:
                assert f"{title}:" not in told
                assert f"{title} from" not in told


def test_the_general_part_names_no_framework() -> None:
    for metric in metrics().values():
        assert not any(title in metric.trap for title in ("verl", "TRL", "slime", "tinker", "AReaL", "OpenRLHF"))


@pytest.mark.parametrize(
    ("version", "inside", "outside"),
    [
        ("0.4.1", "last micro-batch", "summed over mini-batches"),
        ("0.6.1", "divided by the number of micro-batches", "last micro-batch"),
        ("0.7.0.dev0", "summed over mini-batches", "divided by the number"),
        ("0.9.1", "logged as 0.0", "summed over mini-batches"),
    ],
)
def test_the_kl_of_verl_by_version(version: str, inside: str, outside: str) -> None:
    told = trap("kl_ref", "verl", version)
    assert inside in told
    assert outside not in told


def test_what_may_be_is_told() -> None:
    assert may_be_in(None, "0.6", "0.7")
    assert may_be_in(">=0.6", "0.7", "0.8")
    assert not may_be_in(">=0.8", "0.6", "0.7")
    assert not may_be_in("0.2-0.3", "0.4", None)
    assert version_number("verl 0.1") == (0, 1)
    assert may_be_in("TRL >=0.17", "1.0", None)
    assert not may_be_in("TRL >=0.17", None, "0.17")


def test_every_trap_is_of_a_known_metric() -> None:
    for name in dialect_names():
        for entry in dialect(name).traps:
            assert entry.metric in metrics(), (name, entry.metric)
            assert entry.text


FACTS = [
    ("three decimals", "verl_0_2", "0.2-0.3", "lr", "three decimals"),
    ("three decimals", "verl_0_2", "0.2-0.3", "kl_ref", "three decimals"),
    ("width of the tensor", "search_r1", None, "response_clip_ratio", "1/batch"),
    ("width of the tensor", "verl", "0.9.1", "response_clip_ratio", "V1 trainer"),
    ("one rank", "verl", "0.5.0", "pg_loss", "one data-parallel rank"),
    ("phase nesting", "verl", "0.5.0", "time_per_step_s", "inside the step"),
    ("phase nesting", "verl", "0.7.0", "time_per_step_s", "outside the step"),
    ("phase nesting", "verl", "0.8.0", "time_per_step_s", "validation is outside"),
    ("NaN as null", "verl", "0.9.1", "grad_norm", "null"),
    ("NaN is dropped", "prime_rl", None, "rollout_train_kl", "dropped"),
    ("NaN is left out", "trl", None, "reward_component_mean", "left out"),
    ("NaN loss is hidden", "trl", None, "total_loss", "running mean"),
    ("val/ is training", "trl_ppo", None, "ppo_ratio_mean", "not validation"),
    ("val/ is training", "open_instruct", None, "ppo_ratio_mean", "not validation"),
    ("times beta", "open_instruct", None, "kl_ref_weighted", "multiplied by beta"),
    ("episodes", "open_instruct", None, "step", "episodes"),
    ("sign of the KL", "verl", None, "ppo_kl", "old minus new"),
    ("sign of the KL", "openrlhf", None, "ppo_kl", "old minus new"),
    ("sign of the KL", "slime", None, "ppo_kl", "old minus new"),
    ("sign of the KL", "areal", None, "ppo_kl", "new minus old"),
    ("form of the KL", "trl_ppo", None, "ppo_kl", "half the squared"),
    ("form of the KL", "roll", None, "ppo_kl", "half the squared"),
    ("sign of the KL", "tinker_cookbook", None, "rollout_train_kl", "sampler minus trainer"),
    ("summed KL", "trl_ppo", None, "kl_ref", "summed"),
    ("summed KL", "torchtune", None, "kl_ref_sequence", "summed"),
    ("the step before", "roll", None, "time_per_step_s", "step before"),
    ("two clocks", "prime_rl", None, "time_per_step_s", "different clocks"),
    ("no loss", "verl", "0.3.0", "entropy", "positive mean entropy"),
    ("no loss", "openrlhf", None, "entropy", "positive mean entropy"),
    ("no loss", "slime", None, "entropy", "positive mean entropy"),
    ("retrieved text", "search_r1", None, "response_length_mean", "retrieved text"),
    ("untimed", "search_r1", None, "time_per_step_s", "not timed"),
    ("last validation", "search_r1", None, "val_score", "one update fewer"),
]
"""What is misread first (each line: the fact, and where it has to be told), framework by framework."""


@pytest.mark.parametrize(("fact", "name", "version", "metric", "said"), FACTS)
def test_what_is_misread_first_is_told(fact: str, name: str, version: str | None, metric: str, said: str) -> None:
    assert said in own_trap(metric, name, version), fact
    assert own_trap(metric, name, version) in trap(metric, name, version)


def test_what_is_told_elsewhere_is_not_told_here() -> None:
    assert "old minus new" not in own_trap("ppo_kl", "areal")
    assert "null" not in own_trap("grad_norm", "verl", "0.7.0")
    assert own_trap(None, "verl") == own_trap("ppo_kl", "generic") == ""

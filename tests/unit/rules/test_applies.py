"""Rules that a kind of run has no use for: told apart from those that lack a metric, and never where one is logged."""

from __future__ import annotations

import numpy as np
import orjson
import pytest

from rltui.diagnosis.engine import Engine
from rltui.evidence.model import Diagnosis
from rltui.rules.catalogue import rules
from tests.conftest import REPO
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run

KINDS = orjson.loads((REPO / "rltui/rules/data/applies.json").read_bytes())
N = 60
RL = {"score_mean": learning_run(0, N)["score_mean"]}


def diagnose(columns: dict[str, object], **kwargs: object) -> Diagnosis:
    return Engine().advance(FakeRun(columns, **kwargs).grow())  # type: ignore[arg-type]


def excused(d: Diagnosis) -> set[str]:
    return {x.id for x in d.not_applicable}


def test_the_data_name_rules_of_the_catalogue_and_kinds_with_a_reason() -> None:
    assert set(KINDS["rules"]) <= set(rules())
    assert set(KINDS["rules"].values()) == set(KINDS["signs"]) == set(KINDS["reasons"])


@pytest.mark.parametrize(
    ("algorithm", "config", "apply", "not_apply"),
    [
        ("GRPO", {}, {"zero-variance-groups", "truncation-high", "kl-runaway"}, {"critic-uninformative"}),
        (
            "PPO",
            {},
            {"critic-uninformative", "value-loss-explosion"},
            {"zero-variance-groups", "dpo-no-signal-or-saturated"},
        ),
        (
            "DPO",
            {},
            {"dpo-no-signal-or-saturated", "kl-runaway"},
            {"truncation-high", "length-collapse", "mismatch-high"},
        ),
        ("GRPO", {"kl_coef_loss": 0.0}, {"kl-penalty-gaming"}, {"kl-runaway", "reference-mismatch-at-start"}),
        ("GRPO", {"ppo_epochs": 1}, set(), {"policy-step-too-large"}),
        ("GRPO", {"ppo_epochs": 4}, {"policy-step-too-large"}, set()),
        ("GRPO", {"max_turns": 4}, {"tool-use-collapse"}, {"staleness-high"}),
        ("GRPO", {"max_staleness": 2}, {"staleness-high"}, {"tool-use-collapse"}),
        (None, {}, {"critic-uninformative", "zero-variance-groups"}, {"dpo-no-signal-or-saturated"}),
    ],
)
def test_config_and_algorithm_tell_what_applies(
    algorithm: str | None, config: dict[str, object], apply: set[str], not_apply: set[str]
) -> None:
    d = diagnose(dict(RL), algorithm=algorithm, config=config)
    assert not_apply <= excused(d)
    assert not apply & excused(d)
    assert apply <= {x.id for x in d.not_evaluable}


def test_an_unknown_log_without_reward_may_be_of_preference_training() -> None:
    d = diagnose({"grad_norm": np.full(N, 0.5)}, algorithm=None)
    assert "dpo-no-signal-or-saturated" not in excused(d)


@pytest.mark.parametrize("kind", sorted(KINDS["signs"]))
@pytest.mark.parametrize("algorithm", ["GRPO", "PPO", "DPO", None])
def test_what_is_logged_is_never_excused(kind: str, algorithm: str | None) -> None:
    config = {"kl_coef_loss": 0.0, "ppo_epochs": 1}
    for sign in KINDS["signs"][kind]:
        told = excused(diagnose({**RL, sign: np.linspace(0.1, 0.2, N)}, algorithm=algorithm, config=config))
        assert not told & {rule for rule, of in KINDS["rules"].items() if of == kind}, sign

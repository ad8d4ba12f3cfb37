"""Invariants: each passes on a sane run, fails on a planted violation, and is unknown where nothing shows it."""

from __future__ import annotations

import numpy as np
import pytest

from rltui.diagnosis.invariants import Invariant, invariants
from rltui.evidence.model import STAGES
from rltui.run.run import ConfigValue
from tests.unit.diagnosis.looks import look_at
from tests.unit.diagnosis.series import learning_run

N = 100
CONFIG = {
    "group_size": 8,
    "adv_estimator": "grpo",
    "clip_low": 0.2,
    "clip_high": 0.28,
    "max_response_length": 1024,
    "kl_estimator": "low_var_kl",
}
TINY = {"advantage_min": np.full(N, -0.01), "advantage_max": np.full(N, 0.01)}
SANE = {
    **learning_run(0, N),
    "score_min": np.zeros(N),
    "score_max": np.ones(N),
    "reward_std": np.full(N, 0.3),
    "advantage_min": np.full(N, -2.475),
    "advantage_max": np.full(N, 2.475),
    "response_length_max": np.full(N, 1024.0),
}
CANNOT = {
    "log-probs ≤ 0",
    "log-probs equal the library's log-softmax",
    "softmax sums to 1",
    "decoding keeps the content",
}


def checked(changes: dict[str, object] | None = None, config: dict[str, object] | None = None) -> dict[str, Invariant]:
    given = {**CONFIG, **(config or {})}
    values = {k: ConfigValue(v, k, "test") for k, v in given.items() if v is not None}
    look = look_at({**SANE, **(changes or {})}, config={k: v for k, v in given.items() if v is not None})  # type: ignore[arg-type]
    return {i.name: i for i in invariants(look, values)}


def test_a_sane_run_passes_what_a_log_can_show() -> None:
    found = checked()
    assert {n for n, i in found.items() if i.status == "unknown"} == CANNOT
    assert {i.status for n, i in found.items() if n not in CANNOT} == {"pass"}
    assert all(i.measured for n, i in found.items() if n not in CANNOT)
    assert all(i.how and i.stage in STAGES for i in found.values())


@pytest.mark.parametrize(
    ("name", "changes", "config"),
    [
        ("minimum ≤ mean ≤ maximum of the reward", {"score_max": np.full(N, 0.1)}, {}),
        ("advantages differ from 0 where rewards vary", TINY, {}),
        ("no advantage beyond what the group size allows", {"advantage_max": np.full(N, 4.0)}, {}),
        ("KL to the reference ≥ 0 (k3 estimator)", {"kl_ref": np.full(N, -0.01)}, {}),
        ("entropy ≥ 0", {"entropy": np.full(N, -0.2)}, {}),
        ("0 < clip range < 1", {}, {"clip_low": 0.0}),
        ("loss and gradient finite", {"grad_norm": [float("nan")] * N}, {}),
        ("shares lie in 0 to 1", {"response_clip_ratio": np.full(N, 3.0)}, {}),
        ("responses no longer than the limit", {"response_length_max": np.full(N, 2048.0)}, {}),
    ],
)  # fmt: skip
def test_a_violation_fails_alone(name: str, changes: dict[str, object], config: dict[str, object]) -> None:
    found = checked(changes, config)
    assert [n for n, i in found.items() if i.status == "fail"] == [name]


def test_unknown_is_not_passed() -> None:
    found = checked({k: [None] * N for k in SANE}, dict.fromkeys(CONFIG))
    assert {i.status for i in found.values()} == {"unknown"}


def test_advantages_in_units_of_the_reward_have_no_bound() -> None:
    found = checked({"advantage_max": np.full(N, 40.0)}, {"norm_adv_by_std": False})
    assert found["no advantage beyond what the group size allows"].status == "unknown"


def test_another_estimator_may_be_negative() -> None:
    found = checked({"kl_ref": np.full(N, -0.01)}, {"kl_estimator": "k1"})
    assert found["KL to the reference ≥ 0 (k3 estimator)"].status == "unknown"

"""Estimators of advantages, returns and KL in the forms that libraries have, and mistakes in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names


def marks(**names: Any) -> dict[str, str]:
    return {check.name: check.mark for check in verify(from_names(names)) if check.mark in ("!!", "?")}


def centred(rewards: Any, size: int) -> Any:
    rows = rewards.reshape(-1, size)
    return rows - rows.mean(1, keepdims=True)


def grpo(rewards: Any, size: int) -> Any:
    rows = centred(rewards, size)
    return (rows / (rows.std(1, ddof=1, keepdims=True) + 1e-6)).reshape(-1)


def whitened(values: Any) -> Any:
    return (values - values.mean()) / (values.std(ddof=1) + 1e-8)


def test_group_advantages_may_be_whitened_over_the_batch() -> None:
    assert marks(advantage=lambda r, n: whitened(grpo(r, n))) == {}


def test_centred_advantages_may_be_divided_by_their_unbiased_spread() -> None:
    assert marks(advantage=lambda r, n: whitened(centred(r, n).reshape(-1)), ADVANTAGE="group-batch") == {}


def test_a_scale_by_the_rewards_that_are_not_0_is_no_clip() -> None:
    def gpg(rewards: Any, size: int) -> Any:
        return centred(rewards, size).reshape(-1) * len(rewards) / np.count_nonzero(rewards)

    def clipped(rewards: Any, size: int) -> Any:
        return grpo(rewards, size).clip(-3, 3)

    assert marks(advantage=gpg) == {"one right answer of sixteen": "?"}
    assert marks(advantage=lambda r, n: 0.5 * grpo(r, n)) == {"estimator": "?"}
    assert marks(advantage=clipped)["one right answer of sixteen"] == "!!"


def test_a_group_without_variance_must_not_get_large_advantages() -> None:
    def rounded(rewards: Any, size: int) -> Any:
        rows = rewards.reshape(-1, size)
        off = rows - rows.mean(1, keepdims=True) * 1.00001
        return (off / (rows.std(1, keepdims=True) + 1e-8)).reshape(-1)

    assert marks(advantage=rounded)["advantages of a zero-variance group"] == "!!"


def test_rewards_that_are_changed_are_doubtful() -> None:
    def in_place(rewards: Any, size: int) -> Any:
        rewards[:] = grpo(rewards, size)
        return rewards

    assert marks(advantage=in_place) == {"rewards after the advantages": "?"}


def test_returns_may_be_those_of_another_lambda() -> None:
    def advantages(rewards: Any, values: Any, mask: Any, gamma: float, lam: float) -> Any:
        out, carried, following = np.zeros(rewards.shape), 0.0, 0.0
        for at in reversed(range(rewards.shape[1])):
            error = rewards[:, at] + gamma * following - values[:, at]
            out[:, at] = carried = (error + gamma * lam * carried) * mask[:, at]
            following = values[:, at] * mask[:, at]
        return out

    def decoupled(rewards: Any, values: Any, mask: Any, gamma: float, lam: float) -> Any:
        to_the_end = advantages(rewards, values, mask, gamma, 1.0) + values * mask
        return advantages(rewards, values, mask, gamma, lam), to_the_end

    assert set(marks(gae=decoupled).values()) == {"?"}


@pytest.mark.parametrize(
    "kl",
    [
        lambda p, r: np.exp(p) * (p - r),
        lambda p, r: np.exp(r) * (r - p),
        lambda p, r: np.exp(p) - np.exp(r),
        lambda p, r: np.maximum(p - r, 0),
        lambda p, r: 0.5 * (p**2 - r**2),
        lambda p, r: -2 * (p - r),
    ],
)
def test_wrong_estimators_of_kl_are_certain(kl: Callable[[Any, Any], Any]) -> None:
    assert marks(kl=kl) == {"KL estimator": "!!"}


@pytest.mark.parametrize(
    ("kl", "mark", "says"),
    [
        (lambda p, r: (p - r).sum(-1), "", "k1"),
        (lambda p, r: (p - r + np.exp(r - p) - 1 + p - r) / 2, "", "1 times the divergence"),
        (lambda p, r: 2 * (p - r), "?", "2 times the divergence"),
        (lambda p, r: np.exp(r - p) * (r - p), "?", "of the reference from the policy"),
    ],
)
def test_other_estimators_of_kl_are_measured(kl: Callable[[Any, Any], Any], mark: str, says: str) -> None:
    (found,) = (c for c in verify(from_names({"kl": kl})) if c.name == "KL estimator")
    assert found.mark == mark
    assert says in found.value

"""Policy losses and KL estimators: right ones of several algorithms pass, each wrong one is told in its own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names
from rltui.verify.check import Check
from tests.unit.verify.pipelines import kl, loss, pipeline

Token = Callable[[Any, Any], Any]


def of_tokens(token: Token, mean: str = "tokens", advantages: Callable[[Any], Any] = np.asarray) -> Callable[..., Any]:
    """A loss made of `token(ratio, advantage)`: the mean over tokens, over samples, over all places, or a fixed sum."""

    def made(log_probs: Any, old_log_probs: Any, values: Any, mask: Any) -> Any:
        new, old, kept = (np.asarray(a, dtype=np.float64) for a in (log_probs, old_log_probs, mask))
        each = token(np.exp(new - old), np.asarray(advantages(values))[:, None]) * kept
        if mean == "samples":
            return (each.sum(1) / np.maximum(kept.sum(1), 1)).mean()
        if mean == "places":
            return each.mean()
        return each.sum() / (kept.sum() if mean == "tokens" else 2048 * len(kept))

    return made


def clipped(low: float = 0.2, high: float = 0.2) -> Token:
    return lambda ratio, a: -np.minimum(ratio * a, np.clip(ratio, 1 - low, 1 + high) * a)


def reinforce(log_probs: Any, old_log_probs: Any, advantages: Any, mask: Any) -> Any:
    mask = np.asarray(mask)
    return -(np.asarray(log_probs) * np.asarray(advantages)[:, None] * mask).sum() / mask.sum()


def by_sequence(log_probs: Any, old_log_probs: Any, advantages: Any, mask: Any) -> Any:
    mask = np.asarray(mask, dtype=np.float64)
    apart = (np.asarray(log_probs, dtype=np.float64) - np.asarray(old_log_probs)) * mask
    return clipped(3e-4, 4e-4)(np.exp(apart.sum(1) / np.maximum(mask.sum(1), 1)), np.asarray(advantages)).mean()


def dual(ratio: Any, a: Any) -> Any:
    return np.where(a < 0, np.minimum(clipped()(ratio, a), -3 * a), clipped()(ratio, a))


def told(**changes: Any) -> dict[str, Check]:
    return {c.name: c for c in verify(pipeline(**changes)) if c.stage == "loss"}


@pytest.mark.parametrize(
    "right",
    [
        of_tokens(clipped()),
        of_tokens(clipped(0.2, 0.28), "samples"),
        of_tokens(clipped(), "fixed"),
        of_tokens(dual),
        reinforce,
        by_sequence,
    ],
)
def test_right_losses_pass(right: Any) -> None:
    assert {c.name: c.value for c in told(loss=right).values() if c.mark not in ("", "skip")} == {}


def early(log_probs: Any, old_log_probs: Any, advantages: Any, mask: Any) -> Any:
    mask = np.asarray(mask)
    return loss(log_probs, old_log_probs, advantages, np.pad(mask, ((0, 0), (0, 1)))[:, 1:])


WRONG: list[tuple[Any, str, str, str]] = [
    (of_tokens(clipped(), advantages=np.abs), "loss of bad samples", "!!", "falls by"),
    (of_tokens(clipped(), advantages=np.ones_like), "advantages in the loss", "!!", "does not depend on"),
    (of_tokens(clipped(), advantages=lambda a: np.roll(a, 1)), "advantages in the loss", "!!", "another sample"),
    (of_tokens(clipped(), advantages=lambda a: a - np.mean(a)), "advantages in the loss", "?", "whitening"),
    (of_tokens(clipped(), advantages=np.zeros_like), "advantages in the loss", "!!", "do not change the loss"),
    (early, "tokens in the loss", "!!", "3 of 13 tokens do not count: the last of each sample"),
    (of_tokens(clipped(), "places"), "length of the padding", "?", "padding is in the denominator"),
    (
        of_tokens(lambda r, a: -np.maximum(r * a, np.clip(r, 0.8, 1.2) * a)),
        "side of the clip",
        "!!",
        "moved the wrong way, and not",
    ),
    (of_tokens(lambda r, a: -np.clip(r, 0.8, 1.2) * a), "side of the clip", "!!", "no gradient brings them back"),
    (of_tokens(clipped(0.28, 0.2)), "clip range", "?", "1 − 0.28 to 1 + 0.2"),
    (of_tokens(lambda r, a: clipped()(1 / r, a)), "sign of the loss", "!!", "rises by"),
    (of_tokens(lambda r, a: clipped()(r / r, a)), "sign of the loss", "!!", "does not move when"),
]


@pytest.mark.parametrize(("wrong", "check", "mark", "words"), WRONG)
def test_wrong_losses_are_told(wrong: Any, check: str, mark: str, words: str) -> None:
    found = told(loss=wrong)[check]
    assert found.mark == mark
    assert words in found.value


@pytest.mark.parametrize(
    ("estimate", "mark", "words"),
    [
        (kl, "", "k3"),
        (lambda p, r: (p - r).mean(), "", "k1"),
        (lambda p, r: (p - r) ** 2 / 2, "", "k2"),
        (lambda p, r: r - p, "!!", "wrong sign"),
        (lambda p, r: kl(r, p), "!!", "swapped"),
        (lambda p, r: -kl(p, r), "!!", "k3 with the wrong sign"),
        (lambda p, r: np.exp(r - p) - 1, "!!", "without its linear part"),
        (lambda p, r: (p - r) ** 2, "?", "without the half"),
        (lambda p, r: np.tanh(p - r), "?", "not a known estimator"),
    ],
)
def test_an_estimator_of_the_kl_is_told_by_its_values(estimate: Any, mark: str, words: str) -> None:
    found = told(kl=estimate)["KL estimator"]
    assert found.mark == mark
    assert words in found.value


def test_a_kl_that_is_not_0_at_rest_is_wrong() -> None:
    assert told(kl=lambda p, r: np.abs(p - r) + 0.1)["KL of a policy from itself"].mark == "!!"


@pytest.mark.parametrize(("way", "words"), [(1, "one token too late"), (-1, "one token too early")])
def test_a_mask_that_is_shifted_is_told(way: int, words: str) -> None:
    def shifted(ids: Any, eos_id: int) -> Any:
        wide = np.pad(
            np.cumsum(np.asarray(ids) == eos_id, axis=1) - (np.asarray(ids) == eos_id), ((0, 0), (1, 1)), mode="edge"
        )
        return (np.roll(wide, way, axis=1)[:, 1:-1] == 0).astype(np.int64)

    assert words in told(completion_mask=shifted)["completion mask"].value


@pytest.mark.parametrize(
    ("centre", "spread", "mark", "words"),
    [
        ("group", "group", "", "by mean and spread of the group"),
        ("group", "none", "", "by the mean of the group alone"),
        ("group", "batch", "!!", "the spread of the batch: if that is meant, say ADVANTAGE = 'group-batch'"),
        ("batch", "batch", "!!", "of the whole batch: if that is meant, say ADVANTAGE = 'batch'"),
    ],
)
def test_a_group_that_is_changed_by_another(centre: str, spread: str, mark: str, words: str) -> None:
    def advantage(rewards: Any, group: int) -> Any:
        rows = np.asarray(rewards, dtype=np.float64).reshape(-1, group)
        off = rows - (rows.mean(1, keepdims=True) if centre == "group" else rows.mean())
        by = rows.std(1, keepdims=True) if spread == "group" else rows.std() if spread == "batch" else 1.0
        return (off / (by + 1e-6)).reshape(-1)

    found = next(c for c in verify(from_names({"advantage": advantage})) if c.name == "estimator")
    assert found.mark == mark
    assert words in found.value

"""What weighs a token in the policy loss: its advantage and the length of its answer, not how likely it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names
from rltui.verify.check import Check

Loss = Callable[[Any, Any, Any, Any], Any]


def _mean(each: Any, mask: Any) -> Any:
    return (each * mask).sum() / mask.sum()


def ppo(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    ratio, each = np.exp(new - old), advantages[:, None]
    return _mean(-np.minimum(ratio * each, np.clip(ratio, 0.8, 1.2) * each), mask)


def gspo(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    ratio = np.exp(((new - old) * mask).sum(1) / np.maximum(mask.sum(1), 1))
    return -np.minimum(ratio * advantages, np.clip(ratio, 1 - 3e-4, 1 + 4e-4) * advantages).mean()


def rounded(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    """In steps of 1/16, as bfloat16 has them at -12, with the gradient of what is not rounded."""
    steps = np.round(new * 16) / 16 - np.round(old * 16) / 16
    return _mean(-np.exp(steps) * (1 + (new - old)) * advantages[:, None], mask)


def by_answer(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    return (-(np.exp(new - old) * advantages[:, None] * mask).sum(1) / np.maximum(mask.sum(1), 1)).sum()


def by_first_length(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    return (-(np.exp(new - old) * advantages[:, None] * mask).sum(1) / np.maximum(mask[0].sum(), 1)).mean()


def by_lengths(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    """Right for answers that begin at the first place and have no holes."""
    kept = np.arange(mask.shape[1])[None] < mask.sum(1, keepdims=True)
    return _mean(-np.exp(new - old) * advantages[:, None], kept)


def empty_answers(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return (-(np.exp(new - old) * advantages[:, None] * mask).sum(1) / mask.sum(1)).mean()


def marked(loss: Loss) -> dict[str, Check]:
    return {check.name: check for check in verify(from_names({"loss": loss})) if check.mark in ("!!", "?")}


@pytest.mark.parametrize("loss", [ppo, gspo, lambda n, o, a, m: _mean(-n * a[:, None], m)])
def test_right_losses_weigh_by_advantages_alone(loss: Loss) -> None:
    assert marked(loss) == {}


@pytest.mark.parametrize(
    ("loss", "name", "mark"),
    [
        (lambda n, o, a, m: _mean(-np.exp(n) * a[:, None], m), "likely and unlikely tokens", "!!"),
        (lambda n, o, a, m: _mean(-(n + np.exp(o) * n) * a[:, None], m), "likely and unlikely tokens", "?"),
        (rounded, "likely and unlikely tokens", "!!"),
        (lambda n, o, a, m: ppo(n, o, np.clip(a, -1, 1), m), "size of the advantages", "!!"),
        (lambda n, o, a, m: ppo(n, o, a / np.abs(a).max(), m), "size of the advantages", "?"),
        (by_lengths, "masks with holes", "?"),
        (by_first_length, "order of the answers", "!!"),
        (by_answer, "weight of a token", "?"),
        (empty_answers, "an answer without tokens", "?"),
    ],
)
def test_other_weights_are_seen(loss: Loss, name: str, mark: str) -> None:
    assert {name: mark}.items() <= {check.name: check.mark for check in marked(loss).values()}.items()

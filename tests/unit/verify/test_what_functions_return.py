"""What trainers return beside a result is no fault: statistics, more arrays, another kind of list."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names


def loss(new: Any, old: Any, advantages: Any, mask: Any) -> Any:
    return -(np.exp(new - old) * advantages[:, None] * mask).sum() / mask.sum()


def advantage(rewards: Any, size: int) -> Any:
    rows = rewards.reshape(-1, size)
    return (rows - rows.mean(1, keepdims=True)).reshape(-1)


def texts(ids: Any, tokenizer: Any) -> list[str]:
    return list(tokenizer.batch_decode(ids, skip_special_tokens=True))


NAMES: dict[str, dict[str, Any]] = {
    "a loss and its statistics": {"loss": lambda *given: (loss(*given), {"ratio": 1.0})},
    "a number and its statistics": {"loss": lambda *given: (float(loss(*given)), {"ratio": 1.0})},
    "a loss with an axis": {"loss": lambda *given: np.array([loss(*given)])},
    "advantages and returns": {"advantage": lambda r, n: (advantage(r, n), advantage(r, n))},
    "advantages and means": {"advantage": lambda r, n: (advantage(r, n), r.reshape(-1, n).mean(1))},
    "an array of texts": {"decode": lambda ids, t: np.array(texts(ids, t))},
    "texts one by one": {"decode": lambda ids, t: (text for text in texts(ids, t))},
}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_taken(name: str) -> None:
    assert [f"{c.name}: {c.value}" for c in verify(from_names(NAMES[name])) if c.mark == "!!"] == []


def test_a_loss_of_each_token_is_not_one_number() -> None:
    found = verify(from_names({"loss": lambda new, old, a, mask: (new - old) * mask}))
    assert any("the loss must be one" in c.value for c in found if c.mark == "!!")

"""Completion masks on every kind of ending, and log-probs of unlikely tokens and their gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names
from rltui.verify.check import Check


def _upto(ids: Any, last: Any) -> Any:
    return np.arange(ids.shape[1])[None] <= last[:, None]


def last_end(ids: Any, eos: int) -> Any:
    back = np.argmax((ids == eos)[:, ::-1], axis=1)
    return _upto(ids, np.where((ids == eos).any(1), ids.shape[1] - 1 - back, ids.shape[1]))


def empty_is_endless(ids: Any, eos: int) -> Any:
    first = np.argmax(ids == eos, axis=1)
    return _upto(ids, np.where(first == 0, ids.shape[1], first))


def first_end(ids: Any, eos: int) -> Any:
    ends = ids == eos
    return np.cumsum(ends, axis=1) - ends == 0


MASKS: dict[str, Callable[[Any, int], Any]] = {
    "all but padding": lambda ids, eos: ids != 0,
    "the last end": last_end,
    "an end at the first place is none": empty_is_endless,
    "an end of its own": lambda ids, eos: first_end(ids, 2),
}


def told(**names: Any) -> list[Check]:
    return [c for c in verify(from_names(names)) if c.mark in ("!!", "?")]


@pytest.mark.parametrize("fault", MASKS)
def test_a_wrong_mask_is_certain(fault: str) -> None:
    assert [c.mark for c in told(completion_mask=MASKS[fault])] == ["!!"]


def test_answers_without_an_end_may_be_left_out() -> None:
    (found,) = told(completion_mask=lambda ids, eos: first_end(ids, eos) * (ids == eos).any(1, keepdims=True))
    assert found.mark == "?"
    assert "overlong" in found.value


def test_unlikely_tokens_have_log_probs() -> None:
    def clamped(logits: Any, index: Any) -> Any:
        shares = np.exp((logits - logits.max(-1, keepdims=True)).astype(np.float64))
        table = np.log(np.maximum(shares / shares.sum(-1, keepdims=True), 1e-30))
        return np.take_along_axis(table, index[..., None], -1)[..., 0]

    assert [c.name for c in told(log_softmax=clamped) if c.mark == "!!"] == ["large logits"]


@pytest.mark.parametrize("detached", ["chosen", "sum"])
def test_a_detached_part_of_the_log_probs_is_certain(detached: str) -> None:
    torch = pytest.importorskip("torch")

    def log_softmax(logits: Any, index: Any) -> Any:
        chosen, total = logits.float().gather(-1, index[..., None]).squeeze(-1), logits.float().logsumexp(-1)
        return chosen.detach() - total if detached == "chosen" else chosen - total.detach()

    found = told(log_softmax=log_softmax, torch=torch)
    assert [c.name for c in found if c.mark == "!!"] == ["gradient of the log-probs"]

"""Training pipelines for tests: a right one, and the same with one mistake each."""

from __future__ import annotations

from typing import Any

import numpy as np

from rltui.verify.adapters import Adapters, from_names


def log_softmax(logits: Any, index: Any) -> Any:
    z = np.asarray(logits, dtype=np.float64)
    z = z - z.max(-1, keepdims=True)
    table = z - np.log(np.exp(z).sum(-1, keepdims=True))
    return np.take_along_axis(table, np.asarray(index)[..., None], -1)[..., 0]


def in_groups(rewards: Any, group: int, epsilon: float = 1e-4) -> Any:
    rows = np.asarray(rewards).reshape(-1, group)
    return ((rows - rows.mean(1, keepdims=True)) / (rows.std(1, keepdims=True) + epsilon)).reshape(-1)


def by_stride(rewards: Any, group: int) -> Any:
    columns = np.asarray(rewards).reshape(group, -1)
    return ((columns - columns.mean(0)) / (columns.std(0) + 1e-4)).reshape(-1)


def decode(ids: Any, tokenizer: Any) -> list[str]:
    out = []
    for text in tokenizer.batch_decode(ids, skip_special_tokens=True):
        before, mark, after = text.partition("</think>")
        out.append(after.strip() if mark else "" if "<think>" in before else before.strip())
    return out


def completion_mask(ids: Any, eos_id: int) -> Any:
    ids = np.asarray(ids)
    ended = np.cumsum(ids == eos_id, axis=1) - (ids == eos_id)
    return (ended == 0).astype(np.int64)


def loss(log_probs: Any, old_log_probs: Any, advantages: Any, mask: Any) -> Any:
    log_probs, old, mask = (np.asarray(a, dtype=np.float64) for a in (log_probs, old_log_probs, mask))
    ratio = np.exp(log_probs - old)
    each = np.asarray(advantages)[:, None]
    token = -np.minimum(ratio * each, np.clip(ratio, 0.8, 1.2) * each)
    return (token * mask).sum() / mask.sum()


def kl(log_probs: Any, ref_log_probs: Any) -> Any:
    apart = np.asarray(ref_log_probs, dtype=np.float64) - np.asarray(log_probs, dtype=np.float64)
    return np.exp(apart) - apart - 1


RIGHT: dict[str, Any] = {
    "log_softmax": log_softmax,
    "advantage": in_groups,
    "decode": decode,
    "completion_mask": completion_mask,
    "loss": loss,
    "kl": kl,
    "REASONING": ("<think>", "</think>"),
}


def pipeline(**changes: Any) -> Adapters:
    return from_names({**RIGHT, **changes})

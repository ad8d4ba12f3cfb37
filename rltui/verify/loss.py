"""Probes of the completion mask and of the policy loss: what is padding must not count, what is good must lower it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, guarded

STAGE = "loss"
EOS_ID = 2
MOVED = 1e-7
IDS = np.array([[5, 6, EOS_ID, 0, 0], [7, 8, 9, 4, EOS_ID], [5, 4, 3, 6, 7]])
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]])


def mask_probes(adapters: Adapters) -> Iterator[Check]:
    """`completion_mask(ids, eos_id)`: ones up to and including the first eos."""
    yield from guarded(STAGE, "completion mask", partial(_mask, adapters))


def _mask(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["completion_mask"]
    assert function is not None
    got = plain(function(adapters.array(IDS, "int64"), EOS_ID))
    if got.shape != MASK.shape:
        raise ValueError(f"shape {got.shape} for ids of shape {MASK.shape}")
    same = bool((got == MASK).all())
    hint = "" if same else ": inverted" if (got == 1 - MASK).all() else _hint(got)
    others = ", but others" if not same and got.sum() == MASK.sum() else ""
    value = f"{int(got.sum())} of {MASK.size} tokens count, expected {int(MASK.sum())}{others}{hint}"
    yield Check(STAGE, "completion mask", "" if same else "!!", value, "up to and including the first eos (none: all)")


def _hint(got: Floats) -> str:
    without_eos = MASK * (IDS != EOS_ID)
    return ": the eos itself is masked, it is never learnt" if (got == without_eos).all() else ""


def loss_probes(adapters: Adapters) -> Iterator[Check]:
    """`loss(log_probs, old_log_probs, advantages, mask)`: one number, lower is better."""
    yield from guarded(STAGE, "loss", partial(_loss, adapters))


def _loss(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["loss"]
    assert function is not None
    old = np.full(MASK.shape, -1.0)
    advantages = np.array([1.0, 0.5, 0.25])

    def ask(change: Floats) -> float:
        arrays = (adapters.array(old + change), adapters.array(old), adapters.array(advantages))
        return float(plain(function(*arrays, adapters.array(MASK))))

    still = ask(np.zeros(MASK.shape))
    finite = bool(np.isfinite(still))
    yield Check(STAGE, "loss is finite", "" if finite else "!!", f"{still:.5f}", "log-probs all -1, advantages above 0")
    likelier = ask(0.05 * MASK) - still
    word = "falls" if likelier < -MOVED else "rises" if likelier > MOVED else "does not move"
    value = f"{word} by {abs(likelier):.4g} when good tokens become likelier"
    yield Check(STAGE, "sign of the loss", "" if likelier < -MOVED else "!!", value, "it must fall")
    padding = abs(ask(0.05 * (1 - MASK)) - still)
    value = f"moves by {padding:.4g} when padding changes"
    yield Check(STAGE, "mask in the loss", "" if padding <= MOVED else "!!", value, "padding must not count")

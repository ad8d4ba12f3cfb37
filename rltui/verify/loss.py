"""Probes of the inputs to the loss: the log-softmax, and the completion mask (padding must not count)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded

LOG_PROBS = "log-probs"
POSITIVE = 1e-6
REFERENCE = 1e-3
HALF_DOUBT, HALF_WRONG = 0.02, 0.2
"""Largest errors in half precision. It keeps 11 bits: rounding changes a log-probability near -10 by 0.005. The sum
loses more."""
LOSS = "loss"
EOS_ID = 2
ENDINGS = np.array(
    [
        [5, 6, EOS_ID, 0, 0],
        [7, 8, 9, 4, EOS_ID],
        [5, 4, 3, 6, 7],
        [EOS_ID, 0, 0, 0, 0],
        [5, 8, EOS_ID, EOS_ID, EOS_ID],
        [5, 0, 6, EOS_ID, 0],
        [4, 6, EOS_ID, 7, EOS_ID],
    ]
)
KINDS = (
    *("an answer with padding", "an answer of full length", "an answer without an end", "an empty answer"),
    *("padding by the eos", "an answer with the token of the padding in it", "tokens behind the end"),
)
"""How the answers of `ENDINGS` end."""
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]])


def reference(logits: Floats) -> Floats:
    """The log-softmax over the last axis in float64."""
    shifted = logits - logits.max(-1, keepdims=True)
    result: Floats = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return result


def _chosen(table: Floats, index: np.ndarray) -> Floats:
    return np.take_along_axis(table, index[..., None], -1)[..., 0]


def log_prob_probes(adapters: Adapters) -> Iterator[Check]:
    """All probes of `log_softmax(logits, index)`."""
    for name, probe in (
        ("log-probs ≤ 0", _bounds),
        ("equal to the reference", _against_reference),
        ("near-one-hot logits", _concentrated),
        ("probabilities sum to 1", _sum),
        ("large logits", _large),
        ("gradient of the log-probs", _gradient),
        ("half precision", _half),
    ):
        yield from guarded(LOG_PROBS, name, partial(probe, adapters, name))


def _ask(adapters: Adapters, logits: Floats, index: np.ndarray, kind: str = "float32") -> Floats:
    function = adapters.functions["log_softmax"]
    assert function is not None
    got = plain(function(adapters.array(logits, kind), adapters.array(index, "int64")))
    if got.shape != index.shape:
        raise ValueError(f"got shape {got.shape} for an index of shape {index.shape}")
    return got


def _bounds(adapters: Adapters, name: str) -> Iterator[Check]:
    rng = np.random.default_rng(17)
    logits, index = rng.normal(size=(5, 9, 64)), rng.integers(0, 64, size=(5, 9))
    top = float(_ask(adapters, logits, index).max())
    wrong = not top <= POSITIVE
    yield Check(LOG_PROBS, name, "!!" if wrong else "", f"largest {top:.3g}", "a probability is at most 1 (1e-6)")


def _against_reference(adapters: Adapters, name: str) -> Iterator[Check]:
    rng = np.random.default_rng(29)
    logits, index = rng.normal(size=(2, 7, 16)), rng.integers(0, 16, size=(2, 7))
    table = reference(logits.astype(np.float32).astype(np.float64))
    got, expected = _ask(adapters, logits, index), _chosen(table, index)
    off = float(np.abs(got - expected).max())
    wrong = not off <= REFERENCE
    hint = _what(got, table, index, expected) if wrong else ""
    yield Check(
        LOG_PROBS, name, "!!" if wrong else "", f"largest difference {off:.3g}{hint}", "log-softmax in float64, 1e-3"
    )
    for i, (a, b) in enumerate(zip(got.flat[:4], expected.flat[:4], strict=True)):
        mark: Mark = "" if abs(a - b) <= REFERENCE else "?"
        yield Check(LOG_PROBS, f"token {i}", mark, f"got {a:.5f}, expected {b:.5f}")


def _what(got: Floats, table: Floats, index: np.ndarray, expected: Floats) -> str:
    """The common mistake that explains the numbers; empty if none does."""
    guesses = {
        "the sign is flipped": -expected,
        "off by one token to the left": _chosen(np.roll(table, 1, axis=1), index),
        "off by one token to the right": _chosen(np.roll(table, -1, axis=1), index),
        "probabilities, not their logarithm": np.exp(expected),
    }
    return next((f": {word}" for word, guess in guesses.items() if np.abs(got - guess).max() <= REFERENCE), "")


def _concentrated(adapters: Adapters, name: str) -> Iterator[Check]:
    got = _ask(adapters, np.array([[8.0, 2.0, -1.0]] * 3), np.arange(3))
    for token, value in enumerate(got):
        yield Check(LOG_PROBS, f"{name}, token {token}", "", f"{value:.5f}", "logits 8, 2, -1")
    wrong = not (abs(got[0]) < 0.1 and got[0] == got.max())
    yield Check(LOG_PROBS, name, "!!" if wrong else "", f"dominant token {got[0]:.5f}", "near 0, not near the minimum")


def _sum(adapters: Adapters, name: str) -> Iterator[Check]:
    logits = np.tile(np.random.default_rng(31).normal(size=16) * 2, (16, 1))
    total = float(np.exp(_ask(adapters, logits, np.arange(16))).sum())
    yield Check(
        LOG_PROBS, name, "!!" if not abs(total - 1) <= REFERENCE else "", f"{total:.6f}", "over all 16 tokens, 1e-3"
    )


def _large(adapters: Adapters, name: str) -> Iterator[Check]:
    row = np.array([1000.0, 999.0, 0.0])
    got = _ask(adapters, np.tile(row, (3, 1)), np.arange(3))
    wrong = not float(np.abs(got - reference(row)).max()) <= REFERENCE
    shown = ", ".join(f"{value:.4f}" for value in got)
    how = "logits 1000, 999, 0: -0.3133, -1.3133, -1000.3133"
    yield Check(LOG_PROBS, name, "!!" if wrong else "", shown, how)


def _gradient(adapters: Adapters, name: str) -> Iterator[Check]:
    """Each logit must be pushed by the chosen token's share less its own probability."""
    how = "by autograd: 1 for the chosen token, less the probabilities"
    if adapters.backend != "torch":
        yield Check(LOG_PROBS, name, "skip", "only the values are known: the function takes no torch tensors", how)
        return
    function = adapters.functions["log_softmax"]
    assert function is not None
    rng = np.random.default_rng(41)
    logits, index, weights = rng.normal(size=(2, 5, 16)), rng.integers(0, 16, size=(2, 5)), rng.normal(size=(2, 5))
    held = adapters.array(logits).requires_grad_(True)
    got = function(held, adapters.array(index, "int64"))
    if not got.requires_grad:
        yield Check(LOG_PROBS, name, "skip", "none: right for an old policy or a reference, not for the policy", how)
        return
    (got * adapters.array(weights)).sum().backward()
    wanted = (np.eye(16)[index] - np.exp(reference(logits))) * weights[..., None]
    off = float(np.abs(plain(held.grad) - wanted).max()) if held.grad is not None else np.inf
    what = ": a part of it is detached" if off > REFERENCE else ""
    yield Check(LOG_PROBS, name, "!!" if what else "", f"largest difference {off:.3g}{what}", how)


def _half(adapters: Adapters, name: str) -> Iterator[Check]:
    if adapters.backend == "list":
        yield Check(LOG_PROBS, name, "skip", "plain lists have no half precision")
        return
    rng = np.random.default_rng(37)
    logits = (rng.normal(size=(2, 3, 4096)) * 3).astype(np.float16).astype(np.float64)
    index = rng.integers(0, 4096, size=(2, 3))
    got = _ask(adapters, logits, index, "float16")
    off = float(np.abs(got - _chosen(reference(logits), index)).max())
    mark: Mark = "!!" if not off <= HALF_WRONG else "?" if off > HALF_DOUBT else ""
    yield Check(
        LOG_PROBS, name, mark, f"largest difference {off:.3g}", "4096 tokens in float16: cast to float32 before the sum"
    )


def mask_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `completion_mask(ids, eos_id)`: ones up to and including the first eos."""
    yield from guarded(LOSS, "completion mask", partial(_mask, adapters))


def _mask(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["completion_mask"]
    assert function is not None
    name, how = "completion mask", "up to and including the first eos (none: all)"
    for shift in (0, 1):  # of all numbers: the end is where the function is told that it is
        ids, eos = ENDINGS + shift, EOS_ID + shift
        ended = np.cumsum(ids == eos, axis=1)
        wanted = (ended - (ids == eos) == 0).astype(int)
        got = plain(function(adapters.array(ids, "int64"), eos))
        if got.shape != wanted.shape:
            raise ValueError(f"shape {got.shape} for ids of shape {wanted.shape}")
        if (got != wanted).any():
            break
    same, cut = bool((got == wanted).all()), bool((got == wanted * (ended[:, -1:] > 0)).all())
    hint = "" if same else _hint(got, wanted, ids == eos)
    value = f"{int(got.sum())} of {wanted.size} tokens count, expected {int(wanted.sum())}{hint}"
    mark: Mark = "" if same else "?" if cut else "!!"
    yield Check(LOSS, name, mark, value, how)


def _hint(got: Floats, wanted: Floats, ends: np.ndarray) -> str:
    """The usual mistake that explains the mask; empty if none does."""
    inner = slice(1, -1)
    guesses = {
        "inverted": got == 1 - wanted,
        "answers without an end do not count, as in overlong filtering": got == wanted * ends.any(1, keepdims=True),
        "the eos itself is masked, so it is never learned": got == wanted * ~ends,
        "the mask is one token too late": got[:, inner] == np.roll(wanted, 1, axis=1)[:, inner],
        "the mask is one token too early": got[:, inner] == np.roll(wanted, -1, axis=1)[:, inner],
    }
    told = next((words for words, hit in guesses.items() if hit.all()), "")
    if told:
        return f": {told}"
    rows = (got != wanted).any(1)
    return f": wrong for {', '.join(kind for kind, bad in zip(KINDS, rows, strict=True) if bad)}"

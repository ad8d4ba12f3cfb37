"""Probes of the other models: the reference must not change while the policy is trained, and the sampler must give the
log-probs that the trainer computes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded

STAGE = "log-probs"
STILL = 1e-6
APART_DOUBT, APART_WRONG = 0.02, 0.1
"""Mean difference in nats between two engines with the same weights. bfloat16 kernels cause about 0.01 (verl's guide to
its rollout gap). Far more means other weights, another temperature or another token."""
UPDATES = 3


def reference_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `reference()`. It returns three functions without arguments: one for log-probs of the policy, one for
    log-probs of the reference on the same tokens, and one that makes one update of the policy."""
    yield from guarded(STAGE, "reference", partial(_reference, adapters))


def _reference(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["reference"]
    assert function is not None
    held = function()
    if not (isinstance(held, tuple | list) and len(held) == 3 and all(map(callable, held))):
        raise TypeError("reference() must give (policy_log_probs, reference_log_probs, update), three functions")
    policy, reference, update = held
    first, own = reference(), plain(policy())
    before = plain(first).copy()
    if own.shape != before.shape:
        raise ValueError(f"policy of shape {own.shape}, reference of shape {before.shape}")
    if getattr(first, "requires_grad", False):
        yield Check(STAGE, "gradient of the reference", "!!", "it carries one: the loss would train it", "no_grad")
    start = float(np.abs(own - before).max())
    mark: Mark = "" if start <= APART_DOUBT else "!!"
    yield Check(STAGE, "policy and reference before an update", mark, f"{start:.3g} apart", "the same weights: 0")
    for _ in range(UPDATES):
        update()
    moved, stood = float(np.abs(plain(policy()) - own).max()), float(np.abs(plain(reference()) - before).max())
    how = f"after {UPDATES} updates"
    mark = "" if moved > STILL else "!!"
    yield Check(STAGE, "the policy moves", mark, f"by {moved:.3g}" if moved > STILL else "not at all", how)
    value = f"by {stood:.3g}: it shares the policy's weights, or is trained" if stood > STILL else "not at all"
    yield Check(STAGE, "the reference stands still", "!!" if stood > STILL else "", f"it moved {value}", how)


def sampler_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `sampler_log_probs()`. It returns log-probs of the same sampled tokens from the sampler and from the
    trainer, and their mask, (B, T) each."""
    yield from guarded(STAGE, "sampler and trainer", partial(_sampler, adapters))


def _sampler(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["sampler_log_probs"]
    assert function is not None
    held = function()
    if not (isinstance(held, tuple | list) and len(held) == 3):
        raise TypeError("sampler_log_probs() must give (of the sampler, of the trainer, mask)")
    yield from compared(*(plain(_matrix(one)) for one in held))


def compared(sampler: Floats, trainer: Floats, mask: Floats) -> Iterator[Check]:
    """How far the log-probs of sampler and trainer differ on tokens with mask 1. All three arrays are (B, T)."""
    if not sampler.shape == trainer.shape == mask.shape:
        raise ValueError(f"shapes {sampler.shape}, {trainer.shape} and {mask.shape} differ")
    on = mask > 0
    if not on.any():
        raise ValueError("the mask is 0 everywhere")
    for name, values in (("sampler", sampler), ("trainer", trainer)):
        top = float(values[on].max())
        mark: Mark = "" if top <= 1e-4 else "!!"
        yield Check(STAGE, f"log-probs of the {name}", mark, f"largest {top:.3g}", "a probability is at most 1")
    apart = np.abs(sampler - trainer)[on]
    mean, most = float(apart.mean()), float(apart.max())
    mark = "!!" if not mean <= APART_WRONG else "?" if mean > APART_DOUBT else ""
    hint = _hint(sampler, trainer, on) if mark else ""
    value = f"{mean:.3g} nats apart in the mean, {most:.3g} at most{hint}"
    yield Check(STAGE, "sampler and trainer", mark, value, f"the same weights and tokens: below {APART_DOUBT:g}")


def _matrix(values: Any) -> Any:
    """The values as an array with two axes, even if there is only one answer."""
    found = plain(values)
    return found[None] if found.ndim == 1 else found


def _hint(sampler: Floats, trainer: Floats, on: np.ndarray) -> str:
    """The common mistake that explains the difference, or else a list of other causes."""

    def near(a: Floats, b: Floats, where: np.ndarray) -> bool:
        return bool(where.any()) and float(np.abs(a - b)[where].mean()) <= APART_DOUBT

    if near(-sampler, trainer, on):
        return ": the sign is turned"
    if near(np.exp(trainer), sampler, on) or near(np.exp(sampler), trainer, on):
        return ": one of them is a probability, not its logarithm"
    if near(sampler * np.log(2), trainer, on) or near(sampler * np.log(10), trainer, on):
        return ": the sampler's logarithm has another base"
    inner = on[:, 1:] & on[:, :-1]
    for words, a, b in (
        ("late", sampler[:, 1:], trainer[:, :-1]),
        ("early", sampler[:, :-1], trainer[:, 1:]),
    ):
        if near(a, b, inner):
            return f": the sampler's are one token too {words}"
    if len(sampler) > 1:
        for by in range(1, len(sampler)):
            if near(np.roll(sampler, by, axis=0), trainer, on & np.roll(on, by, axis=0)):
                return ": the answers are in another order"
    return ": other weights, another temperature, or a filter (top-p, top-k) in one of them"

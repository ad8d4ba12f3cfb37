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
SHARE = 0.3
"""Of the mean log-prob of a sure policy, whose log-probs are all near 0: a distance above it is doubtful too."""
CLOSER = 0.4
"""Of the distance: what another place leaves of it, if they were misplaced."""
ANSWERS = 4
"""Fewer answers, or tokens in one, say nothing of their first and last tokens."""
MOST, HALF = 64, 0.5
"""Answers that are looked for among all others, and the share of them that must be found elsewhere."""
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
        told = f"largest {top:.3g}"
        if not values[on].any():
            mark, told = "!!", "all are 0: they were never filled in"
        yield Check(STAGE, f"log-probs of the {name}", mark, told, "a probability is at most 1")
    apart = np.abs(sampler - trainer)
    mean, most = float(apart[on].mean()), float(apart[on].max())
    at_ends = _at_ends(apart, on)
    doubtful = mean > APART_DOUBT or mean > SHARE * float(np.abs(trainer[on]).mean())
    mark = "!!" if not mean <= APART_WRONG or at_ends else "?" if doubtful else ""
    hint = at_ends or (_hint(sampler, trainer, on) if mark else "")
    value = f"{mean:.3g} nats apart in the mean, {most:.3g} at most{hint}"
    yield Check(STAGE, "sampler and trainer", mark, value, f"the same weights and tokens: below {APART_DOUBT:g}")


def _matrix(values: Any) -> Any:
    """The values as an array with two axes, even if there is only one answer."""
    found = plain(values)
    return found[None] if found.ndim == 1 else found


def misplaced(a: Floats, b: Floats, on: np.ndarray) -> str:
    """How the log-probs `a` are turned or moved against `b`; empty if they are not, or no such way brings them closer.
    (B, T) each."""
    apart = float(np.abs(a - b)[on].mean())
    limit = max(APART_DOUBT, CLOSER * apart)
    if not APART_WRONG < apart < np.inf:
        return ""

    def near(one: Floats, other: Floats, where: np.ndarray) -> bool:
        return bool(where.any()) and float(np.abs(one - other)[where].mean()) <= limit

    if near(-a, b, on):
        return "log-probs have the sign turned"
    inner = on[:, 1:] & on[:, :-1]
    for words, one, other in (("late", a[:, 1:], b[:, :-1]), ("early", a[:, :-1], b[:, 1:])):
        if near(one, other, inner):
            return f"log-probs are one token too {words}"
    return "log-probs are those of the answers in another order" if _reordered(a, b, on, limit) else ""


def _reordered(a: Floats, b: Floats, on: np.ndarray, limit: float) -> bool:
    """Whether most answers of `b` are close to another answer of `a` than their own."""
    rows = np.flatnonzero(on.sum(1) >= ANSWERS)[:MOST]
    own, apart = np.arange(len(a)), []
    for row in rows:
        shared = on[row] & on
        off = np.where(shared, np.abs(a - b[row]), 0.0).sum(1) / np.maximum(shared.sum(1), 1)
        apart.append(np.where(shared.sum(1) >= ANSWERS, off, np.inf))
    if not apart:
        return False
    table = np.array(apart)
    other = table.argmin(1) != own[rows]
    return bool(other.mean() > HALF) and float(np.median(table.min(1))) <= limit


def _hint(sampler: Floats, trainer: Floats, on: np.ndarray) -> str:
    """The common mistake that explains the difference, or else a list of other causes."""

    def near(a: Floats, b: Floats) -> bool:
        return float(np.abs(a - b)[on].mean()) <= APART_DOUBT

    moved = misplaced(sampler, trainer, on)
    if moved:
        return f": the sampler's {moved}"
    if near(np.exp(trainer), sampler) or near(np.exp(sampler), trainer):
        return ": one of them is a probability, not its logarithm"
    if near(sampler * np.log(2), trainer) or near(sampler * np.log(10), trainer):
        return ": the sampler's logarithm has another base"
    return ": other weights, another temperature, or a filter (top-p, top-k) in one of them"


def _at_ends(apart: Floats, on: np.ndarray) -> str:
    """Whether the first or the last token of the answers lies apart, and the others do not; empty if not."""
    rows = np.flatnonzero(on.sum(1) >= ANSWERS)
    if len(rows) < ANSWERS:
        return ""
    ends = {"first": on.argmax(1)[rows], "last": on.shape[1] - 1 - on[:, ::-1].argmax(1)[rows]}
    for words, places in ends.items():
        others = on.copy()
        others[rows, places] = False
        own, rest = float(np.median(apart[rows, places])), float(apart[others].mean())
        if own > APART_WRONG and rest <= APART_DOUBT:
            return f": the {words} token of the answers is {own:.2g} apart, the others {rest:.2g}"
    return ""

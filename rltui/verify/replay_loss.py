"""The loss and the KL term of one dumped batch, recomputed in float64 in each way that trainers sum them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import product

import numpy as np

from rltui.verify.adapters import Floats
from rltui.verify.batch import DumpedBatch
from rltui.verify.check import Check

SUMMED = 3e-4
"""Relative difference of a sum over all tokens in bfloat16 logs and float64: rounding averages out."""
STRICT = 4.0
"""There are many other losses, and one may come close by chance: they must come closer."""
CLIP, DUAL, CAP = 0.2, 3.0, 2.0
"""The usual clip range, the bound of a dual clip, and that of truncated weights of the sampler."""
FAR = 20.0
Total = Callable[[Floats, Floats], float]
TOKENS = "the mean over all tokens"
AGGREGATIONS: Mapping[str, Total] = {
    TOKENS: lambda x, m: float((x * m).sum() / m.sum()),
    "the mean of the answers' means": lambda x, m: float(((x * m).sum(1) / np.maximum(m.sum(1), 1)).mean()),
    "the mean of the answers' sums": lambda x, m: float((x * m).sum(1).mean()),
    "the answers' sums over a fixed length": lambda x, m: float((x * m).sum(1).mean() / x.shape[1]),
}
PENALTIES: Mapping[str, Callable[[Floats], Floats]] = {
    "k1": lambda d: d,
    "k2": lambda d: d**2 / 2,
    "k3": lambda d: np.exp(-d) - 1 + d,
    "the absolute difference": np.abs,
}
"""Of the log-ratio of policy and reference: the estimators of Schulman (2020), and what verl calls abs."""


def mask_of(batch: DumpedBatch) -> Floats:
    """The mask, or ones in the shape of what it is for."""
    held = batch.get("mask")
    if held is not None:
        return held
    shaped = next((batch.held[name] for name in ("log_probs", "old_log_probs") if name in batch.held), None)
    return np.ones((1, 1)) if shaped is None else np.ones_like(shaped)


def _totals(batch: DumpedBatch) -> Mapping[str, Total]:
    """The ways to sum tokens; that over the longest answer allowed, if the batch says how long that is."""
    longest = batch.number("max_length")
    if not longest:
        return AGGREGATIONS
    return {
        **AGGREGATIONS,
        f"the answers' sums over the longest allowed, {longest:g}": lambda x, m: float((x * m).sum(1).mean() / longest),
    }


def _pessimistic(ratio: Floats, each: Floats, low: float, high: float) -> Floats:
    return np.asarray(-np.minimum(ratio * each, np.clip(ratio, 1 - low, 1 + high) * each))


def _others(batch: DumpedBatch, ratio: Floats, each: Floats, low: float, high: float) -> dict[str, Floats]:
    """The loss of each token by name, of losses other than PPO's."""
    mask, new = mask_of(batch), batch.held["log_probs"]
    gap = np.where(mask > 0, np.log(ratio), 0.0)
    whole = np.exp(gap.sum(1, keepdims=True) / np.maximum(mask.sum(1, keepdims=True), 1))
    token = _pessimistic(ratio, each, low, high)
    known = np.where(mask > 0, new, 0.0)
    out = {
        "PPO with a dual clip of 3": np.where(each < 0, np.minimum(token, -DUAL * each), token),
        "GSPO": _pessimistic(np.broadcast_to(whole, ratio.shape), each, low, high),
        "CISPO": -np.minimum(ratio, 1 + high) * each * known,
        "REINFORCE": -each * known,
    }
    sampled = batch.get("sampler_log_probs")
    if sampled is not None and sampled.shape == ratio.shape:
        apart = np.where(mask > 0, batch.held["old_log_probs"] - sampled, 0.0)
        out["PPO, weighted for the sampler"] = token * np.minimum(np.exp(np.minimum(apart, FAR)), CAP)
    return out


def loss_of(batch: DumpedBatch) -> Iterator[Check]:
    """The loss: as PPO sums it, as another loss does, or by a usual mistake."""
    name, mask = "loss of the batch", mask_of(batch)
    new, old, given = batch.held["log_probs"], batch.held["old_log_probs"], batch.held["advantages"]
    each = given if given.ndim > 1 else np.repeat(given[:, None], new.shape[1], axis=1)
    low = batch.number("clip_low")
    low = CLIP if low is None else low
    high = batch.number("clip_high")
    high = low if high is None else high
    with np.errstate(invalid="ignore"):
        ratio = np.exp(np.clip(np.where(mask > 0, new - old, 0.0), -FAR, FAR))
    token, told = _pessimistic(ratio, each, low, high), batch.number("loss")
    assert told is not None
    terms, mirrored, totals = {"": np.zeros_like(token)}, {"": np.zeros_like(token)}, _totals(batch)
    coef = batch.number("kl_coef") or 0.0
    if coef and "ref_log_probs" in batch.held:
        gap = np.where(mask > 0, new - batch.held["ref_log_probs"], 0.0)
        terms |= {f", with {kind} of the reference": coef * made(gap) for kind, made in PENALTIES.items()}
        mirrored |= {f", with {kind} of the reference": coef * made(-gap) for kind, made in PENALTIES.items()}

    def sizes(of: Floats) -> dict[tuple[str, str], float]:
        return {
            (words, beside): total(of + term, mask)
            for (words, total), (beside, term) in product(totals.items(), terms.items())
        }

    close = SUMMED * max(AGGREGATIONS[TOKENS](np.abs(token), mask), abs(told), 1e-9)
    how = f"clip {low:g} below and {high:g} above 1, tokens of the mask"
    best, size = min(sizes(token).items(), key=lambda found: abs(found[1] - told))
    if abs(size - told) <= close:
        yield Check("loss", name, "", f"{told:.6g}: {''.join(best)}", how)
        alike = {"without the clip": -ratio * each, "with its bounds swapped": _pessimistic(ratio, each, high, low)}
        blind = [words for words, other in alike.items() if low != high or "swapped" not in words]
        blind = [words for words in blind if abs(sizes(alike[words])[best] - size) <= close]
        if blind:
            value = f"too few tokens are clipped: the loss is the same {' and '.join(blind)}"
            yield Check("loss", "clip of the batch", "skip", value, "dump a later update of the batch")
        swapped = mirrored[best[1]]
        same = abs(totals[best[0]](token + swapped, mask) - size) <= close
        if same and np.abs(swapped - terms[best[1]]).max() > 0:
            value = "it is too small: the loss is the same with policy and reference swapped"
            yield Check("loss", "KL term of the loss", "skip", value, "dump kl, or a later update")
        return
    for words, other in _others(batch, ratio, each, low, high).items():
        found, size = min(sizes(other).items(), key=lambda one: abs(one[1] - told))
        if abs(size - told) <= close / STRICT:
            yield Check("loss", name, "?", f"{told:.6g}: not that of PPO, but of {words}, {''.join(found)}", how)
            return
    wrong = {
        "without the mask": AGGREGATIONS[TOKENS](token, np.ones_like(mask)),
        "without the clip": AGGREGATIONS[TOKENS](-ratio * each, mask),
        "the larger of both terms is taken": AGGREGATIONS[TOKENS](
            -np.maximum(ratio * each, np.clip(ratio, 1 - low, 1 + high) * each), mask
        ),
    }
    what = next((words for words, value in wrong.items() if abs(value - told) <= close), "")
    what = "the sign is turned" if min(abs(-value - told) for value in sizes(token).values()) <= close else what
    best, size = min(sizes(token).items(), key=lambda found: abs(found[1] - told))
    value = f"{told:.6g}: {what}" if what else f"{told:.6g}, and the nearest is {''.join(best)}: {size:.6g}"
    yield Check("loss", name, "!!", value, how)


def kl_of(batch: DumpedBatch) -> Iterator[Check]:
    """The KL term that the trainer logs."""
    gap, mask, told = batch.held["log_probs"] - batch.held["ref_log_probs"], mask_of(batch), batch.number("kl")
    assert told is not None
    on = mask > 0
    gap = np.where(on, gap, 0.0)
    sizes = {
        f"{kind}, {words}": total(made(gap), mask)
        for (kind, made), (words, total) in product(PENALTIES.items(), _totals(batch).items())
    }
    close = SUMMED * max(float(np.abs(gap[on]).mean()), abs(told), 1e-9)
    best = min(sizes, key=lambda key: abs(sizes[key] - told))
    near = abs(sizes[best] - told) <= close
    turned = min(abs(-value - told) for value in sizes.values()) <= close
    what = best if near else "the sign is turned" if turned else f"nearest is {best}: {sizes[best]:.6g}"
    yield Check(
        "loss", "KL of the batch", "" if near else "!!", f"{told:.6g}: {what}", "k1, k2, k3 or the absolute difference"
    )

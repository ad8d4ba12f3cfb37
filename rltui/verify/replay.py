"""Recomputes the stages of one update in float64 from one dumped batch, and compares each with the trainer's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from rltui.verify.adapters import Floats
from rltui.verify.batch import DumpedBatch
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.estimators import KNOWN, UNSAID
from rltui.verify.reference import compared

CLOSE = 2e-3
"""Largest relative difference between the same number in bfloat16 logs and in float64."""
SUMMED = 3e-4
"""Like `CLOSE`, for a sum over all tokens, in which rounding averages out."""
BESIDE = (0.0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
"""Constants that trainers add to the spread of rewards."""
CLIP = 0.2
FAR = 20.0
"""A difference between the old and new log-prob of a token, in nats, that no policy update causes."""


def replayed(batch: DumpedBatch) -> list[Check]:
    """All checks that the arrays of the batch allow, in the order of the pipeline."""
    out: list[Check] = []
    for stage, name, needs, probe in STAGES:
        missing = [one for one in needs if one not in batch.held]
        if missing:
            out.append(
                Check(stage, name, "skip", "not in the batch: nothing was checked", f"dump {', '.join(missing)}")
            )
        else:
            out += guarded(stage, name, partial(probe, batch))
    wrong = next((check for check in out if check.mark == "!!"), None)
    if wrong is not None:
        value = f"{wrong.stage}: {wrong.name}"
        out.append(Check(wrong.stage, "first stage that differs", "!!", value, "what comes after it rests on it"))
    return out


def _mask(batch: DumpedBatch) -> Floats:
    """The mask, or ones in the shape of the log-probs if the batch has none."""
    held = batch.get("mask")
    if held is not None:
        return held
    shaped = next((batch.held[name] for name in ("log_probs", "old_log_probs") if name in batch.held), None)
    return np.ones((1, 1)) if shaped is None else np.ones_like(shaped)


def _rewards(batch: DumpedBatch) -> Iterator[Check]:
    rewards = _each(batch.held["rewards"])
    bad = int((~np.isfinite(rewards)).sum())
    mark: Mark = "!!" if bad else ""
    value = f"{bad} of {len(rewards)} are not finite" if bad else f"{len(rewards)} finite rewards"
    yield Check("reward", "rewards", mark, value, "each must be a number")
    spread = [float(np.ptp(rewards[own])) for own in _groups(batch, len(rewards))]
    dead = sum(one == 0.0 for one in spread)
    if spread and not bad:
        mark = "?" if dead == len(spread) else ""
        yield Check("reward", "groups with variance", mark, f"{len(spread) - dead} of {len(spread)}", "0 teach nothing")


def _each(values: Floats) -> Floats:
    """One number for each answer; numbers of single tokens are summed."""
    return values if values.ndim == 1 else np.asarray(values.sum(tuple(range(1, values.ndim))))


def _groups(batch: DumpedBatch, count: int) -> list[np.ndarray]:
    """The indices of the answers to each prompt; empty if the batch does not show which belong together."""
    labels, size = batch.get("groups"), batch.number("num_generations")
    if labels is not None and labels.shape[:1] == (count,):
        return [np.flatnonzero(labels.reshape(count, -1)[:, 0] == one) for one in np.unique(labels)]
    if size is not None and size >= 2 and count % int(size) == 0:
        return list(np.arange(count).reshape(-1, int(size)))
    return []


def _advantages(batch: DumpedBatch) -> Iterator[Check]:
    stage, name = "advantages", "advantages of the batch"
    rewards, given, mask = _each(batch.held["rewards"]), batch.held["advantages"], _mask(batch)
    if given.ndim > 1:
        on = mask > 0 if mask.shape == given.shape else np.ones_like(given, dtype=bool)
        apart = [float(np.ptp(row[own])) for row, own in zip(given, on, strict=True) if own.any()]
        if apart and max(apart) > 1e-6 * max(1.0, float(np.abs(given).max())):
            yield Check(
                stage, name, "skip", "they differ from token to token: a critic made them", "give values to gae"
            )
            return
        given = np.array([row[own][0] if own.any() else 0.0 for row, own in zip(given, on, strict=True)])
    if given.shape != rewards.shape:
        raise ValueError(f"{given.size} advantages for {rewards.size} rewards")
    groups = _groups(batch, len(rewards))
    if not groups or len({len(own) for own in groups}) != 1 or len(groups[0]) < 2:
        yield Check(stage, name, "skip", "which answers share a prompt is not known", "dump groups or num_generations")
        return
    order = np.concatenate(groups)
    rows, got = rewards[order].reshape(len(groups), -1), given[order].reshape(len(groups), -1)
    with np.errstate(all="ignore"):
        tried = {
            (known, f"{i} {beside}"): way(rows, beside)
            for known, (_, ways) in KNOWN.items()
            for (i, way), beside in product(enumerate(ways), BESIDE)
        }
    off = {key: _apart(got, np.nan_to_num(wanted)) for key, wanted in tried.items()}
    best = min(off, key=lambda key: (off[key] > CLOSE, key[0] not in UNSAID, off[key]))
    how = f"{len(groups)} groups of {len(groups[0])}, recomputed from the rewards"
    if off[best] <= CLOSE:
        mark: Mark = "" if best[0] in UNSAID else "?"
        yield Check(stage, name, mark, KNOWN[best[0]][0], how)
        return
    nearest = min(off, key=lambda key: off[key])
    turned = min(_apart(-got, np.nan_to_num(wanted)) for wanted in tried.values())
    what = "the sign is turned" if turned <= CLOSE else f"nearest: {KNOWN[nearest[0]][0]}, {off[nearest]:.2g} off"
    yield Check(stage, name, "!!", f"no known estimator of these rewards gives them: {what}", how)


def _apart(got: Floats, wanted: Floats) -> float:
    """The largest difference, as a share of the largest wanted value."""
    return float(np.abs(got - wanted).max()) / max(1e-9, float(np.abs(wanted).max()))


def _mask_of_ids(batch: DumpedBatch) -> Iterator[Check]:
    ids, mask, eos = batch.held["ids"], batch.held["mask"], batch.number("eos_id")
    if ids.shape != mask.shape:
        raise ValueError(f"ids of shape {ids.shape}, mask of shape {mask.shape}")
    ended = np.cumsum(ids == eos, axis=1) - (ids == eos)
    wanted = (ended == 0).astype(float)
    more, less = int(((mask > 0) & (wanted == 0)).sum()), int(((mask == 0) & (wanted > 0)).sum())
    value = f"{more} tokens behind the end count" if more else f"{less} tokens up to the end do not count"
    mark: Mark = "!!" if more else "?" if less else ""
    yield Check("loss", "mask of the batch", mark, value if mark else "up to and including the first end", "by the ids")


def _log_probs(batch: DumpedBatch) -> Iterator[Check]:
    new, old, on = batch.held["log_probs"], batch.held["old_log_probs"], _mask(batch) > 0
    if not new.shape == old.shape == on.shape:
        raise ValueError(f"shapes {new.shape}, {old.shape} and {on.shape} differ")
    for name, values in (("log-probs", new), ("old log-probs", old)):
        top, bad = float(values[on].max()), int((~np.isfinite(values[on])).sum())
        mark: Mark = "!!" if bad or top > 1e-4 else ""
        value = f"{bad} are not finite" if bad else f"largest {top:.3g}"
        yield Check("log-probs", f"{name} of the batch", mark, value, "a probability is at most 1")
    apart = np.abs(new - old)[on]
    mark = "!!" if float(apart.max()) > FAR else ""
    value = f"{float(apart.mean()):.3g} nats apart in the mean, {float(apart.max()):.3g} at most"
    yield Check(
        "log-probs", "new and old log-probs", mark, value, f"other tokens or another model lie over {FAR:g} apart"
    )


def _sampler(batch: DumpedBatch) -> Iterator[Check]:
    own = next((batch.held[name] for name in ("old_log_probs", "log_probs") if name in batch.held), None)
    if own is None:
        what = "not in the batch: nothing was checked"
        yield Check("log-probs", "sampler and trainer", "skip", what, "dump old_log_probs or log_probs")
        return
    yield from compared(batch.held["sampler_log_probs"], own, _mask(batch))


AGGREGATIONS: dict[str, Callable[[Floats, Floats], float]] = {
    "the mean over all tokens": lambda x, m: float((x * m).sum() / m.sum()),
    "the mean of the answers' means": lambda x, m: float(((x * m).sum(1) / np.maximum(m.sum(1), 1)).mean()),
    "the mean of the answers' sums": lambda x, m: float((x * m).sum(1).mean()),
    "the answers' sums over a fixed length": lambda x, m: float((x * m).sum(1).mean() / x.shape[1]),
}
PENALTIES: dict[str, Callable[[Floats], Floats]] = {
    "k1": lambda d: d,
    "k2": lambda d: d**2 / 2,
    "k3": lambda d: np.exp(-d) - 1 + d,
}
"""The estimators of Schulman (2020), as functions of the log-ratio of policy and reference."""


def _loss(batch: DumpedBatch) -> Iterator[Check]:
    name, mask = "loss of the batch", _mask(batch)
    new, old, given = batch.held["log_probs"], batch.held["old_log_probs"], batch.held["advantages"]
    each = given if given.ndim > 1 else np.repeat(given[:, None], new.shape[1], axis=1)
    low = batch.number("clip_low")
    low = CLIP if low is None else low
    high = batch.number("clip_high")
    high = low if high is None else high
    ratio = np.exp(np.clip(new - old, -FAR, FAR))
    token = -np.minimum(ratio * each, np.clip(ratio, 1 - low, 1 + high) * each)
    told = batch.number("loss")
    assert told is not None
    coef = batch.number("kl_coef") or 0.0
    terms = {"": np.zeros_like(token)}
    if coef and "ref_log_probs" in batch.held:
        gap = np.where(mask > 0, new - batch.held["ref_log_probs"], 0.0)
        terms |= {f", with {kind} of the reference": coef * made(gap) for kind, made in PENALTIES.items()}
    sizes = {
        f"{words}{beside}": total(token + term, mask)
        for (words, total), (beside, term) in product(AGGREGATIONS.items(), terms.items())
    }
    scale = max(float(AGGREGATIONS["the mean over all tokens"](np.abs(token), mask)), 1e-9)
    how = f"clip {low:g} below and {high:g} above 1, tokens of the mask"
    best = min(sizes, key=lambda key: abs(sizes[key] - told))
    if abs(sizes[best] - told) <= SUMMED * max(scale, abs(told)):
        yield Check("loss", name, "", f"{told:.6g}: {best}", how)
        return
    wrong = {
        "without the mask": AGGREGATIONS["the mean over all tokens"](token, np.ones_like(mask)),
        "without the clip": AGGREGATIONS["the mean over all tokens"](-ratio * each, mask),
        "the larger of both terms is taken": AGGREGATIONS["the mean over all tokens"](
            -np.maximum(ratio * each, np.clip(ratio, 1 - low, 1 + high) * each), mask
        ),
    }
    signs = min(abs(-value - told) for value in sizes.values())
    what = next((words for words, value in wrong.items() if abs(value - told) <= SUMMED * max(scale, abs(told))), "")
    what = "the sign is turned" if signs <= SUMMED * max(scale, abs(told)) else what
    value = f"{told:.6g}: {what}" if what else f"{told:.6g}, and the nearest is {best}: {sizes[best]:.6g}"
    yield Check("loss", name, "!!", value, how)
    if float(np.abs(new - old)[mask > 0].max()) <= 1e-6:
        yield Check(
            "loss", "ratio of the batch", "", "1 everywhere: the side of the clip cannot be seen", "first update"
        )


def _kl(batch: DumpedBatch) -> Iterator[Check]:
    gap, mask, told = batch.held["log_probs"] - batch.held["ref_log_probs"], _mask(batch), batch.number("kl")
    assert told is not None
    on = mask > 0
    gap = np.where(on, gap, 0.0)
    sizes = {
        f"{kind}, {words}": total(made(gap), mask)
        for (kind, made), (words, total) in product(PENALTIES.items(), AGGREGATIONS.items())
    }
    scale = max(float(np.abs(gap[on]).mean()), 1e-9)
    best = min(sizes, key=lambda key: abs(sizes[key] - told))
    near = abs(sizes[best] - told) <= SUMMED * max(scale, abs(told))
    turned = min(abs(-value - told) for value in sizes.values()) <= SUMMED * max(scale, abs(told))
    what = best if near else "the sign is turned" if turned else f"nearest is {best}: {sizes[best]:.6g}"
    yield Check("loss", "KL of the batch", "" if near else "!!", f"{told:.6g}: {what}", "k1, k2, k3 of the batch")


STAGES: tuple[tuple[str, str, tuple[str, ...], Callable[[DumpedBatch], Iterator[Check]]], ...] = (
    ("reward", "rewards", ("rewards",), _rewards),
    ("advantages", "advantages of the batch", ("rewards", "advantages"), _advantages),
    ("log-probs", "log-probs of the batch", ("log_probs", "old_log_probs"), _log_probs),
    ("log-probs", "sampler and trainer", ("sampler_log_probs",), _sampler),
    ("loss", "mask of the batch", ("ids", "mask", "eos_id"), _mask_of_ids),
    ("loss", "KL of the batch", ("log_probs", "ref_log_probs", "kl"), _kl),
    ("loss", "loss of the batch", ("log_probs", "old_log_probs", "advantages", "loss"), _loss),
)

"""Recomputes the stages of one update in float64 from one dumped batch, and compares each with the trainer's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from rltui.verify.adapters import Floats
from rltui.verify.batch import DumpedBatch
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.estimators import KNOWN, OF_GROUP, UNSAID
from rltui.verify.reference import compared, misplaced
from rltui.verify.replay_loss import kl_of, loss_of, mask_of

CLOSE = 2e-3
"""Largest relative difference between the same number in bfloat16 logs and in float64."""
BESIDE = (0.0, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3)
"""Constants that trainers add to the spread of rewards."""
FAR, APART = 20.0, 0.3
"""Nats between old and new log-prob that no update of a policy makes: of one token, and in the mean (doubtful)."""


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
    rewards, given, mask = _each(batch.held["rewards"]), batch.held["advantages"], mask_of(batch)
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
    if not groups or min(map(len, groups)) < 2:
        yield Check(stage, name, "skip", "which answers share a prompt is not known", "dump groups or num_generations")
        return
    alike = len({len(own) for own in groups}) == 1
    got, parts = given[np.concatenate(groups)], [rewards[own] for own in groups]
    with np.errstate(all="ignore"):
        tried = {
            (known, f"{i} {beside}"): way(np.stack(parts), beside).reshape(-1)
            if alike
            else np.concatenate([way(part[None], beside)[0] for part in parts])
            for known, (_, ways) in KNOWN.items()
            for (i, way), beside in product(enumerate(ways), BESIDE)
            if alike or known in OF_GROUP
        }
    off = {key: _apart(got, np.nan_to_num(wanted)) for key, wanted in tried.items()}
    best = min(off, key=lambda key: (off[key] > CLOSE, key[0] not in UNSAID, off[key]))
    sizes = sorted({len(own) for own in groups})
    how = f"{len(groups)} groups of {' to '.join(map(str, sizes[:: len(sizes) - 1 or 1]))}, recomputed from the rewards"
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
    only_ends = bool(less) and bool(((mask > 0) == (wanted > 0) & (ids != eos)).all())
    value = f"{more} tokens behind the end count" if more else f"{less} tokens up to the end do not count"
    value += ": the end itself is masked, so it is never learned" if only_ends else ""
    mark: Mark = "!!" if more or only_ends else "?" if less else ""
    yield Check("loss", "mask of the batch", mark, value if mark else "up to and including the first end", "by the ids")


def _log_probs(batch: DumpedBatch) -> Iterator[Check]:
    new, old, on = batch.held["log_probs"], batch.held["old_log_probs"], mask_of(batch) > 0
    if not new.shape == old.shape == on.shape:
        raise ValueError(f"shapes {new.shape}, {old.shape} and {on.shape} differ")
    for name, values in (("log-probs", new), ("old log-probs", old)):
        top, bad = float(values[on].max()), int((~np.isfinite(values[on])).sum())
        mark: Mark = "!!" if bad or top > 1e-4 else ""
        value = f"{bad} are not finite" if bad else f"largest {top:.3g}"
        yield Check("log-probs", f"{name} of the batch", mark, value, "a probability is at most 1")
        if not values[on].any():
            yield Check("log-probs", f"{name} of the batch", "!!", "all are 0: they were never filled in", "below 0")
    apart = np.abs(new - old)[on]
    mean, most = float(apart.mean()), float(apart.max())
    moved = misplaced(old, new, on)
    mark = "!!" if most > FAR or moved else "?" if mean > APART else ""
    value = f"{mean:.3g} nats apart in the mean, {most:.3g} at most{': the old ' + moved if moved else ''}"
    yield Check(
        "log-probs", "new and old log-probs", mark, value, f"other tokens or another model lie over {FAR:g} apart"
    )


def _reference(batch: DumpedBatch) -> Iterator[Check]:
    """Whether the reference has the same tokens as the policy, and is another model once the policy has moved."""
    new, ref, on = batch.held["log_probs"], batch.held["ref_log_probs"], mask_of(batch) > 0
    if not new.shape == ref.shape == on.shape:
        raise ValueError(f"shapes {new.shape}, {ref.shape} and {on.shape} differ")
    mean, moved = float(np.abs(new - ref)[on].mean()), misplaced(ref, new, on)
    old = batch.get("old_log_probs")
    follows = mean == 0.0 and old is not None and bool((old != new)[on].any())
    bad = int((~np.isfinite(ref[on])).sum())
    fault = "the reference has moved with the policy" if follows else f"the reference's {moved}" if moved else ""
    fault = f"{bad} of the reference are not finite" if bad else fault
    mark: Mark = "!!" if fault else ""
    value = f"{mean:.3g} nats apart in the mean{': ' + fault if fault else ''}"
    yield Check("log-probs", "policy and reference", mark, value, "the same tokens, and weights that stand still")


def _sampler(batch: DumpedBatch) -> Iterator[Check]:
    own = next((batch.held[name] for name in ("old_log_probs", "log_probs") if name in batch.held), None)
    if own is None:
        what = "not in the batch: nothing was checked"
        yield Check("log-probs", "sampler and trainer", "skip", what, "dump old_log_probs or log_probs")
        return
    yield from compared(batch.held["sampler_log_probs"], own, mask_of(batch))


STAGES: tuple[tuple[str, str, tuple[str, ...], Callable[[DumpedBatch], Iterator[Check]]], ...] = (
    ("reward", "rewards", ("rewards",), _rewards),
    ("advantages", "advantages of the batch", ("rewards", "advantages"), _advantages),
    ("log-probs", "log-probs of the batch", ("log_probs", "old_log_probs"), _log_probs),
    ("log-probs", "policy and reference", ("log_probs", "ref_log_probs"), _reference),
    ("log-probs", "sampler and trainer", ("sampler_log_probs",), _sampler),
    ("loss", "mask of the batch", ("ids", "mask", "eos_id"), _mask_of_ids),
    ("loss", "KL of the batch", ("log_probs", "ref_log_probs", "kl"), kl_of),
    ("loss", "loss of the batch", ("log_probs", "old_log_probs", "advantages", "loss"), loss_of),
)

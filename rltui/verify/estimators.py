"""Finds which estimator computes the user's advantages. Some group estimators are right without a declaration. The
others are right only if the adapters file names them, because each is also a common mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from rltui.verify.adapters import Adapters, Floats
from rltui.verify.check import Check

STAGE, NAME = "advantages", "estimator"
Ask = Callable[[Floats], Floats]
CLOSE = 5e-3
"""Largest relative difference from the same estimator with another constant added to the spread, up to 1e-3 of the
spread."""
GROUPS = 1000.0 * np.array(
    [
        [2.0, -1.0, 0.3, 0.7, 1.9, -2.2, 0.0, 3.1],
        [10.0, 11.0, 12.0, 13.5, 9.0, 10.5, 14.0, 8.0],
        [0.0, 40.0, 5.0, -20.0, 7.0, 7.0, 1.0, 0.0],
    ]
)
"""Three groups whose spread is far larger than any constant added to it; another probe measures that constant."""
LONE = np.eye(1, 16) * 1000.0
"""One right answer among sixteen: its advantage is 3.9 spreads, beyond most clip limits."""


def _centred(x: Floats) -> Floats:
    return np.asarray(x - x.mean(1, keepdims=True))


def _by(x: Floats, spread: Floats | float, beside: float) -> Floats:
    """`x` divided by the sum of a spread and the constant `beside`."""
    return np.asarray(x / (np.asarray(spread) + beside))


Way = Callable[[Floats, float], Floats]
"""Rewards in groups (N, G) and a constant added to the spread -> advantages."""


def _whitened(free: int) -> Way:
    return lambda x, beside: _by(x - x.mean(), x.std(ddof=free), beside)


def _of_group(free: int) -> Way:
    return lambda x, beside: _by(_centred(x), x.std(1, keepdims=True, ddof=free), beside)


def _of_spread(free: int) -> Way:
    return lambda x, beside: _by(x, x.std(1, keepdims=True, ddof=free), beside)


KNOWN: dict[str, tuple[str, tuple[Way, ...]]] = {
    "group": (
        "by mean and spread of the group (GRPO)",
        (_of_group(0), _of_group(1), lambda x, beside: _whitened(1)(_of_group(1)(x, beside), beside)),
    ),
    "centred": ("by the mean of the group alone (Dr. GRPO)", (lambda x, _: _centred(x),)),
    "leave-one-out": (
        "by the mean of the others (RLOO)",
        (lambda x, _: _centred(x) * x.shape[1] / (x.shape[1] - 1),),
    ),
    "group-batch": (
        "by the mean of the group and the spread of the batch",
        (
            lambda x, beside: _by(_centred(x), _centred(x).std(), beside),
            lambda x, beside: _by(_centred(x), _centred(x).std(ddof=1), beside),
            lambda x, beside: _by(_centred(x), x.std(), beside),
            lambda x, beside: _by(_centred(x), x.std(ddof=1), beside),
        ),
    ),
    "batch": ("by mean and spread of the whole batch", (_whitened(0), _whitened(1))),
    "batch-centred": ("by the mean of the whole batch", (lambda x, _: np.asarray(x - x.mean()),)),
    "spread": ("divided by the spread of the group, without its mean", (_of_spread(0), _of_spread(1))),
    "none": ("the rewards themselves, without a baseline", (lambda x, _: x,)),
}
"""Name for ADVANTAGE -> the estimator in words, and the ways to compute it from rewards in groups (N, G)."""
UNSAID = frozenset(("group", "centred", "leave-one-out"))
"""Estimators that are right even if the adapters file names none."""
OF_GROUP = frozenset((*UNSAID, "spread", "none"))
"""Those that look at the answers of one prompt alone."""


def _same(got: Floats, wanted: Floats) -> bool:
    scale = float(np.abs(wanted).max())
    return bool(np.isfinite(got).all() and np.abs(got - wanted).max() <= CLOSE * scale)


def which(got: Floats) -> str:
    """The name of the estimator that gives these advantages for `GROUPS`; empty if none does."""
    return next((name for name, (_, ways) in KNOWN.items() if any(_same(got, way(GROUPS, 0.0)) for way in ways)), "")


def _mistake(got: Floats) -> str:
    """The mistake in a known estimator that gives these numbers; empty if no known mistake does."""
    for _, ways in (KNOWN[name] for name in ("group", "centred", "leave-one-out")):
        for way in ways:
            right = way(GROUPS, 0.0)
            guesses = {
                "their size is taken, so that bad answers are rewarded too": np.abs(right),
                "the sign is turned": -right,
                "those below 0 are dropped": np.maximum(right, 0.0),
                "those above 0 are dropped": np.minimum(right, 0.0),
                "they are in another order than the rewards": np.flip(right, axis=1),
                "each belongs to the answer before": np.roll(right, 1, axis=1),
                "each belongs to the answer after": np.roll(right, -1, axis=1),
                "all answers of a group get the same": np.repeat(right[:, :1], right.shape[1], axis=1),
            }
            if not np.allclose(np.sort(got.reshape(-1)), np.sort(right.reshape(-1)), rtol=CLOSE):
                for low, high in ((-1.0, 1.0), (0.0, 1.0), (-0.5, 0.5), (-2.0, 2.0)):
                    guesses[f"they are clipped to {low:g} to {high:g}"] = np.clip(right, low, high)
            found = next((words for words, guess in guesses.items() if _same(got, guess)), "")
            if found:
                return found
            if np.allclose(np.sort(got, 1), np.sort(right, 1), rtol=CLOSE, atol=CLOSE):
                return "they are in another order than the rewards"
    return ""


def estimator(ask: Ask, adapters: Adapters) -> Iterator[Check]:
    """Whether the advantages match a known estimator, the one that the adapters file names, and are not clipped."""
    got = ask(GROUPS)
    name, wanted = which(got), adapters.advantage
    how = f"declared: {wanted}" if wanted else "three groups of eight rewards, against " + ", ".join(sorted(UNSAID))
    if wanted and name != wanted:
        what = KNOWN[name][0] if name else _mistake(got) or "none of the known estimators"
        yield Check(STAGE, NAME, "!!", f"not {KNOWN[wanted][0]}: {what}", how)
        return
    scaled = "" if name or wanted else _scaled(got)
    if scaled:
        yield Check(STAGE, NAME, "?", scaled, f"{how}: as a learning rate of another size, if it is always the same")
        return
    if not name:
        what = _mistake(got) or "none of the known estimators"
        yield Check(STAGE, NAME, "!!", what, f"{how} (ADVANTAGE = one of {', '.join(KNOWN)})")
        return
    if name not in UNSAID and not wanted:
        value = f"{KNOWN[name][0]}: if that is meant, say ADVANTAGE = {name!r}"
        yield Check(STAGE, NAME, "!!", value, how)
        return
    yield Check(STAGE, NAME, "", KNOWN[name][0], how)
    yield _unclipped(ask, name)


def _times(got: Floats, wanted: Floats) -> float:
    """What the advantages are multiplied with, if with one number above 0; else 0."""
    times = float((got * wanted).sum() / (wanted**2).sum())
    return times if times > 0 and _same(got, times * wanted) else 0.0


def _scaled(got: Floats) -> str:
    """The estimator whose advantages these are, multiplied with one number; empty if there is none."""
    found = ((_times(got, way(GROUPS, 0.0)), KNOWN[name][0]) for name in sorted(UNSAID) for way in KNOWN[name][1])
    return next((f"{times:.3g} times those {words}" for times, words in found if times), "")


def _unclipped(ask: Ask, name: str) -> Check:
    """Whether the advantage of one right answer among sixteen is as large as the estimator makes it."""
    got = ask(np.concatenate((LONE, -LONE)))
    wants = [way(np.concatenate((LONE, -LONE)), 0.0) for way in KNOWN[name][1]]
    told, how = "one right answer of sixteen", "advantages must not be clipped"
    if any(_same(got, want) for want in wants):
        return Check(STAGE, told, "", f"{float(got.max()):.3g}", how)
    times = _times(got, wants[0])
    if times:
        return Check(STAGE, told, "?", f"{times:.3g} times as large as those of three groups: by rewards of 0?", how)
    value = f"{float(got.min()):.3g} to {float(got.max()):.3g}, expected {float(wants[0].min()):.3g} to"
    return Check(STAGE, told, "!!", f"{value} {float(wants[0].max()):.3g}: they are clipped", how)

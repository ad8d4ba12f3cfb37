"""Probes of the policy loss: what is good must lower it, what is bad must raise it, each advantage acts on its own
sample, each token counts once, padding never does, and the clip holds on the side where it is meant to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.loss import LOSS, MASK, MOVED

STEP = 0.05
FAR, FARTHER = 0.6, 0.65
"""Log-ratios outside every usual clip range, and below 3, where a dual clip begins."""
SHARE = 1e-3
"""A change of the loss by less than this part of it comes of rounding."""

Ask = Callable[..., float]


def loss_probes(adapters: Adapters) -> Iterator[Check]:
    """`loss(log_probs, old_log_probs, advantages, mask)`: one number, lower is better."""
    function = adapters.functions["loss"]
    assert function is not None

    def ask(change: Floats, advantages: Floats, mask: Floats = MASK) -> float:
        old = np.full(mask.shape, -1.0)
        arrays = (adapters.array(old + change), adapters.array(old), adapters.array(advantages))
        return float(plain(function(*arrays, adapters.array(mask))))

    for name, probe in (
        ("loss", _signs),
        ("loss of bad samples", _bad),
        ("advantages in the loss", _own),
        ("tokens in the loss", _tokens),
        ("length of the padding", _padding),
        ("side of the clip", _clip),
    ):
        yield from guarded(LOSS, name, partial(probe, ask))


GOOD = np.array([1.0, 0.5, 0.25])


def _signs(ask: Ask) -> Iterator[Check]:
    still = ask(np.zeros(MASK.shape), GOOD)
    finite = bool(np.isfinite(still))
    yield Check(LOSS, "loss is finite", "" if finite else "!!", f"{still:.5f}", "log-probs all -1, advantages above 0")
    likelier = ask(STEP * MASK, GOOD) - still
    value = f"{_moves(likelier)} when good tokens become likelier"
    yield Check(LOSS, "sign of the loss", "" if likelier < -MOVED else "!!", value, "it must fall")
    padding = abs(ask(STEP * (1 - MASK), GOOD) - still)
    value = f"moves by {padding:.4g} when padding changes"
    yield Check(LOSS, "mask in the loss", "" if padding <= MOVED else "!!", value, "padding must not count")


def _moves(by: float) -> str:
    return f"{'falls' if by < 0 else 'rises'} by {abs(by):.4g}" if abs(by) > MOVED else "does not move"


def _bad(ask: Ask) -> Iterator[Check]:
    likelier = ask(STEP * MASK, -GOOD) - ask(np.zeros(MASK.shape), -GOOD)
    value = f"{_moves(likelier)} when tokens of advantages below 0 become likelier"
    yield Check(LOSS, "loss of bad samples", "" if likelier > MOVED else "!!", value, "it must rise")


def _own(ask: Ask) -> Iterator[Check]:
    """Of three samples one has an advantage: the tokens of that one must move the loss, those of the others not."""
    moved = np.zeros((3, 3))
    for paid, advantages in enumerate(np.eye(3)):
        still = ask(np.zeros(MASK.shape), advantages)
        for changed in range(3):
            tokens = STEP * MASK * (np.arange(3) == changed)[:, None]
            moved[paid, changed] = abs(ask(tokens, advantages) - still)
    acts = moved > MOVED
    mark: Mark = "!!"
    if (acts == np.eye(3, dtype=bool)).all():
        mark, value = "", "each acts on its own sample"
    elif not acts.any():
        value = "they move nothing"
    elif acts.all() and np.ptp(moved, axis=0).max() <= SHARE * moved.max():
        value = "the loss is the same whatever the advantages are"
    elif not acts.diagonal().any():
        value = "the advantage of a sample acts on another sample: they are in another order"
    else:
        mark, value = "?", "the advantage of one sample acts on the tokens of others, as after whitening in the loss"
    yield Check(LOSS, "advantages in the loss", mark, value, "an advantage of 1 for one sample of three, else 0")


def _tokens(ask: Ask) -> Iterator[Check]:
    """Each token of a completion counts, the first and the last among them."""
    still = ask(np.zeros(MASK.shape), np.ones(3))
    silent = []
    for row, column in np.argwhere(MASK > 0):
        change = np.zeros(MASK.shape)
        change[row, column] = STEP
        if abs(ask(change, np.ones(3)) - still) <= MOVED:
            silent.append((int(row), int(column)))
    name, how = "tokens in the loss", "each token up to the first eos, one at a time"
    if not silent:
        yield Check(LOSS, name, "", f"all {int(MASK.sum())} tokens count", how)
        return
    last = {(row, int(count) - 1) for row, count in enumerate(MASK.sum(1))}
    first = {(row, 0) for row in range(len(MASK))}
    where = ": the last of each sample" if last == {*silent} else ": the first of each" if first == {*silent} else ""
    value = f"{len(silent)} of {int(MASK.sum())} tokens do not count{where}"
    yield Check(LOSS, name, "!!", value, how)


def _padding(ask: Ask) -> Iterator[Check]:
    """The same samples in a wider batch: its loss is the same unless padding is in the denominator."""
    wide = np.pad(MASK, ((0, 0), (0, len(MASK[0]))))
    narrow_loss, wide_loss = ask(np.zeros(MASK.shape), GOOD), ask(np.zeros(wide.shape), GOOD, wide)
    off = abs(wide_loss - narrow_loss) > SHARE * max(abs(narrow_loss), MOVED)
    value = f"{narrow_loss:.4f} becomes {wide_loss:.4f} in a batch twice as wide"
    if off:
        value += ": padding is in the denominator"
    how = "the same, unless the loss is divided by a fixed length as in Dr. GRPO"
    yield Check(LOSS, "length of the padding", "?" if off else "", value, how)


def _clip(ask: Ask) -> Iterator[Check]:
    """Where tokens have moved far: a good one that became likelier, or a bad one that became less likely, has had its
    step and is held, and the other two are not."""

    def slides(way: float, advantages: Floats) -> bool:
        near, far = (ask(way * at * MASK, advantages) for at in (FAR, FARTHER))
        return abs(far - near) > MOVED

    done = slides(1, GOOD), slides(-1, -GOOD)
    behind = slides(-1, GOOD), slides(1, -GOOD)
    mark: Mark = ""
    if not any(done) and all(behind):
        value = "holds what has moved far enough, and nothing else"
    elif all(done) and all(behind):
        value = "the loss is not clipped"
    elif any(done) and not all(behind):
        mark, value = "!!", "it holds the tokens that moved the wrong way and lets go those that moved far enough"
    elif not any(behind):
        mark, value = "?", "it holds tokens that moved the wrong way too: they get no gradient back"
    else:
        mark, value = "?", "it holds on one side only"
    yield Check(LOSS, "side of the clip", mark, value, "log-ratios of 0.6 up and down, good samples and bad ones")
    if not any(done) and all(behind):
        yield _range(ask)


def _range(ask: Ask) -> Check:
    """The bounds, from the loss where it is held against the loss at a ratio of 1."""
    zero = np.zeros(MASK.shape)
    high = ask(FAR * MASK, GOOD) / ask(zero, GOOD) - 1
    low = 1 - ask(-FAR * MASK, -GOOD) / ask(zero, -GOOD)
    mark: Mark = "!!" if min(low, high) < 0 else "?" if low > high * (1 + SHARE) + SHARE else ""
    value = f"1 − {low:.4g} to 1 + {high:.4g}"
    if mark:
        value += ": the lower bound is the wider one, are they swapped?"
    return Check(LOSS, "clip range", mark, value, "the same on both sides, or wider above (clip-higher)")

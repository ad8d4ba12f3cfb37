"""Probes of the policy loss. It must fall if good tokens become likelier and rise if bad ones do. Each advantage acts
on its own sample, each token counts, padding does not, and the clip acts on the right side."""

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
"""A smaller relative change of the loss is rounding."""

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
    """Gives one of three samples an advantage: only its tokens may change the loss."""
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
        value = "they do not change the loss"
    elif acts.all() and np.ptp(moved, axis=0).max() <= SHARE * moved.max():
        value = "the loss does not depend on the advantages"
    elif not acts.diagonal().any():
        value = "the advantage of a sample acts on another sample: they are in the wrong order"
    else:
        mark, value = "?", "the advantage of one sample acts on the tokens of others, as after whitening in the loss"
    yield Check(LOSS, "advantages in the loss", mark, value, "an advantage of 1 for one sample of three, else 0")


def _tokens(ask: Ask) -> Iterator[Check]:
    """Whether each token of a completion counts, including the first and the last."""
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
    """Compares the loss of the same samples in a wider batch: it differs if padding is in the denominator."""
    wide = np.pad(MASK, ((0, 0), (0, len(MASK[0]))))
    narrow_loss, wide_loss = ask(np.zeros(MASK.shape), GOOD), ask(np.zeros(wide.shape), GOOD, wide)
    off = abs(wide_loss - narrow_loss) > SHARE * max(abs(narrow_loss), MOVED)
    value = f"{narrow_loss:.4f} becomes {wide_loss:.4f} in a batch twice as wide"
    if off:
        value += ": padding is in the denominator"
    how = "the same, unless the loss is divided by a fixed length as in Dr. GRPO"
    yield Check(LOSS, "length of the padding", "?" if off else "", value, how)


def _clip(ask: Ask) -> Iterator[Check]:
    """Which tokens are clipped after they moved far. A good token that became likelier, or a bad one that became less
    likely, must be clipped; the other two kinds must not."""

    def slides(way: float, advantages: Floats) -> bool:
        near, far = (ask(way * at * MASK, advantages) for at in (FAR, FARTHER))
        return abs(far - near) > MOVED

    done = slides(1, GOOD), slides(-1, -GOOD)
    behind = slides(-1, GOOD), slides(1, -GOOD)
    mark: Mark = ""
    if not any(done) and all(behind):
        value = "it clips tokens that have moved far enough, and no others"
    elif all(done) and all(behind):
        value = "the loss is not clipped"
    elif any(done) and not all(behind):
        mark, value = "!!", "it clips tokens that moved the wrong way, and not those that moved far enough"
    elif not any(behind):
        mark, value = "?", "it also clips tokens that moved the wrong way: no gradient brings them back"
    else:
        mark, value = "?", "it clips on one side only"
    yield Check(LOSS, "side of the clip", mark, value, "log-ratios of 0.6 up and down, good samples and bad ones")
    if not any(done) and all(behind):
        yield _range(ask)


def _range(ask: Ask) -> Check:
    """The clip bounds: the loss where it is clipped, divided by the loss at a ratio of 1."""
    zero = np.zeros(MASK.shape)
    high = ask(FAR * MASK, GOOD) / ask(zero, GOOD) - 1
    low = 1 - ask(-FAR * MASK, -GOOD) / ask(zero, -GOOD)
    mark: Mark = "!!" if min(low, high) < 0 else "?" if low > high * (1 + SHARE) + SHARE else ""
    value = f"1 − {low:.4g} to 1 + {high:.4g}"
    if mark:
        value += ": the lower bound is the wider one, are they swapped?"
    return Check(LOSS, "clip range", mark, value, "the same on both sides, or wider above (clip-higher)")

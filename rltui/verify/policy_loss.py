"""Probes of the policy loss by its gradient. It must make good tokens likelier and bad ones less likely. Each advantage
must act on its own sample, each token must count, padding must not, and the clip must act on the right side."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.loss import LOSS, MASK
from rltui.verify.slopes import Slopes

FAR = 0.6
"""A log-ratio outside every usual clip range, and below 3, at which a dual clip begins."""
SHARE = 1e-3
"""A relative change of the loss below this is rounding."""
GOOD = np.array([1.0, 0.5, 0.25])
TIMES = 4.0
LIKELY = np.linspace(-12.3, -0.2, MASK.size).reshape(MASK.shape)
"""Old log-probs of unlikely and of likely tokens: bfloat16 rounds the first by 0.03."""
ROUNDED = 0.1
"""A change of the slopes below this share is rounding, not a weight that is meant."""
HOLES = np.array([[1, 1, 0, 1, 1], [0, 0, 1, 1, 1], [1, 0, 1, 0, 1]])
"""Masks of answers with the output of a tool in them, and of one behind padding."""
STILL = np.zeros(MASK.shape)


def loss_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `loss(log_probs, old_log_probs, advantages, mask)`, which returns one number; lower is better."""
    slopes = Slopes(adapters)
    for name, probe in (
        ("gradient of the loss", _gradient),
        ("loss", _signs),
        ("loss of bad samples", _bad),
        ("advantages in the loss", _own),
        ("tokens in the loss", _tokens),
        ("masks with holes", _holes),
        ("weight of a token", _weights),
        ("length of the padding", _padding),
        ("likely and unlikely tokens", _levels),
        ("size of the advantages", _sizes),
        ("order of the answers", _order),
        ("an answer without tokens", _empty),
        ("side of the clip", _clip),
    ):
        yield from guarded(LOSS, name, partial(probe, slopes))


def _gradient(slopes: Slopes) -> Iterator[Check]:
    name, how = "gradient of the loss", "by autograd, at log-probs of -1"
    if not slopes.by_autograd:
        yield Check(LOSS, name, "skip", "only the values are known: the functions take no torch tensors", how)
        return
    slope = slopes.at(STILL, GOOD, MASK)
    if not slope.any():
        value = "none reaches the log-probs: something on the way is detached (.item(), .detach(), numpy, no_grad)"
        yield Check(LOSS, name, "!!", value, how)
        return
    yield Check(LOSS, name, "", "it reaches the log-probs", how)
    moved = slopes.by_differences(STILL, GOOD, MASK)
    by_value, by_autograd = float((moved * MASK).sum()), float((slope * MASK).sum())
    if abs(by_value) <= slopes.nothing:
        yield Check(
            LOSS, "value of the loss", "", "stands still, as the ratio is held at 1: only its gradient counts", how
        )
    elif by_value * by_autograd < 0:
        value = f"the gradient is {by_autograd:.4g} and the loss moves by {by_value:.4g}: they point against each other"
        yield Check(LOSS, "value of the loss", "!!", value, how)


def _signs(slopes: Slopes) -> Iterator[Check]:
    still = slopes.value(STILL, GOOD, MASK)
    finite = bool(np.isfinite(still))
    yield Check(LOSS, "loss is finite", "" if finite else "!!", f"{still:.5f}", "log-probs all -1, advantages above 0")
    slope = slopes.at(STILL, GOOD, MASK)
    likelier = float((slope * MASK).sum())
    value = f"{_moves(likelier, slopes.nothing)} when good tokens become likelier"
    yield Check(LOSS, "sign of the loss", "" if likelier < -slopes.nothing else "!!", value, "it must fall")
    padding = float(np.abs(slope * (1 - MASK)).max())
    value = f"moves by {padding:.4g} when padding changes"
    yield Check(LOSS, "mask in the loss", "" if padding <= slopes.nothing else "!!", value, "padding must not count")


def _moves(by: float, nothing: float) -> str:
    return f"{'falls' if by < 0 else 'rises'} by {abs(by):.4g}" if abs(by) > nothing else "does not move"


def _bad(slopes: Slopes) -> Iterator[Check]:
    likelier = float((slopes.at(STILL, -GOOD, MASK) * MASK).sum())
    value = f"{_moves(likelier, slopes.nothing)} when tokens of advantages below 0 become likelier"
    yield Check(LOSS, "loss of bad samples", "" if likelier > slopes.nothing else "!!", value, "it must rise")


def _own(slopes: Slopes) -> Iterator[Check]:
    """Gives one of three samples an advantage. Only the tokens of that sample may get a gradient."""
    signed = np.array([(slopes.at(STILL, one, MASK) * MASK).sum(1) for one in np.eye(3)])
    moved = np.abs(signed)
    acts = moved > slopes.nothing
    own, others = signed.diagonal(), signed[~np.eye(3, dtype=bool)]
    mark: Mark = "!!"
    if (acts == np.eye(3, dtype=bool)).all():
        mark, value = "", "each acts on its own sample"
    elif not acts.any():
        value = "they do not change the loss"
    elif acts.all() and np.ptp(moved, axis=0).max() <= SHARE * moved.max():
        value = "the loss does not depend on the advantages"
    elif (acts.sum(1) <= 1).all():
        value = "the advantage of a sample acts on another sample: they are in the wrong order"
    elif (own < 0).all() and (others >= -slopes.nothing).all():
        mark, value = "?", "the advantage of one sample makes those of others fall, as after whitening in the loss"
    else:
        value = "the advantage of one sample also acts on the tokens of others"
    yield Check(LOSS, "advantages in the loss", mark, value, "an advantage of 1 for one sample of three, else 0")


def _tokens(slopes: Slopes) -> Iterator[Check]:
    """Whether each token of a completion counts, including the first and the last."""
    slope = np.abs(slopes.at(STILL, np.ones(3), MASK))
    silent = [(int(row), int(column)) for row, column in np.argwhere((slope <= slopes.nothing) & (MASK > 0))]
    name, how = "tokens in the loss", "each token up to the first eos, one at a time"
    if not silent:
        yield Check(LOSS, name, "", f"all {int(MASK.sum())} tokens count", how)
        return
    last = {(row, int(count) - 1) for row, count in enumerate(MASK.sum(1))}
    first = {(row, 0) for row in range(len(MASK))}
    where = ": the last of each sample" if last == {*silent} else ": the first of each" if first == {*silent} else ""
    value = f"{len(silent)} of {int(MASK.sum())} tokens do not count{where}"
    yield Check(LOSS, name, "!!", value, how)


def _holes(slopes: Slopes) -> Iterator[Check]:
    """Whether the mask is used place by place, not by its sum."""
    counts = np.abs(slopes.at(STILL, np.ones(3), HOLES)) > slopes.nothing
    more, less = int((counts & (HOLES == 0)).sum()), int((~counts & (HOLES > 0)).sum())
    value = (
        f"{more} masked tokens count, {less} others do not" if more or less else "tokens of the mask count, no others"
    )
    how = "tokens of tools inside an answer, padding before one"
    yield Check(LOSS, "masks with holes", "?" if more or less else "", value, how)


def _weights(slopes: Slopes) -> Iterator[Check]:
    """How the loss is averaged. Correct pipelines differ in this, and it decides how much long answers count."""
    weight = -slopes.at(STILL, np.ones(3), MASK)
    held, length = weight[MASK > 0], MASK.sum(1)
    name, how = "weight of a token", "the gradient of each token at advantages of 1"
    if not (held > slopes.nothing).all():
        return  # the other probes report it
    alike = np.ptp(held) <= SHARE * held.max()
    of_answers = (weight * MASK).sum(1)
    if alike:
        total = 1.0 / float(held.mean())
        ways = {
            float(MASK.sum()): "mean over all tokens of the batch, as in DAPO",
            float(MASK.size): "mean over all places, padding included",
            float(len(MASK)): "sum over the tokens of an answer, mean over answers",
            1.0: "sum over all tokens: the step grows with the batch",
        }
        told = next((way for n, way in ways.items() if abs(total - n) <= SHARE * n), f"sum divided by {total:.4g}")
        yield Check(LOSS, name, "?" if total <= 1.0 + SHARE else "", told, how)
    elif np.ptp(of_answers) <= SHARE * of_answers.max() and np.ptp(weight[MASK > 0] * length.repeat(length)) <= SHARE:
        divided = 1.0 / float(of_answers.mean())
        ways = {float(len(MASK)): "then over answers, as in GRPO", 1.0: "then their sum: the step grows with the batch"}
        told = next((way for n, way in ways.items() if abs(divided - n) <= SHARE * n), f"divided by {divided:.4g}")
        mark: Mark = "?" if divided <= 1.0 + SHARE else ""
        yield Check(LOSS, name, mark, f"mean over each answer, {told}", how)
    else:
        value = f"tokens count from {held.min():.3g} to {held.max():.3g}, and not by the length of their answer"
        yield Check(LOSS, name, "?", value, how)


def _levels(slopes: Slopes) -> Iterator[Check]:
    """Whether the slope of a token depends on how likely it was. Only the change since then may count."""
    change, on = -0.01 * np.ones(MASK.shape), MASK > 0
    usual = slopes.at(change, GOOD, MASK)[on]
    if not (np.abs(usual) > slopes.nothing).all():
        return  # told by the other probes
    rates = slopes.at(change, GOOD, MASK, LIKELY)[on] / usual
    off = float(np.abs(rates - 1).max())
    shares = rates / np.exp(LIKELY[on])
    name, how = "likely and unlikely tokens", "the gradient at old log-probs from -12.3 to -0.2"
    mark: Mark = "!!"
    if off <= SHARE:
        mark, value = "", "each counts alike"
    elif np.ptp(shares) <= SHARE * np.abs(shares).max():
        value = "each counts by its probability: the probability is in the loss, not its logarithm"
    elif off <= ROUNDED:
        value = f"slopes are off by {off:.2g}: log-probs are rounded to half precision before their difference"
    else:
        mark, value = (
            "?",
            f"{rates.min():.3g} to {rates.max():.3g} times as much: they are weighted by how likely they are",
        )
    yield Check(LOSS, name, mark, value, how)


def _sizes(slopes: Slopes) -> Iterator[Check]:
    """Whether an advantage that is four times as large pushes four times as much."""
    usual, larger = ((slopes.at(STILL, by * GOOD, MASK) * MASK).sum(1) for by in (1.0, TIMES))
    if not (np.abs(usual) > slopes.nothing).all():
        return  # told by the other probes
    rates = larger / usual
    mark: Mark = "!!"
    if np.abs(rates - TIMES).max() <= SHARE * TIMES:
        mark, value = "", f"{TIMES:g} times as much"
    elif np.ptp(rates) <= SHARE * TIMES:
        mark, value = "?", f"{rates.mean():.3g} times as much: advantages are scaled in the loss"
    else:
        value = f"{rates.min():.3g} to {rates.max():.3g} times as much: advantages are clipped in the loss"
    yield Check(
        LOSS, "size of the advantages", mark, value, f"advantages of 1, 0.5, 0.25, and {TIMES:g} times as large"
    )


def _order(slopes: Slopes) -> Iterator[Check]:
    """Whether the same answers in another order get the same slopes."""
    usual = slopes.at(STILL, GOOD, MASK)
    turned = slopes.at(STILL, GOOD[::-1].copy(), MASK[::-1].copy())[::-1]
    off = float(np.abs(turned - usual).max())
    wrong = off > SHARE * float(np.abs(usual).max())
    value = f"slopes change by up to {off:.3g}: one answer stands for all" if wrong else "slopes are the same"
    yield Check(LOSS, "order of the answers", "!!" if wrong else "", value, "the last answer first")


def _empty(slopes: Slopes) -> Iterator[Check]:
    """A batch in which all tokens of one answer are masked, as where answers that were cut are filtered."""
    mask = MASK * np.array([[1], [0], [1]])
    name, how = "an answer without tokens", "the mask of one answer of three is 0"
    try:
        with np.errstate(all="ignore"):
            found = slopes.value(STILL, GOOD, mask), float(slopes.at(STILL, GOOD, mask).sum())
    except (Exception, SystemExit) as error:
        yield Check(LOSS, name, "?", f"raises {type(error).__name__}: may an answer be filtered?", how)
        return
    finite = bool(np.isfinite(found).all())
    value = f"{found[0]:.4g}{'' if finite else ': the whole batch is lost. May an answer be filtered?'}"
    yield Check(LOSS, name, "" if finite else "?", value, how)


def _padding(slopes: Slopes) -> Iterator[Check]:
    """Compares the gradient with that of the same samples in a wider batch. It differs if padding is in the
    denominator."""
    wide = np.pad(MASK, ((0, 0), (0, len(MASK[0]))))
    narrow, wider = (float((slopes.at(np.zeros(m.shape), GOOD, m) * m).sum()) for m in (MASK, wide))
    off = abs(wider - narrow) > SHARE * max(abs(narrow), slopes.nothing)
    value = f"{narrow:.4f} becomes {wider:.4f} in a batch twice as wide"
    if off:
        value += ": padding is in the denominator"
    how = "the same, unless the loss is divided by a fixed length as in Dr. GRPO"
    yield Check(LOSS, "length of the padding", "?" if off else "", value, how)


def _clip(slopes: Slopes) -> Iterator[Check]:
    """Which tokens are clipped after they moved far. Good tokens that became likelier and bad ones that became less
    likely must be clipped; the other two kinds must not."""

    def slides(way: float, advantages: Floats) -> bool:
        return bool((np.abs(slopes.at(way * FAR * MASK, advantages, MASK) * MASK) > slopes.nothing).any())

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
        mark, value = "!!", "it also clips tokens that moved the wrong way: no gradient brings them back"
    else:
        mark, value = "?", "it clips on one side only"
    yield Check(LOSS, "side of the clip", mark, value, "log-ratios of 0.6 up and down, good samples and bad ones")
    if not any(done) and all(behind):
        yield _range(slopes)


def _range(slopes: Slopes) -> Check:
    """The clip bounds, from the clipped loss divided by the loss at a ratio of 1."""
    high = slopes.value(FAR * MASK, GOOD, MASK) / slopes.value(STILL, GOOD, MASK) - 1
    low = 1 - slopes.value(-FAR * MASK, -GOOD, MASK) / slopes.value(STILL, -GOOD, MASK)
    mark: Mark = "!!" if min(low, high) < 0 else "?" if low > high * (1 + SHARE) + SHARE else ""
    value = f"1 − {low:.4g} to 1 + {high:.4g}"
    if mark:
        value += ": the lower bound is the wider one, are they swapped?"
    return Check(LOSS, "clip range", mark, value, "the same on both sides, or wider above (clip-higher)")

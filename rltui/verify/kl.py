"""Probes of the KL term: which estimator the function computes, from its values at a few log-probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.loss import LOSS

CLOSE, SHARE = 1e-4, 1e-3
LOG_PROBS = np.array([[-1.0, -2.0, -0.5, -1.5]])
REFERENCE = np.array([[-1.4, -1.7, -0.6, -0.9]])


def kl_probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `kl(log_probs, ref_log_probs)`, which returns an estimate for each token or their mean."""
    yield from guarded(LOSS, "KL estimator", partial(_kl, adapters))


def _kl(adapters: Adapters) -> Iterator[Check]:
    function = adapters.functions["kl"]
    assert function is not None

    def ask(policy: Floats, reference: Floats) -> Floats:
        return plain(function(adapters.array(policy), adapters.array(reference)))

    at_rest = float(np.abs(ask(REFERENCE, REFERENCE)).max())
    mark: Mark = "" if at_rest <= CLOSE else "!!"
    yield Check(LOSS, "KL of a policy from itself", mark, f"{at_rest:.4g}", "0")
    got = ask(LOG_PROBS, REFERENCE)
    apart = LOG_PROBS - REFERENCE
    right = {
        "k1, the difference": apart,
        "k2, half the square": apart**2 / 2,
        "k3, never below 0": np.exp(-apart) - 1 + apart,
        "the absolute difference": np.abs(apart),
    }
    wrong = {
        "k1 with the wrong sign: it rewards moving away from the reference": -apart,
        "k3 with policy and reference swapped": np.exp(apart) - 1 - apart,
        "k3 without its linear part": np.exp(-apart) - 1,
        "k3 with the wrong sign": -(np.exp(-apart) - 1 + apart),
        "k2 with the wrong sign: it rewards moving away from the reference": -(apart**2) / 2,
        "the absolute difference with the wrong sign": -np.abs(apart),
        "k2 without the half": apart**2,
        "weighted by the policy's probability, though it is of samples": np.exp(LOG_PROBS) * apart,
        "weighted by the reference's probability, though samples are the policy's": -np.exp(REFERENCE) * apart,
        "the difference of probabilities, not of their logarithms": np.exp(LOG_PROBS) - np.exp(REFERENCE),
        "k1 without what is below 0: it is biased": np.maximum(apart, 0.0),
    }
    how = "k1, k2 or k3 of samples of the policy (Schulman 2020)"
    for named, bad in ((right, ""), (wrong, "!!")):
        for name, values in named.items():
            if _same(got, values):
                mark = "!!" if bad else ""
                yield Check(LOSS, "KL estimator", "?" if "half" in name and bad else mark, name, how)
                return
    told = _in_the_mean(ask) if got.size == LOG_PROBS.size else ("?", "not a known estimator")
    yield Check(LOSS, "KL estimator", told[0], told[1], how)


def _in_the_mean(ask: Callable[[Floats, Floats], Floats]) -> tuple[Mark, str]:
    """What an unknown estimator gives in the mean over samples of the policy, against the divergence itself."""
    draw = np.random.default_rng(43)
    logits = draw.normal(size=(2, 6, 5))
    policy, reference = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    means = (np.exp(policy) * ask(policy, reference).reshape(policy.shape)).sum(-1)
    away = (np.exp(policy) * (policy - reference)).sum(-1)
    back = (np.exp(reference) * (reference - policy)).sum(-1)
    for divergence, words in ((away, "the divergence"), (back, "the divergence of the reference from the policy")):
        rate = means / divergence
        if np.ptp(rate) <= SHARE * np.abs(rate).max():
            times = float(rate.mean())
            right = divergence is away and abs(times - 1) <= SHARE
            mark: Mark = "" if right else "!!" if times < 0 else "?"
            return mark, f"not a known estimator, in the mean {times:.3g} times {words}"
    if (means < 0).all():
        return "!!", "not a known estimator, and below 0 in the mean: it rewards moving away from the reference"
    return "?", "not a known estimator, and in the mean not the divergence"


def _same(got: Floats, values: Floats) -> bool:
    """Whether they are equal, token by token, or in their mean or sum."""
    if got.size == values.size:
        return bool(np.abs(got.reshape(values.shape) - values).max() <= CLOSE)
    return bool(got.size == 1 and min(abs(got.reshape(-1)[0] - one) for one in (values.mean(), values.sum())) <= CLOSE)

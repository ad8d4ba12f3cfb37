"""Probes of the KL term: which estimator the function is, by its values at a few log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded
from rltui.verify.loss import LOSS

CLOSE = 1e-4
LOG_PROBS = np.array([[-1.0, -2.0, -0.5, -1.5]])
REFERENCE = np.array([[-1.4, -1.7, -0.6, -0.9]])


def kl_probes(adapters: Adapters) -> Iterator[Check]:
    """`kl(log_probs, ref_log_probs)`: an estimate for each token, or the mean of them."""
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
    yield Check(LOSS, "KL estimator", "?", "not a known estimator", how)


def _same(got: Floats, values: Floats) -> bool:
    """Whether they are equal, token by token or in their mean."""
    if got.size == values.size:
        return bool(np.abs(got.reshape(values.shape) - values).max() <= CLOSE)
    return bool(got.size == 1 and abs(float(got.reshape(-1)[0]) - values.mean()) <= CLOSE)

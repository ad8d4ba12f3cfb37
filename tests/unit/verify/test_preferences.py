"""Losses of preferences beside plain DPO: the variants of libraries are no violation, mistakes in them are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rltui.verify import verify
from rltui.verify.adapters import from_names

SMOOTH = 0.1
Loss = Callable[..., Any]


def _log_sigmoid(x: Any) -> Any:
    return -np.logaddexp(0.0, -x)


def _sigmoid(x: Any) -> Any:
    return np.exp(_log_sigmoid(x))


def _of_margin(loss: Callable[[Any], Any]) -> Loss:
    return lambda c, r, rc, rr, beta: loss(beta * ((c - r) - (rc - rr)))


def _of_ratios(loss: Callable[[Any, Any], Any]) -> Loss:
    return lambda c, r, rc, rr, beta: loss(beta * (c - rc), beta * (r - rr))


def conservative(h: Any) -> Any:
    return -(1 - SMOOTH) * _log_sigmoid(h) - SMOOTH * _log_sigmoid(-h)


RIGHT: dict[str, Loss] = {
    "label smoothing": _of_margin(conservative),
    "label smoothing, the mean": _of_margin(lambda h: conservative(h).mean()),
    "robust": _of_margin(lambda h: (-(1 - SMOOTH) * _log_sigmoid(h) + SMOOTH * _log_sigmoid(-h)) / (1 - 2 * SMOOTH)),
    "SPPO": lambda c, r, rc, rr, beta: (c - rc - 0.5 / beta) ** 2 + (r - rr + 0.5 / beta) ** 2,
    "NCA": _of_ratios(lambda a, b: -_log_sigmoid(a) - 0.5 * _log_sigmoid(-a) - 0.5 * _log_sigmoid(-b)),
    "APO-zero": _of_ratios(lambda a, b: 1 - _sigmoid(a) + _sigmoid(b)),
    "EXO": _of_margin(
        lambda h: _sigmoid(h) * (_log_sigmoid(h) - np.log(0.999)) + _sigmoid(-h) * (_log_sigmoid(-h) - np.log(0.001))
    ),
}
WRONG: dict[str, Loss] = {
    "the sign of the smoothing": _of_margin(lambda h: -(1 - SMOOTH) * _log_sigmoid(h) + SMOOTH * _log_sigmoid(-h)),
    "the smoothing is the label": _of_margin(lambda h: -SMOOTH * _log_sigmoid(h) - (1 - SMOOTH) * _log_sigmoid(-h)),
    "beta twice": lambda c, r, rc, rr, beta: -_log_sigmoid(beta * beta * ((c - r) - (rc - rr))),
    "half of the margin": _of_margin(lambda h: -_log_sigmoid(h / 2)),
    "beta of the policy alone": lambda c, r, rc, rr, beta: -_log_sigmoid(beta * (c - r) - (rc - rr)),
    "the mean of the margins": _of_margin(lambda h: -_log_sigmoid(h.mean())),
    "each sigmoid by itself": _of_ratios(lambda a, b: _log_sigmoid(b) - _log_sigmoid(a)),
    "wrong pairs are dropped": _of_margin(lambda h: -_log_sigmoid(np.maximum(h, 0.0))),
    "the target of IPO": lambda c, r, rc, rr, beta: ((c - r) - (rc - rr) - beta / 2) ** 2,
    "the sum": _of_margin(lambda h: -_log_sigmoid(h).sum()),
}


def violations(loss: Loss) -> list[str]:
    return [f"{c.name}: {c.value}" for c in verify(from_names({"dpo_loss": loss})) if c.mark == "!!"]


@pytest.mark.parametrize("name", RIGHT)
def test_a_variant_is_no_violation(name: str) -> None:
    assert violations(RIGHT[name]) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_in_a_variant_is_certain(name: str) -> None:
    assert violations(WRONG[name]) != []


def test_the_share_of_smoothing_is_told() -> None:
    told = [c.value for c in verify(from_names({"dpo_loss": RIGHT["robust"]})) if c.name == "loss of preferences"]
    assert told == ["DPO with label smoothing 0.1 (robust)"]

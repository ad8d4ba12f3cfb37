"""Probes of a critic's returns and advantages: generalised advantage estimation (Schulman et al. 2016) on answers of
several lengths, compared with the recursion in float64."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.check import Check, Mark, guarded

STAGE = "advantages"
CLOSE = 1e-4
REWARDS = np.array([[0.0, 0.1, 0.0, 1.0, 0.0], [0.2, 0.0, -0.5, 0.0, 2.0], [0.0, 3.0, 0.0, 0.0, 0.0]])
VALUES = np.array([[0.3, -0.2, 0.5, 0.4, 9.0], [0.1, 0.6, -0.3, 0.2, 0.7], [0.5, -0.4, 9.0, 9.0, 9.0]])
MASK = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 0, 0, 0]], dtype=np.float64)
GAMMA, LAMBDA = 0.9, 0.8


def _estimated(
    rewards: Floats, values: Floats, mask: Floats, gamma: float, lam: float, ends: bool = True
) -> tuple[Floats, Floats]:
    """Advantages and returns; 0 after the end of an answer. `ends`: whether values after the end have no influence."""
    out, width = np.zeros_like(rewards), rewards.shape[1]
    carried, following = np.zeros(len(rewards)), np.zeros(len(rewards))
    for at in reversed(range(width)):
        error = rewards[:, at] + gamma * following - values[:, at]
        carried = error + gamma * lam * carried
        if ends:
            carried = carried * mask[:, at]
        out[:, at] = carried
        following = values[:, at] * mask[:, at] if ends else values[:, at]
    return out * mask, (out + values) * mask


def probes(adapters: Adapters) -> Iterator[Check]:
    """Probes of `gae(rewards, values, mask, gamma, lam)`. It returns advantages, or (advantages, returns), not
    whitened. All arrays are (B, T)."""
    yield from guarded(STAGE, "advantages of a critic", partial(_gae, adapters))


def _ask(adapters: Adapters, gamma: float, lam: float) -> tuple[Floats, Floats | None]:
    function = adapters.functions["gae"]
    assert function is not None
    held = [adapters.array(values) for values in (REWARDS, VALUES, MASK)]
    got = function(*held, gamma, lam)
    advantages, returns = got if isinstance(got, tuple | list) and len(got) == 2 else (got, None)
    shaped = plain(advantages)
    if shaped.shape != REWARDS.shape:
        raise ValueError(f"advantages of shape {shaped.shape} for rewards of shape {REWARDS.shape}")
    return shaped * MASK, None if returns is None else plain(returns) * MASK


def _gae(adapters: Adapters) -> Iterator[Check]:
    for gamma, lam in ((GAMMA, LAMBDA), (1.0, 1.0), (GAMMA, 0.0)):
        got, returns = _ask(adapters, gamma, lam)
        wanted, sums = _estimated(REWARDS, VALUES, MASK, gamma, lam)
        name, how = f"advantages of a critic, γ {gamma:g}, λ {lam:g}", "the recursion in float64, 1e-4"
        off = float(np.abs(got - wanted).max())
        if off <= CLOSE or any(np.abs(got - white).max() <= CLOSE for white in _whitened(wanted)):
            value = f"largest difference {off:.3g}" if off <= CLOSE else "right, and whitened over the batch"
            yield Check(STAGE, name, "", value, how)
        else:
            yield Check(STAGE, name, "!!", f"largest difference {off:.3g}{_hint(got, wanted, gamma, lam)}", how)
        if returns is not None:
            off = float(np.abs(returns - sums).max())
            mark: Mark = "" if off <= CLOSE else "!!"
            what = ": they are the advantages" if np.abs(returns - wanted).max() <= CLOSE else ""
            if mark and np.abs(returns - _estimated(REWARDS, VALUES, MASK, gamma, 1.0)[1]).max() <= CLOSE:
                mark, what = "?", ": they are sums of rewards to the end, as decoupled GAE has them"
            name = f"returns, γ {gamma:g}, λ {lam:g}"
            yield Check(STAGE, name, mark, f"largest difference {off:.3g}{what}", "advantages plus values")


def _whitened(wanted: Floats) -> list[Floats]:
    """`wanted`, whitened by the mean and spread of all tokens that count, as verl does right away."""
    held = wanted[MASK > 0]
    return [(wanted - held.mean()) / held.std(ddof=free) * MASK for free in (0, 1)]


def _hint(got: Floats, wanted: Floats, gamma: float, lam: float) -> str:
    """The common mistake that explains the numbers; empty if none does."""
    guesses = {
        "the sign is turned": -wanted,
        "what is behind the end of an answer flows in": _estimated(REWARDS, VALUES, MASK, gamma, lam, False)[0],
        "λ is not used": _estimated(REWARDS, VALUES, MASK, gamma, 1.0)[0],
        "γ is not used": _estimated(REWARDS, VALUES, MASK, 1.0, lam)[0],
        "only the error of each step, without those after it": _estimated(REWARDS, VALUES, MASK, gamma, 0.0)[0],
        "γ and λ are swapped": _estimated(REWARDS, VALUES, MASK, lam, gamma)[0],
        "the values are not subtracted": _estimated(REWARDS, VALUES * 0, MASK, gamma, lam)[0],
        "they are the returns": _estimated(REWARDS, VALUES, MASK, gamma, lam)[1],
        "each belongs to the token before": np.roll(wanted, 1, axis=1) * MASK,
        "each belongs to the token after": np.roll(wanted, -1, axis=1) * MASK,
    }
    return next((f": {words}" for words, guess in guesses.items() if np.abs(got - guess).max() <= CLOSE), "")

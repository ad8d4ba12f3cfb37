"""How a loss changes with each token's log-probability: by autograd if the user's functions take tensors, because
training uses that gradient, else by differences. TRL's `exp(lp - lp.detach())` has a constant value and a right
gradient."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rltui.records import cached
from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.loss import MASK

DIFFERENCE = 1e-4
"""Half the distance between the two log-probabilities of a difference. It is less than GSPO's clip range over the
length of an answer."""
ROUNDING, LEAST = 1e-2, 1e-9
"""A slope below the first, as a share of the largest slope, or below the second is rounding."""


class Slopes:
    """Slopes of the user's `loss(log_probs, old_log_probs, advantages, mask)` if all old log-probs are -1."""

    def __init__(self, adapters: Adapters) -> None:
        self.adapters = adapters
        self.function: Any = adapters.functions["loss"]
        self.by_autograd = adapters.backend == "torch" and "torch" in sys.modules

    @cached
    def nothing(self) -> float:
        """Slopes up to this size count as 0. A correct loss may divide by up to the longest allowed answer."""
        slope = self.at(np.zeros(MASK.shape), np.ones(len(MASK)), MASK)
        return max(LEAST, ROUNDING * float(np.abs(slope).max()))

    def _arrays(self, change: Floats, advantages: Floats, mask: Floats) -> list[Any]:
        old = np.full(mask.shape, -1.0)
        kind = "float32" if self.adapters.backend == "torch" else "float64"
        held = [self.adapters.array(values, kind) for values in (old + change, old, advantages)]
        return [*held, self.adapters.array(mask)]

    def value(self, change: Floats, advantages: Floats, mask: Floats) -> float:
        """The loss after the log-probs changed by `change`."""
        return float(plain(self.function(*self._arrays(change, advantages, mask))))

    def at(self, change: Floats, advantages: Floats, mask: Floats) -> Floats:
        """The slope of the loss for the log-probability of each token, in the shape of `mask`."""
        if not self.by_autograd:
            return self.by_differences(change, advantages, mask)
        arrays = self._arrays(change, advantages, mask)
        arrays[0].requires_grad_(True)
        found = self.function(*arrays)
        if not getattr(found, "requires_grad", False):
            return np.zeros(mask.shape)
        found.sum().backward()
        return plain(arrays[0].grad) if arrays[0].grad is not None else np.zeros(mask.shape)

    def by_differences(self, change: Floats, advantages: Floats, mask: Floats) -> Floats:
        """Like `at`, but from the values of the loss alone."""
        out = np.zeros(mask.shape)
        for place in np.ndindex(mask.shape):
            step = np.zeros(mask.shape)
            step[place] = DIFFERENCE
            ends = [self.value(change + way * step, advantages, mask) for way in (1, -1)]
            out[place] = (ends[0] - ends[1]) / (2 * DIFFERENCE)
        return out

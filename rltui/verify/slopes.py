"""How a loss changes with each token's log-probability: by autograd if the user's functions take tensors, because
training uses that gradient, else by differences. TRL's `exp(lp - lp.detach())` has a constant value and a right
gradient."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any

import numpy as np

from rltui.verify.adapters import Adapters, Floats, plain
from rltui.verify.loss import MASK

LEVEL = -1.0
"""Log-probability of every token, where it does not matter."""
DIFFERENCE = 1e-4
"""Half the distance between the two log-probabilities of a difference. It is less than GSPO's clip range over the
length of an answer."""
ROUNDING, LEAST = 1e-2, 1e-9
"""A slope below the first, as a share of the largest slope, or below the second is rounding."""


class Slopes:
    """The user's `loss(log_probs, old_log_probs, advantages, mask)`, near the log-probs of the old policy."""

    def __init__(self, adapters: Adapters) -> None:
        self.adapters = adapters
        self.function: Any = adapters.functions["loss"]
        self.by_autograd = adapters.backend == "torch" and "torch" in sys.modules

    @cached_property
    def nothing(self) -> float:
        """Slopes up to this size count as 0. A correct loss may divide by up to the longest allowed answer."""
        slope = self.at(np.zeros(MASK.shape), np.ones(len(MASK)), MASK)
        return max(LEAST, ROUNDING * float(np.abs(slope).max()))

    def _arrays(self, change: Floats, advantages: Floats, mask: Floats, level: Floats | float) -> list[Any]:
        old = np.broadcast_to(np.asarray(level, dtype=np.float64), mask.shape)
        kind = "float32" if self.adapters.backend == "torch" else "float64"
        held = [self.adapters.array(values, kind) for values in (old + change, old, advantages)]
        return [*held, self.adapters.array(mask)]

    def value(self, change: Floats, advantages: Floats, mask: Floats, level: Floats | float = LEVEL) -> float:
        """The loss after the log-probs changed by `change` from `level`."""
        found = plain(self.function(*self._arrays(change, advantages, mask, level)))
        if found.size != 1:
            raise ValueError(f"{found.size} numbers: the loss must be one")
        return float(found.reshape(-1)[0])

    def at(self, change: Floats, advantages: Floats, mask: Floats, level: Floats | float = LEVEL) -> Floats:
        """The slope of the loss by the log-probability of each token, shape of `mask`."""
        if not self.by_autograd:
            return self.by_differences(change, advantages, mask, level)
        arrays = self._arrays(change, advantages, mask, level)
        arrays[0].requires_grad_(True)
        found = self.function(*arrays)
        if not getattr(found, "requires_grad", False):
            return np.zeros(mask.shape)
        found.sum().backward()
        return plain(arrays[0].grad) if arrays[0].grad is not None else np.zeros(mask.shape)

    def by_differences(self, change: Floats, advantages: Floats, mask: Floats, level: Floats | float = LEVEL) -> Floats:
        """The same from the values of the loss alone."""
        out = np.zeros(mask.shape)
        for place in np.ndindex(mask.shape):
            step = np.zeros(mask.shape)
            step[place] = DIFFERENCE
            ends = [self.value(change + way * step, advantages, mask, level) for way in (1, -1)]
            out[place] = (ends[0] - ends[1]) / (2 * DIFFERENCE)
        return out

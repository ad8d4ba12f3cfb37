"""Cases of the rules of pages/samples.json."""

from __future__ import annotations

from tests.unit.rollouts.dumps import GOOD
from tests.unit.rules.given import Writer, samples

WRONG = GOOD.replace("<answer>4", "<answer>5")


def graded(paid: int) -> Writer:
    """Every second answer is right, and of eight right ones so many are paid, of eight wrong ones the others."""
    return lambda step, n: (GOOD if n % 2 else WRONG, float((n // 2 % 8 < paid) == bool(n % 2)))


CASES = (samples("reward-contradicts-answer", graded(4), graded(7)),)

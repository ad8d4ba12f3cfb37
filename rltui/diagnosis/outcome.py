"""What a test of a cause comes out as, and of which stretch of the run it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Answer = Literal["met", "unmet", "unknown"]

DECISIVE, SEEN, SET = 3, 2, 1
"""Weights: it is as good as proof; the run's numbers show it; only a setting speaks for it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`text` says what was found, in numbers; of an unknown one what it would need."""

    answer: Answer
    text: str
    weight: int = SEEN


@dataclass(frozen=True, slots=True)
class Spell:
    """From which step to which a finding stood; `onset` None: nobody knows since when."""

    onset: int | None
    end: int

"""What a test of a cause comes out as, and of which stretch of the run it is asked."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Answer = Literal["met", "unmet", "unknown"]

DECISIVE, SEEN, SET = 3, 2, 1
"""Weights: it is as good as proof; the run's numbers show it; only a setting speaks for it."""


class Outcome(Struct, frozen=True):
    """`text` says what was found, in numbers; of an unknown one what it would need."""

    answer: Answer
    text: str
    weight: int = SEEN


class Spell(Struct, frozen=True):
    """From which step to which a finding stood; `onset` None: nobody knows since when. `early`: by how many steps the
    onset may be dated too early, as of a fall that was seen only at the next evaluation."""

    onset: int | None
    end: int
    early: int = 0

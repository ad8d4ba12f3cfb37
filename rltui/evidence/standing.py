"""The run as it stands at a look: its state, what it logs, and what of it is on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rltui.evidence.look import Look
from rltui.evidence.model import Coverage
from rltui.evidence.ranking import Ranking
from rltui.run.contradictions import Contradiction
from rltui.run.run import Checkpoint, RunState

OVER = ("finished", "crashed")
"""States of a run after which no further checkpoint is to come."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`state`: None for a run as it stood at an earlier row. `broken_at`: the step from which on its states are not to
    be trusted, None if there is none. `contradictions`: where two of its sources state other values for the same
    steps."""

    look: Look
    state: RunState | None
    coverage: Coverage
    ranked: Ranking | None
    saved: Sequence[Checkpoint]
    broken_at: int | None
    contradictions: Sequence[Contradiction] = ()

    @property
    def over(self) -> bool:
        """No further save is to come."""
        return self.state is not None and self.state.state in OVER

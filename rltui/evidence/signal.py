"""What a detector reports for one row."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.model import Cause, Fix, Mark
from rltui.plots.numbers import number, shorn

EASED, NOTICE, WARNING, CRITICAL = 0, 1, 2, 3
"""Levels. `EASED` holds no finding open: it brings the numbers of one that is open up to date until it closes."""


Words = str | Callable[[], str]
"""A sentence, or a function that makes it: an open finding is judged far more often than its text is read."""


class Signal(Struct, frozen=True):
    """A rule's condition holds now, at this level (1 notice, 2 warning, 3 critical), or holds no more (0).

    `summary` is one sentence with this run's numbers. `proofs` pairs a metric with what it shows. The onset is
    `onset_step` where the rule knows it; else the change point of the metric `moved`, or of `hurt`, the metric whose
    damage makes it loud, found when the finding opens and when it becomes loud.
    """

    level: int
    summary: Words
    proofs: tuple[tuple[str, str], ...] = ()
    subject: str | None = None
    moved: str | None = None
    hurt: str | None = None
    onset_step: int | None = None
    marks: tuple[Mark, ...] = ()
    stage: str | None = None  # of the pipeline, if it is another one than that of the rule
    causes: tuple[Cause, ...] = ()  # what this very case shows; they lead those of the page
    fixes: tuple[Fix, ...] = ()
    until: int | None = None  # the last step at which it was so, of a rule that counts what it saw for some rows on
    best_step: int | None = None  # of the best that its sentence names: what fell from it began no earlier
    lasted: int = 0  # newest rows in all of which the rule itself has seen it hold: they count for how long it has to

    @property
    def said(self) -> str:
        """The summary in words."""
        return self.summary if isinstance(self.summary, str) else self.summary()

    def worded(self) -> Signal:
        """With its words instead of what makes them, which holds the look that it was made at."""
        return self if isinstance(self.summary, str) else replace(self, summary=self.summary())


def num(value: float | None) -> str:
    """A number for a sentence: rounded as in every table, without the zeros that align a column."""
    return shorn(number(value, missing="?"))

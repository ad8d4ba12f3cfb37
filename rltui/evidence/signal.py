"""What a detector reports for one row."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from rltui.evidence.model import Cause, Fix, Mark
from rltui.plots.numbers import number, shorn

EASED, NOTICE, WARNING, CRITICAL = 0, 1, 2, 3
"""Levels. `EASED` does not keep a finding open: it only updates the numbers of an open one until that closes."""


Words = str | Callable[[], str]
"""A sentence, or a function that makes it: an open finding is judged far more often than its text is read."""


class Signal(Struct, frozen=True):
    """A rule's condition holds now at this level (1 notice, 2 warning, 3 critical), or no longer holds (0).

    `summary` is one sentence with this run's numbers. `proofs` pairs a metric with what it shows. The onset is
    `onset_step` if the rule knows it. Otherwise it is the change point of the metric `moved`, or of `hurt`, the metric
    whose damage makes the finding loud. The change point is found when the finding opens and when it becomes loud.
    """

    level: int
    summary: Words
    proofs: tuple[tuple[str, str], ...] = ()
    subject: str | None = None
    moved: str | None = None
    hurt: str | None = None
    onset_step: int | None = None
    marks: tuple[Mark, ...] = ()
    stage: str | None = None  # of the pipeline, if it differs from that of the rule
    causes: tuple[Cause, ...] = ()  # what this case shows; they come before those of the page
    fixes: tuple[Fix, ...] = ()
    until: int | None = None  # the last step at which it held, for a rule that counts what it saw for some rows on
    best_step: int | None = None  # of the best that its sentence names: a fall from it began no earlier
    lasted: int = 0  # newest rows in all of which the rule saw it hold: they count towards how long it has to

    @property
    def said(self) -> str:
        """The summary in words."""
        return self.summary if isinstance(self.summary, str) else self.summary()

    def worded(self) -> Signal:
        """The signal with its words instead of the function that makes them, which keeps its look alive."""
        return self if isinstance(self.summary, str) else replace(self, summary=self.summary())


def num(value: float | None) -> str:
    """A number for a sentence: rounded as in every table, without the zeros that align a column."""
    return shorn(number(value, missing="?"))

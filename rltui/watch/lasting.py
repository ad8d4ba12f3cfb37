"""Whether the verdict that --until waits for lasts: nobody's job is ended for one look at it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from rltui.evidence.model import Decision
from rltui.plots.numbers import duration
from rltui.report.model import Report
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

ROWS = 5
"""Rows that the verdict has to outlast: as many as a finding of the reward has to hold before it opens."""
SECONDS = 60.0
"""Time that it has to outlast, for runs of many rows a second."""


@dataclass(slots=True)
class Lasting:
    """Takes every report of one run. `rows` and `seconds`: how long the verdict must be one of `wanted`, counted from
    the first report that has it. A verdict for a measurement fault alone is none that is waited for."""

    wanted: Collection[Decision]
    rows: int = ROWS
    seconds: float = SECONDS
    _since: tuple[int, float] | None = field(default=None, init=False)

    def take(self, report: Report, now: float) -> str:
        """What it lasted, in words, once it has lasted; else empty. `now`: a clock in seconds that never goes back. Of
        a run that ended no row is to come: its last verdict stands."""
        verdict, rows = report.verdict, report.run.steps.rows
        measured = having(Trait.MEASUREMENT)
        blamed = set(verdict.because)
        if verdict.decision not in self.wanted or (blamed and blamed <= measured):
            self._since = None
            return ""
        first, began = self._since = self._since or (rows, now)
        if report.run.state in ("finished", "crashed"):
            return f"the run has {'ended' if report.run.state == 'finished' else 'crashed'}"
        comes = report.run.state != "stalled"
        if now - began < self.seconds or (comes and rows - first < self.rows):
            return ""
        return f"for {max(0, rows - first)} rows and {duration(now - began)}"

"""How sure a statement is: how often similar statements were right on runs whose truth is known.

A statement is a warning or critical finding, or that there is none; `python -m tests.evaluation confidence` counts
them. A rule with few runs of its own leans on all findings of its severity and number of rows, and these lean on all
findings: each share is (right + LEANS x the wider share) / (runs + LEANS).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from rltui.data_files import Record, kept, read
from rltui.evidence.model import Severity

FILE = Path(__file__).with_name("data") / "reliability.json"
BANDS = {"1-14": 1, "15-29": 15, "30-59": 30, "60-199": 60, "200-": 200}
"""Bands of the number of rows that a statement rests on, each by its first number."""
LEANS = 10.0
"""The number of runs that the wider share counts for."""
LOGGED = {"little": 0.0, "some": 0.4, "most": 0.75}
"""Bands of the share of expected metrics that is logged, each by its least share."""
GUESS = 0.5
"""The share if nothing was measured."""
SURE = 0.95
"""Statements that should be right in 98 to 99 of 100 runs, by the counts of one kind of source, were right in 92 to 97
in runs of another kind. Nothing is stated to be surer than that."""

Count = Annotated[int, Meta(ge=0)]


class Counts(Record):
    """A statement was right in `right` of `runs` runs."""

    right: Annotated[float, Meta(ge=0)]
    runs: Count


class Reliability(Record):
    """`loud`: findings by severity and band of rows; `clear`: statements that there is none, by the share of expected
    metrics logged, and by band; `rules`: findings of one rule."""

    how: Annotated[str, Meta(min_length=1)]
    command: Annotated[str, Meta(min_length=1)]
    loud: dict[str, dict[str, Counts]]
    clear: dict[str, dict[str, Counts]]
    rules: dict[str, Counts]


@kept
def reliability() -> Reliability:
    return read(FILE, Reliability)


def band(rows: int) -> str:
    return _class(BANDS, max(1, rows))


def logged(share: float) -> str:
    return _class(LOGGED, share)


def _class(classes: Mapping[str, float], value: float) -> str:
    return list(classes)[bisect_right(list(classes.values()), value) - 1]


def of_finding(rule: str, severity: Severity, rows: int, known: Reliability | None = None) -> float:
    """How sure it is that a finding of this rule names what is wrong. A note is as sure as a warning of its rule."""
    kind = "critical" if severity == "critical" else "warning"
    return _shipped_of_finding(rule, kind, band(rows)) if known is None else _of_finding(rule, kind, band(rows), known)


def of_clear(rows: int, share: float, known: Reliability | None = None) -> float:
    """How sure it is that nothing is wrong if no finding is loud. `share`: the share of expected metrics that is
    logged."""
    by = (reliability() if known is None else known).clear.get(logged(share), {})
    return _stated(_leaning(by.get(band(rows)), _all(by.values())))


@lru_cache(maxsize=1024)
def _shipped_of_finding(rule: str, kind: str, rows: str) -> float:
    """Remembered, because it is asked for every finding on every row."""
    return _of_finding(rule, kind, rows, reliability())


def _of_finding(rule: str, kind: str, rows: str, known: Reliability) -> float:
    by = known.loud.get(kind, {})
    alike = _leaning(by.get(rows), _all(c for found in known.loud.values() for c in found.values()))
    return _stated(_leaning(known.rules.get(rule), alike))


def _leaning(own: Counts | None, wider: float) -> float:
    return wider if own is None else (own.right + LEANS * wider) / (own.runs + LEANS)


def _all(counts: Iterable[Counts]) -> float:
    """The share over all counts, which leans on a guess."""
    found = list(counts)
    return _leaning(Counts(sum(c.right for c in found), sum(c.runs for c in found)), GUESS)


def _stated(value: float) -> float:
    return round(min(SURE, value), 2)

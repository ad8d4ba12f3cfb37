"""Findings that the samples bear out: what was a hypothesis of the metrics is then seen in the text itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files

import orjson

from rltui.diagnosis.model import Evidence, Finding
from rltui.diagnosis.sampled import Sampled, high, low
from rltui.diagnosis.signal import num, percent
from rltui.run.sample_stats import SampleStats

NUMBERS = ("length_mean", "distinct_2", "reward_mean")
"""Fields that are no shares."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What a number of the samples must do to bear out a rule; see `_holds`."""

    field: str
    how: str
    limit: float
    rules: frozenset[str]
    text: str


@lru_cache(maxsize=1)
def confirmations() -> tuple[Confirmation, ...]:
    """The table of `confirmations.json`."""
    data = orjson.loads((files("rltui.diagnosis") / "data" / "confirmations.json").read_bytes())
    return tuple(
        Confirmation(c["field"], c["is"], float(c["limit"]), frozenset(c["rules"]), c["text"])
        for c in data["confirmations"]
    )


def confirmed(findings: Iterable[Finding], seen: Sampled) -> tuple[Finding, ...]:
    """The findings, those that samples bear out with `basis` "samples" and the numbers as evidence. Only samples from
    the finding's onset on speak for it; what the config proves stays proven by the config."""
    return tuple(_with_samples(finding, seen) for finding in findings)


def _with_samples(finding: Finding, seen: Sampled) -> Finding:
    last = seen.dumps[-1] if seen.dumps else None
    if last is None or finding.status != "active" or finding.severity == "info":
        return finding
    if last.step is not None and finding.onset_step is not None and last.step < finding.onset_step:
        return finding
    told = {e.metric for e in finding.evidence}
    more = [e for c in confirmations() if finding.id in c.rules and (e := _holds(c, seen)) and e.metric not in told]
    if not more:
        return finding
    basis = "samples" if finding.basis == "hypothesis" else finding.basis
    return replace(finding, basis=basis, evidence=(*finding.evidence, *more))


def _holds(c: Confirmation, seen: Sampled) -> Evidence | None:
    """The evidence where the newest dump (against the first one) does what is asked, beyond what chance explains."""
    first, last = seen.dumps[0], seen.dumps[-1]
    was, now = getattr(first, c.field), getattr(last, c.field)
    if now is None or (c.how != "at least" and (was is None or first is last)):
        return None
    if c.how == "at least":
        holds = low(now, _count(last, c.field)) >= c.limit
    elif c.how == "risen by":
        holds = now - was >= c.limit and low(now, _count(last, c.field)) > high(was, _count(first, c.field))
    elif c.how == "risen to":
        holds = now >= c.limit * was > 0
    elif c.how == "fallen to":
        holds = was > 0 and now <= c.limit * was
    else:
        span = (seen.ceiling or 0.0) - (seen.floor or 0.0)
        holds = span > 0 and was - now >= c.limit * span
    if not holds:
        return None
    say = num if c.field in NUMBERS else percent
    return seen.evidence(c.field, c.text.format(first="?" if was is None else say(was), last=say(now)))


def _count(d: SampleStats, field: str) -> int:
    """Of how many samples or groups a share is."""
    return d.groups if field == "zero_variance" else d.samples if field == "truncated" else d.examined

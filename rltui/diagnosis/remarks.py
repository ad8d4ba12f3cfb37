"""Remarks: moves of metrics since the start, alone and together, that published guides call findings.

Here they are lines beside a rule's own evidence, never findings. Each names the rule that it belongs to. A metric has
moved only if the change stands out of its own noise, follows the step, and is large enough. The limits of share and
correlation are those of the guides; the noise floor is ours (a correlation above .4 appears in a third of short series
in which nothing happens).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from rltui.data_files import Record, kept, read
from rltui.evidence.beside_rows import Sampled, high, low
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look
from rltui.evidence.model import Evidence, Finding
from rltui.evidence.signal import num
from rltui.frameworks.load import metrics
from rltui.plots.numbers import percent
from rltui.prose import listed
from rltui.rollouts.samples import SampleStats

NUMBERS = ("length_mean", "distinct_2", "reward_mean")
"""Fields that are not shares."""


_DATA = Path(__file__).with_name("data")
How = Literal["at least", "risen by", "risen to", "fallen to", "fallen by"]
Way = Literal["rises", "falls"]


class Confirmation(Record):
    """What a number of the samples must do to support a rule; see `_holds`."""

    field: str
    how: How = msgspec.field(name="is")
    limit: float
    rules: frozenset[str]
    text: str


class Confirmations(Record):
    confirmations: tuple[Confirmation, ...]


@kept
def confirmations() -> tuple[Confirmation, ...]:
    """The table of `confirmations.json`."""
    return read(_DATA / "confirmations.json", Confirmations).confirmations


def confirmed(findings: Iterable[Finding], seen: Sampled, guard: Guard) -> tuple[Finding, ...]:
    """The findings. Those that samples confirm have `basis` "samples" and the numbers as evidence. Only samples since
    the finding's onset count. What the config proves keeps the config as its basis."""
    return tuple(guard.ask(finding.id, finding, _with_samples, finding, seen) for finding in findings)


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
    """The evidence, if the newest dump (against the first one) does what is asked, beyond what chance explains."""
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
    """The number of samples or groups that a share refers to."""
    return d.groups if field == "zero_variance" else d.samples if field == "truncated" else d.examined


CORRELATION = 0.4  # with the step
ERRORS = 4.0  # standard errors between first and last window
SIGNS: dict[Way, int] = {"rises": 1, "falls": -1}


class Remark(Struct, frozen=True):
    """`rule`: the rule that the line belongs to; `text`: what moved, with its numbers, and what it means."""

    id: str
    rule: str
    moves: tuple[Move, ...]
    text: str

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(move.metric for move in self.moves)


class Move(Struct, frozen=True):
    """A metric that moved: means of the first and last window in its own unit."""

    metric: str
    first: float
    last: float

    @property
    def text(self) -> str:
        """`kl_ref 0.01 → 0.05 (+400 %)`."""
        share = (
            f" ({'+' if self.last > self.first else '−'}{percent(abs(self.share))})" if self.share is not None else ""
        )
        return f"{self.metric} {num(self.first)} → {num(self.last)}{share}"

    @property
    def share(self) -> float | None:
        """The change as a share of the first window; None if that is 0."""
        return None if self.first == 0 else (self.last - self.first) / abs(self.first)


class RemarkEntry(Record):
    """A remark of the catalogue. `moves`: metric, way, least share of its first window; all must hold. `kl_in`: other
    words for runs with KL there. `unless`: not beside that remark. `without_gain_of`: only if that metric has not
    gained."""

    id: str
    rule: str
    moves: tuple[tuple[str, Way, float], ...]
    text: str
    kl_in: dict[Literal["loss", "reward"], str] = msgspec.field(default_factory=dict)
    only_kl_in: Literal["loss", "reward"] | None = None
    unless: str | None = None
    without_gain_of: str | None = None


class Remarks(Record):
    remarks: tuple[RemarkEntry, ...]


@kept
def _catalogue() -> tuple[RemarkEntry, ...]:
    return read(_DATA / "remarks.json", Remarks).remarks


def remarks(look: Look, guard: Guard) -> tuple[Remark, ...]:
    """All remarks that hold for these rows, in the order of the catalogue."""
    out: dict[str, Remark] = {}
    for entry in guard.ask("remarks", (), _catalogue):
        if entry.unless in out:
            continue
        found = guard.ask(f"remark {entry.id}", None, _remark, entry, look)
        if found is not None:
            out[found.id] = found
    return tuple(out.values())


def _remark(entry: RemarkEntry, look: Look) -> Remark | None:
    if entry.only_kl_in not in (None, look.settings.kl_where):
        return None
    moves = [_move(look, name, way, share) for name, way, share in entry.moves]
    seen = [m for m in moves if m is not None]
    if len(seen) < len(moves) or not _still(look, entry.without_gain_of):
        return None
    where = look.settings.kl_where
    reading = entry.text if where is None else entry.kl_in.get(where, entry.text)
    text = f"{listed([m.text for m in seen])}: {reading}"
    return Remark(entry.id, entry.rule, tuple(seen), text)


def _move(look: Look, name: str, way: Way, share: float) -> Move | None:
    """The move of a metric this way, by at least `share` of its first window; None if noise explains it."""
    found, sign = look.facts.metric(name), SIGNS[way]
    if found is None or sign * look.facts.errors(name) < ERRORS:
        return None
    move = Move(name, found.start.value, found.end.value)
    if share and (move.share is None or abs(move.share) <= share):
        return None
    return move if sign * found.with_time > CORRELATION else None


def _still(look: Look, name: str | None) -> bool:
    """Whether the metric, if one is named, is logged and is still where it began. A gain in the first rows counts."""
    if name is None:
        return True
    found = look.facts.metric(name)
    return found is not None and found.since_first is not None and found.since_first.direction * found.better <= 0


COUNTERS = "progress"
"""The group of metrics that only count up."""


class Moved(Struct, frozen=True):
    """A metric that moved: means of its first and last window in its own unit, and what to read in it."""

    metric: str
    first: float
    last: float
    text: str


def moved(look: Look, guard: Guard) -> tuple[Moved, ...]:
    """Moves that exceed the noise: first remarks in the order of their catalogue, each under its first metric, then
    moves that no remark names, in the order of the vocabulary. A key with two names is listed once."""
    told = remarks(look, guard)
    said = [Moved(move.metric, move.first, move.last, remark.text) for remark in told for move in remark.moves[:1]]
    known = {name for remark in told for name in remark.metrics}
    keys = {found.series.key for name in known if (found := look.facts.metric(name)) is not None}
    for name, metric in metrics().items():
        found = look.facts.metric(name) if metric.group != COUNTERS and name not in known else None
        if found is None or found.since_start is None or abs(found.since_start.errors) < ERRORS:
            continue
        if found.series.key in keys:
            continue
        keys.add(found.series.key)
        move = Move(name, found.start.value, found.end.value)
        said.append(Moved(name, move.first, move.last, move.text))
    return tuple(said)

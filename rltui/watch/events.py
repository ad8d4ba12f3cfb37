"""What happened to a run between one look and the next. Each thing is told once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from rltui.diagnosis.model import SEVERITY_RANK, Decision, Finding, Severity
from rltui.session import Frame

SCHEMA = "rltui.event/1"

Kind = Literal[
    "summary",  # the run as it stood when the watch began
    "opened",  # a finding, or a new episode of one
    "worse",
    "better",
    "resolved",
    "stall",  # the run hangs
    "recovery",  # it goes on
    "restart",  # steps were done again, or a further attempt began
    "end",  # it finished or crashed
    "done",  # the watch ends
]

_ABOUT_STATE = ("run-stalled", "run-crashed")
"""Findings that the events stall, recovery and end tell of."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line. `time` in seconds since the epoch; `finding` and what follows it where the event is about one."""

    kind: Kind
    time: float
    run: str
    path: str
    step: int | None
    total: int | None
    state: str
    decision: Decision
    text: str
    finding: str | None = None
    subject: str | None = None
    severity: Severity | None = None
    onset_step: int | None = None
    quote: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, in a fixed order."""
        values = asdict(self)
        values["time"] = iso(self.time)
        return {"schema": SCHEMA, "event": values.pop("kind"), **values}


def iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")


@dataclass(slots=True)
class Told:
    """What was told of one finding: its episodes so far, the rank of the last one told, and whether it is open."""

    episodes: int
    rank: int
    open: bool


@dataclass(slots=True)
class Seen:
    """What was told of one run; plain values that another run of the watch could go on from."""

    findings: dict[tuple[str, str | None], Told] = field(default_factory=dict)
    restarts: int = 0
    hung: bool = False
    sure: bool = False
    ended: bool = False
    began: bool = False
    worst: int = 0  # highest rank of any finding that was open while we watched


class Changes:
    """Turns the frames of one run into events."""

    def __init__(self, seen: Seen | None = None) -> None:
        self.seen = seen or Seen()

    def of(self, frame: Frame) -> list[Event]:
        """What is new in this frame since the last one given; nothing while the run is still being read."""
        if not frame.loading.done:
            return []
        seen, findings = self.seen, frame.diagnosis.findings
        open_now = [SEVERITY_RANK[f.severity] for f in findings if f.status == "active"]
        seen.worst = max([seen.worst, *open_now])
        events: list[Event] = []
        if not seen.began:
            events.append(_event(frame, "summary", frame.diagnosis.verdict.text))
        restarts = len(frame.run.history.table.restarts)
        if restarts > seen.restarts and seen.began:
            at = frame.run.history.table.restarts[-1]
            events.append(_event(frame, "restart", f"goes on from step {at} in a new attempt"))
        seen.restarts = restarts
        for finding in findings:
            if finding.id not in _ABOUT_STATE:
                events += self._finding(frame, finding)
        events += self._state(frame)
        seen.began = True
        return events

    def _finding(self, frame: Frame, finding: Finding) -> Iterator[Event]:
        """Level by level. A finding that shows between two of the engine's looks may vanish again without being
        resolved: what was told of an episode is not told again."""
        key, episodes = (finding.id, finding.subject), len(finding.episodes)
        told, rank = self.seen.findings.get(key), SEVERITY_RANK[finding.severity]
        is_new = told is None or episodes > told.episodes
        if finding.status == "active":
            if is_new and rank > 0:
                yield _event(frame, "opened", finding.summary or finding.title, finding)
                self.seen.findings[key] = Told(episodes, rank, True)
            elif told is not None and not is_new and rank > told.rank:
                yield _event(frame, "worse", finding.summary or finding.title, finding)
                told.rank = rank
            elif told is not None and not is_new and rank < told.rank and finding.life == "better":
                yield _event(frame, "better", finding.summary or finding.title, finding)
                told.rank = rank
            return
        if is_new:
            if self.seen.began and SEVERITY_RANK[finding.peak_severity] > 0:  # came and went between two looks
                yield _event(frame, "opened", finding.summary or finding.title, finding, finding.peak_severity)
                yield _event(frame, "resolved", f"{finding.title}: over", finding)
            self.seen.findings[key] = Told(episodes, 0, False)
        elif told is not None and told.open:
            yield _event(frame, "resolved", f"{finding.title}: over", finding)
            told.rank, told.open = 0, False

    def _state(self, frame: Frame) -> Iterator[Event]:
        card, seen = frame.stall, self.seen
        if card is None:
            return
        because = "; ".join(card.because)
        over = card.over
        hung = card.verdict == "hung"
        severity: Severity = "critical" if card.sure else "warning"
        if hung and not seen.hung:
            yield _event(frame, "stall", because, severity=severity, quote=card.quote, finding_id="run-stalled")
        elif hung and card.sure and not seen.sure:
            yield _event(frame, "worse", because, severity=severity, quote=card.quote, finding_id="run-stalled")
        elif (seen.hung or seen.ended) and card.verdict in ("fine", "slow"):
            yield _event(frame, "recovery", because)
        if over and not seen.ended:
            crash = next((f for f in frame.diagnosis.findings if f.id == "run-crashed"), None)
            yield _event(
                frame,
                "end",
                because,
                severity=crash.severity if crash is not None else None,
                quote=card.quote,
                finding_id=crash.id if crash is not None else None,
            )
        seen.hung, seen.sure, seen.ended = hung, hung and card.sure, over


def _event(
    frame: Frame,
    kind: Kind,
    text: str,
    finding: Finding | None = None,
    severity: Severity | None = None,
    quote: str = "",
    finding_id: str | None = None,
) -> Event:
    run = frame.run
    return Event(
        kind=kind,
        time=frame.now,
        run=run.id,
        path=run.path,
        step=frame.diagnosis.at_step,
        total=run.planned_steps,
        state=run.state(frame.now).state,
        decision=frame.diagnosis.verdict.decision,
        text=text,
        finding=finding.id if finding is not None else finding_id,
        subject=finding.subject if finding is not None else None,
        severity=severity or (finding.severity if finding is not None else None),
        onset_step=finding.onset_step if finding is not None else None,
        quote=quote or None,
    )

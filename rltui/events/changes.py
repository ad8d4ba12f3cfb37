"""What happened to a run between one look and the next, also as a line for people. Each thing is reported once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.evidence.model import SEVERITY_RANK, Decision, Finding, Severity
from rltui.records import as_dict, names
from rltui.report.answer import QUESTIONS, answer
from rltui.report.model import Report
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

SCHEMA = "rltui.event/1"

Kind = Literal[
    "summary",  # the state of the run when the watch began
    "resumed",  # a watch that was killed continues
    "opened",  # a finding, or a new episode of one
    "worse",
    "better",
    "resolved",
    "stall",  # the run hangs
    "recovery",  # it continues
    "restart",  # steps were repeated, a further attempt began, or another run replaced this one
    "end",  # it finished or crashed
    "met",  # its verdict is the one that --until waits for
    "heartbeat",  # the watch is alive
    "done",  # the watch ends
]


SIGNS_OF_LIFE: tuple[Kind, ...] = ("resumed", "heartbeat", "done")
"""Events of the watch, not of the run."""

_LATER = ("kind", "time", "again", "badge", "answer")
"""Fields that are written differently, or that an event of an earlier release lacks."""


class Event(Struct, frozen=True):
    """One line. `time` is in seconds since the epoch. `finding` and the fields after it are set if the event is about a
    finding. `seq` counts the events of one run, even across restarts of the reporter. `again`: it may have been
    reported before."""

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
    seq: int = 0
    again: bool = False
    badge: str = ""  # the verdict in the words of the screen
    answer: dict[str, str] | None = None  # what a report of the run opens with; None for a sign of life

    @staticmethod
    def of_dict(values: dict[str, Any]) -> Event:
        """The event whose `as_dict` was saved. Raises KeyError, TypeError or ValueError for anything else."""
        own = {name: values[name] for name in names(Event) if name not in _LATER}
        time = datetime.fromisoformat(values["time"]).timestamp()
        again, badge = bool(values.get("again")), values.get("badge", "")
        return Event(kind=values["event"], time=time, again=again, badge=badge, answer=values.get("answer"), **own)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, in a fixed order."""
        values = as_dict(self)
        values["time"] = iso(self.time)
        if not self.again:
            del values["again"]
        if self.answer is None:
            del values["answer"]
        return {"schema": SCHEMA, "event": values.pop("kind"), **values}


def iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="seconds")


SEVERITIES: dict[int, Severity] = {0: "info", 1: "warning", 2: "critical"}


class Told(Struct):
    """What was reported of one finding: the number of its episodes so far, and for the last one the rank reported last,
    the highest rank reported, and whether it is open."""

    episodes: int
    rank: int
    peak: int
    open: bool


class SeenSoFar(Struct):
    """What was reported of one run, as plain values from which a later watch continues."""

    findings: dict[tuple[str, str | None], Told] = field(default_factory=dict)
    restarts: int = 0
    hung: bool = False
    sure: bool = False
    ended: bool = False
    began: bool = False
    met: bool = False  # the verdict that was waited for came
    worst: int = 0  # highest rank of any finding that was open during the watch
    step: int | None = None  # how far the run was
    seq: int = 0  # events so far

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {name: getattr(self, name) for name in names(self) if name != "findings"}
        return {
            **values,
            "findings": [[*key, told.episodes, told.rank, told.peak, told.open] for key, told in self.findings.items()],
        }

    @staticmethod
    def of_dict(values: dict[str, Any]) -> SeenSoFar:
        """What `as_dict` gave. Raises KeyError, TypeError or ValueError for anything else."""
        told = {
            (str(id), None if subject is None else str(subject)): Told(
                int(episodes), int(rank), int(peak), bool(is_open)
            )
            for id, subject, episodes, rank, peak, is_open in values["findings"]
        }
        restarts, worst, seq = (int(values[name]) for name in ("restarts", "worst", "seq"))
        hung, sure, ended, began, met = (bool(values[name]) for name in ("hung", "sure", "ended", "began", "met"))
        step = None if values["step"] is None else int(values["step"])
        return SeenSoFar(told, restarts, hung, sure, ended, began, met, worst, step, seq)


class Changes:
    """Turns the reports of one run into events."""

    def __init__(self, seen: SeenSoFar | None = None) -> None:
        self.seen = seen or SeenSoFar()

    def of(self, report: Report) -> list[Event]:
        """What is new in this report since the last one; nothing while the run is still being read."""
        at = report.at_step
        rewritten = self.seen.step is not None and at is None  # the file has no row for a moment
        if not report.recording.loading.done or rewritten:
            return []
        events: list[Event] = []
        if _is_another(self.seen, report):
            words = f"begins anew in the same place, where the run before it had come to step {self.seen.step}"
            events.append(event(report, "restart", words))
            self.seen = SeenSoFar(seq=self.seen.seq)
        seen, findings = self.seen, report.findings
        open_now = [SEVERITY_RANK[f.severity] for f in findings if f.status == "active"]
        seen.worst = max([seen.worst, *open_now])
        if not seen.began:
            events.append(event(report, "summary", report.verdict.text))
        restarts = report.run.restarts
        if seen.began:
            why = {end.step: f". What ended the one before: {end.because}" for end in report.run.ends}
            events += [
                event(report, "restart", f"goes on from step {at} in a new attempt{why.get(at, '')}")
                for at in restarts[seen.restarts :]
            ]
        seen.restarts = len(restarts)
        about_state = having(Trait.STALL) | having(Trait.CRASH)  # the events stall, recovery and end report them
        for finding in findings:
            if finding.id not in about_state:
                events += self._finding(report, finding)
        events += self._state(report)
        seen.began, seen.step = True, at
        return [self.count(one) for one in events]

    def count(self, event: Event) -> Event:
        """The event with its own number."""
        self.seen.seq += 1
        return replace(event, seq=self.seen.seq)

    def _finding(self, report: Report, finding: Finding) -> Iterator[Event]:
        """Goes through the episodes, so that what came and went while nobody looked is reported too, with its highest
        level. A finding that shows between two of the engine's looks may vanish again without being resolved. What was
        reported of an episode is not reported again."""
        key, episodes = (finding.id, finding.subject), finding.episodes
        told = self.seen.findings.get(key)
        if told is None:
            if not self.seen.began and finding.status != "active":  # it was over before anyone looked
                self.seen.findings[key] = Told(len(episodes), 0, 0, False)
                return
            first = len(episodes) - 1 if not self.seen.began else 0
            told = Told(first, 0, 0, False)
        for number, episode in enumerate(episodes, 1):
            if number < told.episodes:
                continue
            is_open = number == len(episodes) and finding.status == "active"
            now = SEVERITY_RANK[finding.severity] if is_open else 0
            peak = max(now, SEVERITY_RANK[episode.severity])
            if number > told.episodes:
                shown = peak if self.seen.began else now  # what had eased before anyone looked is reported as it is now
                if shown or (peak and not self.seen.began):
                    told.episodes, told.rank, told.peak, told.open = number, shown, peak, shown > 0
                if shown:  # notices make no line, and are reported once they become more
                    yield self._told(report, "opened", finding, shown)
            elif is_open and not told.open and now > told.rank:
                told.rank, told.peak, told.open = now, max(now, told.peak), True
                yield self._told(report, "worse", finding, now)
            elif told.open and peak > told.peak:
                told.rank = told.peak = peak
                yield self._told(report, "worse", finding, peak)
            elif told.open and now > told.rank:
                told.rank = now
                yield self._told(report, "worse", finding, now)
            if told.open and not is_open:
                told.open, told.rank = False, 0
                yield event(report, "resolved", f"{finding.title}: resolved", finding)
            elif told.open and 0 < now < told.rank and finding.life == "better":
                told.rank = now
                yield event(report, "better", finding.summary or finding.title, finding)
        if told.episodes:
            self.seen.findings[key] = told

    def _told(self, report: Report, kind: Kind, finding: Finding, rank: int) -> Event:
        self.seen.worst = max(self.seen.worst, rank)
        return event(report, kind, finding.summary or finding.title, finding, SEVERITIES[rank])

    def _state(self, report: Report) -> Iterator[Event]:
        card, seen = report.recording.stall, self.seen
        if card is None:
            return
        because = ", ".join(card.because)
        over = card.over
        hung = card.verdict == "hung"
        severity: Severity = "critical" if card.sure else "warning"
        if hung and not seen.hung:
            yield event(
                report, "stall", because, severity=severity, quote=card.quote, finding_id=min(having(Trait.STALL))
            )
        elif hung and card.sure and not seen.sure:
            yield event(
                report, "worse", because, severity=severity, quote=card.quote, finding_id=min(having(Trait.STALL))
            )
        elif (seen.hung or seen.ended) and card.verdict in ("fine", "slow"):
            yield event(report, "recovery", because)
        if over and not seen.ended:
            crash = next((f for f in report.findings if f.id in having(Trait.CRASH)), None)
            yield event(
                report,
                "end",
                because,
                severity=crash.severity if crash is not None else None,
                quote=card.quote,
                finding_id=crash.id if crash is not None else None,
            )
        seen.hung, seen.sure, seen.ended = hung, hung and card.sure, over


def _is_another(seen: SeenSoFar, report: Report) -> bool:
    """Whether the report is of a different run than the one seen before, in the same place: it is not as far, and no
    restart explains that."""
    at, restarts = report.at_step, report.run.restarts
    return seen.began and seen.step is not None and (at or 0) < seen.step and len(restarts) <= seen.restarts


def event(
    report: Report,
    kind: Kind,
    text: str,
    finding: Finding | None = None,
    severity: Severity | None = None,
    quote: str = "",
    finding_id: str | None = None,
    time: float | None = None,
) -> Event:
    """An event of the run, as it is in this report."""
    run = report.run
    return Event(
        kind=kind,
        time=report.recording.now if time is None else time,
        run=run.id,
        path=run.path,
        step=report.at_step,
        total=run.steps.total,
        state=run.state,
        decision=report.verdict.decision,
        badge=report.verdict.badge,
        answer=answer(report).as_dict() if kind not in SIGNS_OF_LIFE else None,
        text=text,
        finding=finding.id if finding is not None else finding_id,
        subject=finding.subject if finding is not None else None,
        severity=severity or (finding.severity if finding is not None else None),
        onset_step=finding.onset_step if finding is not None else None,
        quote=quote or None,
    )


def in_line(event: Event) -> str:
    """One line: time, run, step, what happened, and the text."""
    at = "-" if event.step is None else str(event.step)
    of = "" if event.total is None else f"/{event.total}"
    what = f"{event.severity} {event.kind}" if event.severity not in (None, "info") else event.kind
    name = f"{event.finding}" + (f" [{event.subject}]" if event.subject else "") if event.finding else event.state
    since = f" since step {event.onset_step}" if event.onset_step is not None else ""
    quote = f' "{event.quote}"' if event.quote else ""
    again = "  (told again: the watch was killed while it told this)" if event.again else ""
    verdict = f"  ({event.badge or event.decision}){again}"
    return f"{hour(event.time)}  {event.run}  step {at}{of}  {what}  {name}{since}: {event.text}{quote}{verdict}"


def in_lines(event: Event) -> str:
    """The same. For an event of the run, the reason, what to do and what to keep follow below it."""
    told = event.answer or {}
    return "\n".join(
        [in_line(event), *(f"{word}: {told[name]}" for name, word in QUESTIONS.items() if name in TOLD & told.keys())]
    )


TOLD = frozenset({"why", "do", "keep"})


def hour(time: float) -> str:
    """Local date and time of day."""
    return datetime.fromtimestamp(time).strftime("%Y-%m-%d %H:%M:%S")

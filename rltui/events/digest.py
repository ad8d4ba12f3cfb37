"""While you were away: what happened to a run since the last look, from its own rows and from the record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean
from typing import Any, Literal

import numpy as np
from msgspec import Struct

from rltui.evidence.model import SEVERITY_RANK
from rltui.frameworks.load import metrics
from rltui.plots.numbers import duration, number
from rltui.report.model import Report
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait
from rltui.text import clean

Role = Literal["critical", "warning", "info", "resolved"]

GAP = 10.0
GAP_S = 600.0
"""No row for ten times the usual interval, and for ten minutes: reported as a silence if no stall was recorded."""
RECORDED_S = 1200.0
"""If the user was away for longer than this without a sample of the machine, nobody recorded."""
MOST = 12
"""The most lines of one kind; the rest are only counted."""


class Item(Struct, frozen=True):
    """One line. `what` names its kind (steps, verdict, finding, stall, restart, end, checkpoint, best, hardware). For a
    finding, `finding` and `subject` lead to it."""

    what: str
    role: Role
    text: str
    finding: str | None = None
    subject: str | None = None


class Digest(Struct, frozen=True):
    """`since` and `now` are in seconds since the epoch. `headline` fits one line, the most important first."""

    since: float
    now: float
    headline: str
    items: tuple[Item, ...]


def look_of(report: Report, seq: int) -> dict[str, Any]:
    """The state of a run, to be saved as the last look. `seq`: number of the newest event of its record."""
    best = report.verdict.best_checkpoint
    return {
        "time": report.recording.now,
        "step": report.at_step,
        "seq": seq,
        "decision": report.verdict.decision,
        "restarts": len(report.run.restarts),
        "best": None if best is None else {"step": best.step, "metric": best.metric, "value": best.value},
    }


def digest(report: Report, look: Mapping[str, Any], record: Sequence[Mapping[str, Any]]) -> Digest | None:
    """What happened since a look; None if nothing did, or if `look` is not valid. `record`: entries of the journal."""
    since, step, seq = look.get("time"), look.get("step"), look.get("seq")
    if not isinstance(since, int | float) or not 0 <= since <= report.recording.now:
        return None
    known = {e["seq"]: e for e in record if isinstance(e.get("seq"), int)}
    events = [known[n] for n in sorted(known) if not isinstance(seq, int) or n > seq]
    events = [e for e in events if e.get("event") not in ("summary", None)]
    items = [
        *_steps(report, step),
        *_verdict(report, look),
        *_findings(report, events),
        *_stalls(report, events, step),
        *_attempts(report, look, events),
        *_checkpoints(report, since, step),
        *_best(report, look),
    ]
    if not items:
        return None
    items += _hardware(record, since, report)
    order = {"verdict": 0, "finding": 1, "stall": 2, "restart": 3, "end": 4, "steps": 5}
    items.sort(key=lambda item: order.get(item.what, 9))
    return Digest(since, report.recording.now, _headline(since, report.recording.now, items), tuple(items))


def _headline(since: float, now: float, items: Sequence[Item]) -> str:
    """`since 02:14: 38 steps to 812, 1 critical and 1 warning opened, 1 stall, 1 resolved`"""
    opened = {level: sum(i.what == "finding" and i.role == level for i in items) for level in ("critical", "warning")}
    parts = [next((i.text for i in items if i.what == "steps"), "no new step")]
    if any(opened.values()):
        parts.append(" and ".join(f"{n} {level}" for level, n in opened.items() if n) + " opened")
    for what, one, many in (("stall", "stall", "stalls"), ("restart", "restart", "restarts")):
        count = sum(i.what == what for i in items)
        if count:
            parts.append(f"{count} {one if count == 1 else many}")
    resolved = sum(i.role == "resolved" for i in items)
    if resolved:
        parts.append(f"{resolved} resolved")
    parts += [i.text for i in items if i.what == "end"]
    return f"since {_clock(since, now)}: {', '.join(parts)}"


def _clock(time: float, now: float) -> str:
    """Local time of day, with the date if that differs."""
    then, today = datetime.fromtimestamp(time), datetime.fromtimestamp(now)
    return then.strftime("%H:%M" if then.date() == today.date() else "%b %d %H:%M")


def _steps(report: Report, step: object) -> Iterable[Item]:
    steps, at = report.recording.run.steps, report.at_step
    if at is None or at == step:
        return
    before = step if isinstance(step, int) else None
    known = int(steps.searchsorted(before, "right")) if before is not None and before < at else 0
    new = len(steps) - known
    yield Item("steps", "info", f"{new} step{'' if new == 1 else 's'} to {at}")


def _verdict(report: Report, look: Mapping[str, Any]) -> Iterable[Item]:
    now = report.verdict
    if look.get("decision") not in (None, now.decision):
        role: Role = "info" if now.decision in ("continue", "not-enough-evidence") else "warning"
        yield Item("verdict", role, f"{clean(str(look['decision']), 40)} → {now.decision}: {now.text}")


def _findings(report: Report, events: Sequence[Mapping[str, Any]]) -> Iterable[Item]:
    """Each finding of the events once: its worst level, and whether it is over."""
    now = {(f.id, f.subject): f for f in report.findings}
    told: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
    stall = having(Trait.STALL)  # the run's state reports it
    for event in events:
        if event["event"] in ("opened", "worse", "better", "resolved") and event.get("finding") not in stall:
            told.setdefault((event.get("finding"), event.get("subject")), []).append(event)
    items = []
    for key, story in told.items():
        finding = now.get(key)
        if finding is None:
            continue  # it showed between two looks of the engine, and was not confirmed
        kinds = [event["event"] for event in story]
        over = finding.status == "resolved"
        worst = max(
            (SEVERITY_RANK.get(str(e.get("severity")), 0) for e in story if e["event"] != "resolved"), default=0
        )
        name = finding.title + (f" [{finding.subject}]" if finding.subject else "")
        if "opened" not in kinds and "worse" not in kinds:
            words = "resolved" if over else "better"
            items.append(Item("finding", "resolved" if over else "info", f"{words}: {name}", *key))
            continue
        level: Role = "critical" if worst == 2 else "warning"
        verb = "opened" if "opened" in kinds else "worse"
        since = f" at step {finding.onset_step}" if finding.onset_step is not None else ""
        words = f"{level} {verb}{since}: {name}"
        ended = ", now resolved" if over else ""
        items.append(Item("finding", "resolved" if over else level, f"{words}{ended}", *key))
    items.sort(key=lambda item: ("critical", "warning", "info", "resolved").index(item.role))
    yield from items[:MOST]
    if len(items) > MOST:
        yield Item("more", "info", f"{len(items) - MOST} more findings moved")


def _stalls(report: Report, events: Sequence[Mapping[str, Any]], step: object) -> Iterable[Item]:
    """Recorded stalls with their duration; also silences in the time stamps of the rows that are not among them."""
    begun: Mapping[str, Any] | None = None
    spans: list[tuple[float, float]] = []
    for event in events:
        if event["event"] == "stall":
            begun = event
        elif begun is not None and event["event"] in ("recovery", "end"):
            spans.append((_time(begun), _time(event)))
            begun = None
    for begin, end in spans:
        began = _clock(begin, report.recording.now)
        yield Item("stall", "warning", f"stalled at {began}, for {duration(end - begin)} and more")
    if begun is not None:
        words = clean(str(begun.get("text") or ""), 200)  # a record that was cut off may lack any part
        hangs = f"hangs since {_clock(_time(begun), report.recording.now)}"
        yield Item("stall", "critical", f"{hangs}: {words}" if words else hangs)
    times, steps = report.recording.run.times, report.recording.run.steps
    gaps = times[1:] - times[:-1]
    known = gaps[gaps > 0]
    if len(known) < 5 or not isinstance(step, int):
        return
    long = (gaps > max(GAP * float(np.median(known)), GAP_S)) & (steps[1:] > step)
    for row in np.flatnonzero(long)[:MOST].tolist():
        begin, end = float(times[row]), float(times[row + 1])
        if not any(begin <= heard <= end for heard, _ in spans):
            yield Item("stall", "warning", f"no row for {duration(end - begin)} before step {int(steps[row + 1])}")


def _attempts(report: Report, look: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Iterable[Item]:
    restarts = report.run.restarts
    before = look.get("restarts")
    new = restarts[before:] if isinstance(before, int) else []
    why = {end.step: f": {end.because}" for end in report.run.ends}
    for at in new[:MOST]:
        yield Item("restart", "warning", f"restarted from step {at}{why.get(at, '')}")
    card = report.recording.stall
    if any(event["event"] == "end" for event in events) and card is not None and card.over:
        because = ", ".join(card.because)
        word = card.verdict
        yield Item("end", "critical" if word == "crashed" else "info", f"{word}: {because}" if because else word)


def _checkpoints(report: Report, since: float, step: object) -> Iterable[Item]:
    new = [
        c
        for c in report.recording.run.checkpoints
        if (c.time > since if c.time is not None else isinstance(step, int) and c.step > step)
    ]
    if new:
        shown = ", ".join(str(c.step) for c in new[-MOST:])
        broken = [str(c.step) for c in new if c.complete is False]
        text = f"{len(new)} checkpoint{'' if len(new) == 1 else 's'}: step {shown}"
        yield Item(
            "checkpoint", "warning" if broken else "info", text + (f", cut off: {', '.join(broken)}" if broken else "")
        )


def _best(report: Report, look: Mapping[str, Any]) -> Iterable[Item]:
    now, before = report.verdict.best_checkpoint, look.get("best")
    if now is None or (isinstance(before, dict) and before.get("step") == now.step):
        return
    label = metrics()[now.metric].label if now.metric in metrics() else now.metric
    was = ""
    if isinstance(before, dict) and before.get("metric") == now.metric and isinstance(before.get("value"), float):
        was = f"{number(before['value'])} → "
    yield Item("best", "info", f"best {label} {was}{number(now.value)} at step {now.step}")


def _hardware(record: Sequence[Mapping[str, Any]], since: float, report: Report) -> Iterable[Item]:
    kept = [e for e in record if isinstance(e.get("hardware"), int | float) and e["hardware"] > since]
    if not kept:
        if report.recording.now - since > RECORDED_S:
            yield Item("hardware", "info", "the machine was not recorded: neither the screen nor `rltui watch` ran")
        return

    def known(name: str) -> list[float]:
        return [float(e[name]) for e in kept if isinstance(e.get(name), int | float)]

    parts = []
    if power := known("power_w"):
        low = min(power)
        parts.append(f"GPU power {fmean(power):.0f} W, {low:.0f} W at the least")
    if memory := known("memory_gb"):
        total = known("memory_total_gb")
        parts.append(f"GPU memory up to {max(memory):.0f}{f' of {max(total):.0f}' if total else ''} GB")
    if heat := known("temp_c"):
        parts.append(f"{max(heat):.0f} °C")
    if ram := known("ram_gb"):
        parts.append(f"RAM up to {max(ram):.0f} GB")
    if disk := known("disk_free_gb"):
        parts.append(f"disk free {disk[0]:.0f} → {disk[-1]:.0f} GB")
    lost = max(known("lost"), default=0)
    if lost:
        parts.insert(0, f"{lost:.0f} GPU{'' if lost == 1 else 's'} stopped answering")
    if parts:
        yield Item("hardware", "critical" if lost else "info", ", ".join(parts))


def _time(event: Mapping[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp()
    except ValueError:
        return 0.0

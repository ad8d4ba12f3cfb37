"""The short Markdown report, which is the default: the answer, then nine sections, each as short as it can be.
`rltui.report.markdown` has the same sections with every table. Every number here is in the JSON too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rltui.diagnosis.finding_words import in_sentence
from rltui.evidence.model import RISKS, Evidence, Finding, Fix, Mark
from rltui.lazy_regex import lazy
from rltui.plots.numbers import NOT_AVAILABLE, number, percent
from rltui.prose import capital, counted, listed, sentence
from rltui.report import markdown_metrics, markdown_run
from rltui.report.answer import metric_called
from rltui.report.causes import cause_line, fix_setting, likely, same_change
from rltui.report.courses import change_in_words, evidence_course, headed_keys
from rltui.report.escape import code, fenced, plain
from rltui.report.markdown_findings import SEVERITY, explained, has_slope, name_of, possible, since
from rltui.report.markdown_metrics import metric_label
from rltui.report.model import MetricSummary, Report
from rltui.report.recording import evidence_label

USUAL_WORDS, MOST_WORDS = 750, 900
"""A report with more words than the first number is made again with less of each part. If it is still too long, the
parts share the room up to the second number."""

SPARK, MEMBERS = 24, 2
"""The cells of a sparkline, and the number of metrics of one canonical name."""


_SENTENCES = lazy(r"(?<=[.!?])\s+(?=[A-Z\d`])")
_CLAUSES = lazy(r"(?<=[,:])\s+")


class Room(Struct, frozen=True):
    """The number of items of each kind that are shown, and the most words of a text of the run or of a rule."""

    settings: int = 8
    inactive: int = 3
    metrics: int = 8
    cards: int = 3
    folded: int = 6
    refutes: int = 1
    notes: int = 3
    over: int = 3
    causes: int = 2
    fixes: int = 3
    fixed: int = 2  # findings whose fixes are told
    missing: int = 4
    unknowns: int = 3
    words: int = 30


ROOMS = (
    Room(),
    Room(settings=6, metrics=6, cards=2, notes=2, over=2, causes=1, missing=3, unknowns=2, words=24),
    Room(settings=4, inactive=2, metrics=5, cards=2, folded=2, notes=1, over=1, causes=1, fixes=2, missing=2, words=16),
    Room(3, 1, 4, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 12),
)


def sections(report: Report, head: Sequence[str], titles: Sequence[str]) -> list[list[str]]:
    """The sections under these titles, shortened so that head and sections together keep to `MOST_WORDS`."""
    before = sum(len(line.split()) for line in (*head, *titles))
    for room, most in (*((room, USUAL_WORDS) for room in ROOMS[:2]), *((room, MOST_WORDS) for room in ROOMS)):
        parts = _sections(report, room)
        if before + sum(len(line.split()) for part in parts for line in part) <= most:
            break
    return parts


def _sections(report: Report, room: Room) -> list[list[str]]:
    return [
        _run(report, room),
        _metrics(report, room),
        _symptoms(report, room),
        _causes(report, room),
        _fixes(report, room),
        _decision(report, room),
        _time(report, room),
        _pipeline(report),
        _unknowns(report, room),
    ]


def cut(text: str, words: int) -> str:
    """The first words of a text that is not ours. An ellipsis shows where it was cut."""
    parts = text.split()
    parts = [part if len(part) <= 80 else f"{part[:79]}…" for part in parts]
    return " ".join(parts) if len(parts) <= words else " ".join(parts[:words]).rstrip(".,;:") + " …"


def _prose(text: str, words: int) -> str:
    return plain(_whole(text, words))


def _whole(text: str, words: int) -> str:
    """The sentences of one of our own texts that fit in this many words. If the first sentence is longer, it stays
    whole if it has at most half as many words more; otherwise only the clauses that fit stay. A longer clause is
    cut."""
    if len(text.split()) <= words:
        return cut(text, words)
    first, *_ = sentences = _SENTENCES.split(text)
    most = words if len(first.split()) <= words else words + words // 2
    for parts in (sentences, _CLAUSES.split(first)):
        kept: list[str] = []
        for part in parts:
            if len(" ".join([*kept, part]).split()) > most:
                break
            kept.append(part)
        while kept and " ".join(kept).count("(") > " ".join(kept).count(")"):
            kept.pop()  # a cut within brackets leaves one open
        if kept:
            return cut(" ".join(kept).rstrip(",:"), most)
    return cut(first, most)


# -- 1 ----------------------------------------------------------------------------------------------------------------


def _run(report: Report, room: Room) -> list[str]:
    lines = markdown_run.standing(report, cut(report.run.state_because, room.words))
    if report.run.restarts:
        lines.append(f"- Restarts: from step {_restarts(report, room)}")
    if report.run.silences:
        longest = max(report.run.silences, key=lambda one: one.seconds)
        lines.append(f"- Without a row: {plain(cut(longest.text, room.words))}")
    if others := [one for one in report.run.attempts if one.other]:
        lines.append(
            f"- Another training comes first in the log and is left out: {others[-1].text.split(', another')[0]}"
        )
    return [*lines, *_config(report, room)]


def _restarts(report: Report, room: Room) -> str:
    """The last three attempts, each with what had ended the attempt before it; once if it was the same."""
    last = list(zip(report.run.restarts, report.run.before_restarts, strict=True))[-3:]
    reasons = {why for _, why in last}
    if len(last) > 1 and len(reasons) == 1 and (reason := reasons.pop()):
        return f"{listed([str(step) for step, _ in last])}, each time after this: {plain(cut(reason, room.words))}"
    return listed([f"{step} ({plain(cut(why, room.words))})" if why else str(step) for step, why in last])


def _config(report: Report, room: Room) -> list[str]:
    if not report.config:
        return ["- Config: none found, so that no cause can be tied to a setting"]
    planned = report.run.steps.total is not None  # the plan in force is told with the steps
    known = [(n, e) for n, e in report.config.items() if e.value is not None and not (planned and n == "total_steps")]
    important = [(name, e) for name, e in known if e.active and name in markdown_run.IMPORTANT]
    important.sort(key=lambda item: markdown_run.IMPORTANT.index(item[0]))
    told = [f"{plain(n.replace('_', ' '))} {code(cut(str(e.value), 6))}" for n, e in important[: room.settings]]
    lines = [f"- Config: {', '.join(told)}"] if told else []
    inactive = [f"{code(e.key)} ({_prose(e.note or 'inactive', 12)})" for _, e in known if not e.active]
    if inactive:
        lines.append(f"- Set without effect: {', '.join(inactive[: room.inactive])}")
    return lines


# -- 2 ----------------------------------------------------------------------------------------------------------------

ALWAYS = (
    *("score_mean", "reward_mean", "val_score", "kl_ref", "entropy", "grad_norm", "response_length_mean"),
    *("dpo_accuracy", "dpo_reward_margin", "total_loss", "time_per_step_s"),
)
"""The metrics that people ask for first, after the evidence of what is wrong."""


def _metrics(report: Report, room: Room) -> list[str]:
    rows = _rows(report, room.metrics)
    if not rows:
        return ["No metric rows yet."]
    note = markdown_metrics.reward_note(report)
    from rltui.plots.spark import sparkline

    first, last = report.run.steps.first, report.run.steps.last
    drawn, about = [], headed_keys(report)
    width = max(len(_short(metric_called(m))) for m in rows)
    for m in rows:
        series = report.recording.series.get(m.key)
        row = " " * SPARK
        if series is not None and len(series) and first is not None and last is not None:
            row = sparkline(series.steps, series.values, SPARK, first, last)
        unit = f" {m.unit}" if m.unit not in markdown_metrics.UNITS_UNSAID else ""
        drawn.append(f"{_short(metric_called(m)):<{width}}  {row}  {_course(m, unit, about.get(m.key))}".rstrip())
    head = markdown_metrics.course_head(rows, about)
    return [*([sentence(note), ""] if note else []), head, "", *fenced(drawn)]


def _course(m: MetricSummary, unit: str, finding: Finding | None) -> str:
    """`0.532 → 0.889 → 0.927 nats, now 0.875  1.7×`; for few values `0.351 → 0.496 (5 values)`."""
    now = number(m.last_value, missing="NaN")
    if not m.overlap:
        values = " → ".join(number(value, missing=NOT_AVAILABLE) for value in (m.first, m.mid, m.last))
        return f"{values}{unit}, now {now}  {change_in_words(m, finding)}"
    values = f"{number(m.first_value, missing='NaN')} → {now}" if m.count + m.nan > 1 else now
    return f"{values}{unit} ({counted(m.count + m.nan, 'value')})"


def _short(label: str) -> str:
    return label if len(label) <= 30 else f"{label[:14]}…{label[-15:]}"


def _rows(report: Report, most: int) -> list[MetricSummary]:
    """The metrics of the warnings, then those that people always ask for. Of metrics with the same numbers, only the
    first."""
    loud = [f for f in report.findings if f.status == "active" and f.severity != "info"]
    keys = [e.key for f in loud for e in f.evidence[:1]]
    by_key = {m.key: m for m in report.metrics.values()}
    found = [by_key[key] for key in keys if key in by_key]
    members = [m for name in ALWAYS for m in _members(report, name)]
    out: dict[tuple[float | None, ...], MetricSummary] = {}
    for m in [*found, *members]:
        out.setdefault((m.first, m.mid, m.last, m.last_value), m)
    return list(out.values())[:most] or list(report.metrics.values())[:most]


def _members(report: Report, canonical: str) -> list[MetricSummary]:
    """The first members of a family (verl has about 30 validation metrics a data set): its own headline keys first,
    spreads over the samples last."""
    found = [m for m in report.metrics.values() if m.canonical == canonical]
    return sorted(found, key=lambda m: (m.key.endswith("/std"), "-aux/" in m.key))[:MEMBERS]


# -- 3 ----------------------------------------------------------------------------------------------------------------


def _symptoms(report: Report, room: Room) -> list[str]:
    active = [f for f in report.findings if f.status == "active"]
    known = {f.id for f in active}
    roots = [f for f in active if f.root is None or f.root not in known]
    loud, notes = [f for f in roots if f.severity != "info"], [f for f in roots if f.severity == "info"]
    lines: list[str] = []
    for place, root in enumerate(loud):
        below = [f for f in active if f.root == root.id and f is not root]
        if place < room.cards:
            lines += [f"### {SEVERITY[root.severity]} · {name_of(root)}{since(root)}", ""]
            told = not root.summary or root.summary in report.verdict.text  # then it stands at the top of the page
            lines += [] if told else [_prose(root.summary, room.words), ""]
            lines += [f"- {line}" for line in _card(report, root, room)]
        else:
            lines.append(f"- {SEVERITY[root.severity]} {name_of(root)}{since(root)}")
        whole = room.folded if place < room.cards else 0
        lines += [f"- {_line(report, f, root)}" for f in below[:whole]]
        lines += [
            f"- {SEVERITY[f.severity]} {name_of(f)}{since(f, root=root)}" for f in below[whole:] if f.severity != "info"
        ]
        lines.append("")
    if not loud:
        lines += [f"No critical finding and no warning: {report.checks} checks ran.", ""]
    lines += [f"- {SEVERITY[f.severity]}{_dated(f, said := _noted(f, room))}: {said}" for f in notes[: room.notes]]
    over = [f for f in report.findings if f.status == "resolved" and Mark.NOT_YET not in f.marks]
    spans = [f"{name_of(f)} ({spans_of(f)})" for f in over[: room.over]]
    lines += [f"- Seen for a time, and no more: {', '.join(spans)}"] if spans else []
    lines += [f"- The log says: {code(cut(note, room.words))}" for note in report.notes[-1:]]
    return lines


def _noted(finding: Finding, room: Room) -> str:
    return _prose(finding.summary, room.words).rstrip(".") or name_of(finding)


def _dated(finding: Finding, said: str) -> str:
    """` since step 40`, put before the sentences: after the last one it would seem to date only that one."""
    return since(finding, said).replace(",", "", 1)


def spans_of(finding: Finding) -> str:
    """`steps 10 to 30`; of several openings, the last."""
    spans = [(e.onset_step, e.end_step) for e in finding.episodes if e.onset_step is not None]
    return "".join(f"steps {a} to {b}" if b is not None else f"from step {a}" for a, b in spans[-1:])


def _card(report: Report, finding: Finding, room: Room) -> Iterator[str]:
    """The first numbers of a finding, and what would refute it."""
    for evidence in finding.evidence[:1]:
        yield _numbers(report, evidence)
    wrong = [in_sentence(text).rstrip(".") for text in finding.refute[: room.refutes]]
    if wrong:
        yield f"refuted if {_prose(' or '.join(wrong), room.words)}"


def _line(report: Report, finding: Finding, root: Finding) -> str:
    """A finding that follows from another: its numbers and what would refute it, in one line."""
    numbers = "".join(f": {_numbers(report, evidence)}" for evidence in finding.evidence[:1])
    wrong = f", refuted if {plain(in_sentence(finding.refute[0]).rstrip('.'))}" if finding.refute else ""
    return f"{SEVERITY[finding.severity]} {name_of(finding)}{since(finding, root=root)}{numbers}{wrong}"


def _numbers(report: Report, evidence: Evidence) -> str:
    """`KL to reference 0.05 → 0.14 → 0.80, now 0.59, +0.26 per 100 steps`; for evidence without numbers, its words."""
    measured = evidence_label(evidence)
    label = plain(measured[0]) if measured is not None else metric_label(report, evidence.metric)
    summary = next((m for m in report.metrics.values() if m.key == evidence.key), None)
    course = evidence_course(evidence, summary)
    if all(value is None for value in course):
        return f"{label} {_prose(evidence.text, 16)}".strip()
    unit = f" {measured[1]}" if measured is not None else ""
    missing = "NaN" if summary is not None and summary.overlap and summary.nan else NOT_AVAILABLE
    parts = [f"{label} {' → '.join(number(value, missing=missing) for value in course)}{unit}"]
    if summary is not None and summary.last_value is not None and not summary.overlap:
        parts.append(f"now {number(summary.last_value)}")
    if evidence.slope_per_100_steps is not None and has_slope(evidence):
        parts.append(f"{number(evidence.slope_per_100_steps, sign=True)} per 100 steps")
    return ", ".join(parts)


# -- 4, 5, 6 ----------------------------------------------------------------------------------------------------------


def _causes(report: Report, room: Room) -> list[str]:
    lines = []
    for finding in explained(report, "causes")[: room.cards]:
        lines += [f"- {name_of(finding)}: {cause_line(cause)}" for cause in likely(finding)[: room.causes]]
    return lines or ["No open finding needs a cause."]


def _fixes(report: Report, room: Room) -> list[str]:
    """The fixes of each finding, in order. If two findings need the same change, it is named once."""
    lines: list[str] = []
    seen: set[tuple[str | None, str]] = set()
    for finding in explained(report, "fixes")[: room.fixed]:
        new = [fix for fix in possible(report, finding.fixes) if same_change(fix) not in seen][: room.fixes]
        seen |= {same_change(fix) for fix in new}
        lines += [f"{len(lines) + place}. {_fix(fix, room)}" for place, fix in enumerate(new, 1)]
    return lines or ["Nothing to fix."]


def _fix(fix: Fix, room: Room) -> str:
    key = f" ({code(cut(fix_setting(fix), 8))})" if fix.config_key else ""
    risk = "no" if fix.risk == RISKS[0] else plain(fix.risk)
    return f"{_prose(fix.text, room.words).rstrip('.')}{key} · {plain(fix.impact)} impact, {risk} risk"


def _decision(report: Report, room: Room) -> list[str]:
    verdict, best = report.verdict, report.verdict.best_checkpoint
    lines = [f"- Decision: **{plain(verdict.badge)}**"]
    if verdict.because:
        lines[0] += f", because of {listed([code(i) for i in verdict.because[:3]])}"
    if best is not None:
        where = f" at {code(best.path)}" if best.path else ""
        basis = f", chosen by {_prose(best.basis, room.words)}" if best.basis else ""
        lines.append(f"- {capital(best.called)}: **step {best.step}**{where}{basis}")
    told = report.outlook
    if told is not None:
        lines.append(f"- KL, reward and validation: {_prose(told.kl_reward.text, room.words)}")
        lines += [f"- Forecast: {_prose(f.text, room.words)}" for f in told.forecasts[:1]]
    return lines


# -- 7, 8, 9 ----------------------------------------------------------------------------------------------------------


def _time(report: Report, room: Room) -> list[str]:
    phases = report.phases
    step = markdown_run.step_takes(report)
    largest = sorted((item for item in phases.items if item.share is not None), key=lambda i: -(i.share or 0.0))[:4]
    shares = listed([f"{plain(item.name)} {percent(item.share)}" for item in largest])
    lines = [f"{step}: {shares}." if shares else f"{step}."]
    if phases.bottleneck:
        lines.append(f"Bottleneck: **{plain(phases.bottleneck)}**.")
    slow = report.outlook.slow if report.outlook is not None else None
    if slow is not None:
        lines.append(f"Step {slow.step}: {_prose(slow.text, room.words)}.")
    return [" ".join(lines), "", _hardware(report, room)]


def _hardware(report: Report, room: Room) -> str:
    found = report.hardware
    if not found.gpus and found.host is None:
        return f"Hardware: {_prose(found.note or 'not sampled', room.words)}."
    fullest = max(
        (g for g in found.gpus if g.memory_used_gb is not None), key=lambda g: g.memory_used_gb or 0.0, default=None
    )
    parts = [f"GPUs measured: {len(found.gpus)}"] if found.gpus else []
    if fullest is not None:
        parts.append(f"fullest {markdown_run.memory(fullest)}")
    trouble = [f"GPU {g.index} {text}" for g in found.gpus if (text := markdown_run.trouble(g))]
    parts += [_prose(text, room.words) for text in trouble[:2]]
    if found.host is not None:
        parts.append(f"host memory {markdown_run.host_memory(found.host)}")
    return f"Hardware ({found.source}): {', '.join(parts)}."


def _pipeline(report: Report) -> list[str]:
    if not report.pipeline:
        return ["Not looked at yet."]
    lines = [", ".join(f"{plain(s.stage)} {markdown_run.LEVELS[s.status]}" for s in report.pipeline) + "."]
    held = report.outlook.invariants if report.outlook is not None else ()
    broken = [f"{_prose(one.name, 12)} ({_prose(one.measured or '', 8)})" for one in held if one.status == "fail"]
    if broken:
        lines += ["", f"Does not hold: {', '.join(broken[:3])}."]
    return lines


ZERO = " (0 throughout)"


def _unknowns(report: Report, room: Room) -> list[str]:
    coverage = report.coverage
    lines = [f"{coverage.present} of {coverage.expected} expected metrics are logged.", ""]
    gaps = coverage.missing[: room.missing]
    told = tuple(gap.text for gap in coverage.missing)
    lines += [
        f"- {code(gap.metric)}{ZERO if gap.zero else ''}: {_prose(gap.enable or 'how to log it here is not known', 14)}"
        for gap in gaps
    ]
    said = [text for text in report.unknowns if not text.startswith(told)]
    lines += [f"- {_prose(text, room.words)}" for text in said[: room.unknowns]]
    lines += [f"- {code(f.rule)} failed, by a fault of rltui: {_prose(f.error, 12)}" for f in report.checks_failed[:2]]
    if report.rollouts.source is None and room.words > 10:
        lines.append(f"- Samples of rollouts: {_prose(report.rollouts.note.split(' (')[0], 12)}")
    return lines

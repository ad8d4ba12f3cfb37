"""Sections 3 to 5 of the Markdown report: what was found, why it may be so, what to do."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rltui.diagnosis.finding_words import TOO_CLOSE, began, seems_earlier
from rltui.evidence.model import GO_BACK, Evidence, Finding, Fix, Mark
from rltui.manual.glossary import called
from rltui.plots.numbers import NOT_AVAILABLE, number
from rltui.report.answer import costly_note, leading_finding
from rltui.report.causes import cause_line, fix_setting, same_change
from rltui.report.courses import evidence_course
from rltui.report.escape import code, plain, table
from rltui.report.markdown_metrics import metric_label
from rltui.report.model import Report
from rltui.report.recording import evidence_label

SEVERITY = {name: f"{glyph} {called(name)}" for name, glyph in (("critical", "✗"), ("warning", "!"), ("info", "·"))}
BASIS = {
    "config": "confirmed in the config",
    "samples": "confirmed in the samples",
    "log": "confirmed in the log",
    "hypothesis": "hypothesis",
}


def symptoms(report: Report) -> list[str]:
    """One heading for each root finding, the worst first, with its symptoms below it; then notes, findings that are
    over, and the log."""
    active = [finding for finding in report.findings if finding.status == "active"]
    known = {finding.id for finding in active}
    roots = [f for f in active if f.root is None or f.root not in known]
    loud = [f for f in roots if f.severity != "info"]
    lines: list[str] = []
    for root in loud:
        lines += [*_card(report, root), *_folded(report, root, active), *_moved_first(report, root), ""]
    if not loud:
        lines += [f"No critical finding and no warning: {report.checks} checks ran.", ""]
    notes = [f for f in roots if f.severity == "info"]
    if notes:
        lines += ["Notes and advice (they do not move the verdict):", ""]
        lines += [f"- {_noted(f)} ({code(f.id)}{since(f, f.summary)})" for f in notes]
        lines.append("")
    over = [f for f in report.findings if f.status == "resolved" and Mark.NOT_YET not in f.marks]
    if over:
        lines += [
            "Seen for a time, and no more:",
            "",
            *(f"- {name_of(f)} ({f.peak_severity}), {_spans(f)}" for f in over),
            "",
        ]
    if report.notes:
        lines += ["From the log:", "", *(f"- {plain(note)}" for note in report.notes), ""]
    return lines


def _card(report: Report, finding: Finding) -> list[str]:
    head = f"### {SEVERITY[finding.severity]} · {name_of(finding)}{since(finding)}"
    facts = [BASIS[finding.basis], f"confidence {number(finding.confidence, decimals=2)}", code(finding.id)]
    if finding.life not in ("", "open"):
        facts.insert(0, finding.life)
    lines = [head, ""]
    if finding.summary:
        lines += [plain(finding.summary), ""]
    lines += [f"- {_evidence(report, evidence)}" for evidence in finding.evidence]
    lines += [] if finding.band is None else [f"- resolved when: {plain(finding.band.text)}"]
    lines += [f"- refuted if: {plain(text)}" for text in finding.refute]
    return [*lines, f"- {', '.join(facts)}"]


def _folded(report: Report, root: Finding, active: list[Finding]) -> list[str]:
    below = [f for f in active if f.root == root.id and f is not root]
    if not below:
        return []
    lines = ["- follow from it:"]
    for finding in below:
        numbers = ", ".join(_evidence(report, evidence) for evidence in finding.evidence[:1])
        lines.append(
            f"  - {SEVERITY[finding.severity]} {name_of(finding)}{since(finding, root=root)}: {numbers}".rstrip(": ")
        )
    return lines


def _moved_first(report: Report, root: Finding) -> list[str]:
    """The metrics that moved around the onset, in order: a hint at the cause, not a proof."""
    told = report.outlook.first_moves if report.outlook is not None else None
    if told is None or told.finding != root.id or not told.moves:
        return []
    moves = (
        f"{metric_label(report, m.metric)} {number(m.before)} → {number(m.after)} at step {m.step}" for m in told.moves
    )
    return [f"- moved first (a hint, no proof): {', '.join(moves)}"]


def _evidence(report: Report, evidence: Evidence) -> str:
    measured = evidence_label(evidence)
    label = plain(measured[0]) if measured is not None else metric_label(report, evidence.metric)
    summary = next((m for m in report.metrics.values() if m.key == evidence.key), None)
    windows = evidence_course(evidence, summary)
    parts = []
    if any(value is not None for value in windows):
        unit = f" {measured[1]}" if measured is not None else ""
        parts.append(" → ".join(number(value, missing=NOT_AVAILABLE) for value in windows) + unit)
    if evidence.slope_per_100_steps is not None and has_slope(evidence):
        parts.append(f"slope {number(evidence.slope_per_100_steps, sign=True)} per 100 steps")
    if evidence.text:
        parts.append(plain(evidence.text))
    key = f" ({code(evidence.key)})" if evidence.key not in ("", evidence.metric) and measured is None else ""
    return f"{label}{key} {', '.join(parts)}".rstrip()


def has_slope(evidence: Evidence) -> bool:
    """Whether one slope describes the whole course: not if it went one way and then the other, and not if most rows are
    equal, because a slope of 0 would then stand beside two means that differ."""
    first, mid, last = evidence.first, evidence.mid, evidence.last
    if not evidence.slope_per_100_steps:
        return False
    return first is None or mid is None or last is None or (mid - first) * (last - mid) >= 0


def causes(report: Report) -> list[str]:
    """The tested causes by finding, each with the numbers for or against it."""
    lines: list[str] = []
    told = explained(report, "causes")
    for finding in told:
        lines += [f"**{name_of(finding)}** ({BASIS[finding.basis]})", ""]
        lines += [f"- {cause_line(cause)}" for cause in finding.causes]
        if finding.where:
            lines.append(f"- where to look: {', '.join(_place(place) for place in finding.where)}")
        lines.append("")
    if any(finding.where for finding in told):
        lines.append("Code places are those of the public repository. Your own checkout wins if they differ.")
    return lines or ["No open finding needs a cause."]


def _place(place: str) -> str:
    """A path as code, anything else as text."""
    return plain(place) if " " in place else code(place)


def possible(report: Report, fixes: Sequence[Fix]) -> list[Fix]:
    """The fixes that are possible: a run without a step has no checkpoint to go back to."""
    return [fix for fix in fixes if fix.act != GO_BACK or report.run.steps.last is not None]


def fixes(report: Report) -> list[str]:
    """The fixes of the findings in one table; those of the leading finding come first. A change that several findings
    need is listed once, with all of them."""
    listed: dict[tuple[str | None, str], tuple[Fix, list[str]]] = {}
    for finding in explained(report, "fixes"):
        for fix in possible(report, finding.fixes):
            listed.setdefault(same_change(fix), (fix, []))[1].append(name_of(finding))
    rows = [
        [
            str(place),
            plain(fix.text),
            code(fix_setting(fix)),
            plain(fix.impact),
            plain(fix.risk),
            ", ".join(dict.fromkeys(names)),
        ]
        for place, (fix, names) in enumerate(listed.values(), 1)
    ]
    return table(["#", "fix", "config key", "impact", "risk", "for"], rows, "r") or ["Nothing to fix."]


def explained(report: Report, part: str) -> list[Finding]:
    """The finding that the head of the page is about, then the other open roots."""
    leading = leading_finding(report) or costly_note(report)
    first = [leading] if leading is not None and getattr(leading, part) else []
    return [*first, *(f for f in _roots_with(report, part) if f is not leading)]


def _roots_with(report: Report, part: str) -> list[Finding]:
    """Open root findings with causes or fixes, else their symptoms with some. Of the notes only advice on the config
    counts: a note on a metric of a healthy run asks for nothing."""
    known = {f.id for f in report.findings if f.status == "active"}
    active = [f for f in report.findings if f.status == "active" and getattr(f, part)]
    roots = [f for f in active if f.root not in known - {f.id} and (f.severity != "info" or f.basis == "config")]
    return roots or [f for f in active if f.severity != "info"]


def name_of(finding: Finding) -> str:
    subject = f" ({plain(finding.subject)})" if finding.subject else ""
    return plain(finding.title) + subject


def since(finding: Finding, after: str = "", root: Finding | None = None) -> str:
    """`, since step 40`; empty if that is not known, or if the words before it say so. `root`: the finding that it
    follows from."""
    text = began(finding)
    unsure = f" ({TOO_CLOSE})" if root is not None and seems_earlier(finding, root) else ""
    return f", {text}{unsure}" if text and not re.search(rf"\b{text}\b", after) else ""


def _spans(finding: Finding) -> str:
    spans = [(e.onset_step, e.end_step) for e in finding.episodes if e.onset_step is not None]
    return ", ".join(f"steps {a} to {b}" if b is not None else f"from step {a}" for a, b in spans)


def _noted(finding: Finding) -> str:
    """The summary, not the rule's title: at this level there is no fault to name."""
    return plain(finding.summary).rstrip(".") or name_of(finding)

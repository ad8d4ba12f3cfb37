"""Which numbers of a metric's course are shown, and between which of them its change is reported: the same for every
page, pane and screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rltui.plots.numbers import UNMOVED, change

if TYPE_CHECKING:
    from rltui.evidence.model import Evidence, Finding
    from rltui.report.model import MetricSummary, Report

Ends = tuple[float | None, float | None]


def evidence_course(evidence: Evidence, metric: MetricSummary | None) -> tuple[float | None, ...]:
    """The numbers shown for evidence: its windows, or its first and newest value if the windows overlap."""
    return (evidence.first, evidence.mid, evidence.last) if metric is None or not metric.overlap else metric.ends


def evidence_change(evidence: Evidence, metric: MetricSummary | None, finding: Finding | None = None) -> Ends:
    """The two values between which a change is reported: its ends. It is the way back if at least half of a change was
    undone, or if `finding` (the worst open one that the metric heads) says that the metric fell: a reward past its peak
    did not rise."""
    first, *mid, last = evidence_course(evidence, metric)
    if mid and mid[0] is not None and first is not None and last is not None:
        out, back = mid[0] - first, last - mid[0]
        if out * back < 0 and (abs(back) >= abs(out) / 2 or _fell(finding)):
            return mid[0], last
    return first, last


def _fell(finding: Finding | None) -> bool:
    """Whether a finding says that the metric that heads it is past its best. A finding about a farmed reward does not:
    there the task is past its best."""
    if finding is None:
        return False
    from rltui.rules.catalogue import having  # not at the top: the first paint needs no report
    from rltui.rules.traits import Trait

    return finding.id in having(Trait.PAST_ITS_BEST) - having(Trait.FARMS_REWARD)


def metric_change(metric: MetricSummary, finding: Finding | None) -> Ends:
    """The two values between which a metric's change is reported: as in the finding that it heads, else its ends."""
    return evidence_change(finding.evidence[0], metric, finding) if finding is not None else metric.ends


def change_of(metric: MetricSummary, finding: Finding | None, scale: float = 1.0) -> str:
    """A metric's change in words, `scale` times the logged one. It is `→` also for a steady metric that no finding is
    about: the difference of two means of noise is not a change, and can be most of a mean that is close to 0."""
    first, last = metric_change(metric, finding)
    if first is None or last is None:
        return ""
    return UNMOVED if finding is None and metric.steady else change(first * scale, last * scale)


STEADY = "steady"


def change_in_words(metric: MetricSummary, finding: Finding | None) -> str:
    """As `change_of`, if there is room for a word instead of an arrow."""
    said = change_of(metric, finding)
    return STEADY if said == UNMOVED else said


def name_of(report: Report, metric: str) -> str | None:
    """The name in the report of a metric that is given by its canonical name or raw key."""
    if metric in report.metrics:
        return metric
    return next((name for name, m in report.metrics.items() if m.key == metric), None)


def headed(report: Report, notes: bool = False) -> dict[str, Finding]:
    """Name of a metric -> the worst open finding that it heads; `notes`: also those at info."""
    from rltui.evidence.model import SEVERITY_RANK  # not at the top: the first paint needs no report

    found: dict[str, Finding] = {}
    for finding in report.findings:
        loud = notes or finding.severity in ("critical", "warning")
        if loud and finding.status == "active" and finding.evidence:
            name = name_of(report, finding.evidence[0].metric) or finding.evidence[0].metric
            known = found.get(name)
            if known is None or SEVERITY_RANK[finding.severity] > SEVERITY_RANK[known.severity]:
                found[name] = finding
    return found


def headed_keys(report: Report) -> dict[str, Finding]:
    """The same by the key of the metric."""
    return {report.metrics[name].key if name in report.metrics else name: f for name, f in headed(report).items()}


def from_peak(metric: MetricSummary, finding: Finding | None) -> bool:
    """Whether the change is reported from the middle of the run, not from its start."""
    return metric_change(metric, finding) != metric.ends

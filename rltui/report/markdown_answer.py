"""The head of the page: since when, why, what to do, what to keep, what nobody looked at."""

from __future__ import annotations

from rltui.evidence.model import SEVERITY_RANK, Cause, Finding, Fix
from rltui.plots.numbers import number
from rltui.report.escape import code, plain
from rltui.report.markdown_metrics import metric_label
from rltui.report.model import Report

FIXES, CHECKS = 2, 3
"""So many fixes, and names of checks that could not run."""


def answer(report: Report) -> list[str]:
    """A line for each that there is something to say of, in the order in which one asks. Since, why and what to do are
    those of the finding that the verdict rests on."""
    out: list[str] = []
    finding = _leading(report)
    if finding is not None:
        if finding.onset_step is not None:
            out.append(f"- Since: step {finding.onset_step}")
        if finding.causes:
            out.append(f"- Likely why: {_cause(finding.causes[0])}")
        if finding.fixes:
            out.append(f"- To do: {'; '.join(_fix(fix) for fix in finding.fixes[:FIXES])}")
    out.append(f"- Keep: {_keep(report)}")
    if report.not_evaluable:
        names = [plain(title) for title, _, _ in report.not_evaluable]
        more = f"; and {len(names) - CHECKS} more checks" if len(names) > CHECKS else ""
        out.append(f"- Not looked at: {'; '.join(names[:CHECKS])}{more} (section 9 says what they need)")
    return out


def _leading(report: Report) -> Finding | None:
    """The first loud open finding that the verdict names, else the loudest."""
    loud = [f for f in report.findings if f.status == "active" and SEVERITY_RANK[f.severity] > 0]
    named = [f for i in report.verdict.because for f in loud if f.id == i]
    return next(iter([*named, *loud]), None)


def _cause(cause: Cause) -> str:
    tied = cause.config_key is not None and cause.value is not None
    return plain(cause.text) + (f": {code(f'{cause.config_key} = {cause.value}')}" if tied else "")


def _fix(fix: Fix) -> str:
    return plain(fix.text) + (f" ({code(fix.config_key)})" if fix.config_key else "")


def _keep(report: Report) -> str:
    best = report.verdict.best_checkpoint
    if best is None:
        return "no checkpoint can be named"
    spread = f" ± {number(best.se)}" if best.se is not None else ""
    value = f"{metric_label(report, best.metric)} {number(best.value)}{spread}"
    if best.path is None:
        return f"nothing is saved; the best step was {best.step}, {value}"
    lost = ", but it is no longer on disk" if best.on_disk is False else ""
    start = "" if best.beats_start else ", no better than the start"
    return f"the checkpoint of step {best.step}, {value}{start}{lost}"

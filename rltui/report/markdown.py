"""The Markdown report: the answer, then nine sections in a fixed order, short or with every table."""

from __future__ import annotations

from rltui.plots.numbers import number
from rltui.prose import capital
from rltui.report import markdown_brief, markdown_findings, markdown_metrics, markdown_run
from rltui.report.answer import QUESTIONS, answer, value_of_best
from rltui.report.escape import code, plain
from rltui.report.model import Report

TONES = {"ok": "✓", "warn": "!", "crit": "✗", "none": "?"}
"""The glyph before the badge, so that colour is never the only sign."""


def render(report: Report, *, long: bool = False) -> str:
    """The whole report, ending in a newline: the answer and nine short sections, at most `MOST_WORDS` words. `long`:
    with every metric, plot, check and setting. Names and values of the run are escaped, so that none becomes markup.
    Undefined numbers read `n/a`."""
    then = "" if report.run.told_at is None else f", as it stood at step {report.run.told_at}"
    head = [f"# {plain(report.run.id)}{then}", "", *verdict_line(report)]
    titles = [f"## {place}. {title}" for place, title in enumerate(SECTIONS, 1)]
    if long:
        parts = _long(report)
        titles.append(f"## {len(parts)}. All settings")
        end = []
    else:
        end = [["`rltui report RUN --long` adds every metric, plot, check and setting."]]
        parts = markdown_brief.sections(report, [*head, *end[0]], titles)
    whole = [head, *([title, "", *part] for title, part in zip(titles, parts, strict=True)), *end]
    return "\n\n".join("\n".join(part).strip() for part in whole) + "\n"


SECTIONS = (
    "Run and important config",
    "Metric diagnosis",
    "Behavioural symptoms",
    "Likely causes, tied to config",
    "Recommended fixes, by evidence, impact and risk",
    "Continue or stop",
    "Step time and hardware",
    "Pipeline",
    "Unknowns and missing logs",
)


def _long(report: Report) -> list[list[str]]:
    return [
        markdown_run.identity(report),
        markdown_metrics.section(report),
        markdown_findings.symptoms(report),
        markdown_findings.causes(report),
        markdown_findings.fixes(report),
        _decision(report),
        [*markdown_run.step_time(report), *markdown_run.hardware(report)],
        markdown_run.pipeline(report),
        markdown_run.unknowns(report),
        markdown_run.settings(report),
    ]


def badge(report: Report) -> str:
    """`✗ STOP · KEEP 300`."""
    return f"{TONES[report.verdict.tone]} {report.verdict.badge}"


def verdict_line(report: Report) -> list[str]:
    """The headline, and the six answers below it."""
    return [
        f"**{badge(report)}** {plain(report.verdict.text)}".rstrip(),
        "",
        *answer_lines(report),
        "",
        _checks(report),
    ]


def answer_lines(report: Report) -> list[str]:
    """Since when, why, what to do, what to keep, how sure, what was not looked at; a line each."""
    told = answer(report).as_dict()
    return [f"- {word}: {plain(told[name])}" for name, word in QUESTIONS.items()]


def sure(report: Report) -> str:
    verdict = report.verdict
    return f"confidence {number(verdict.confidence, decimals=2)}" if verdict.judged else "no verdict yet"


def _checks(report: Report) -> str:
    kinds = ", ".join(report.verdict.kinds)
    could_not = len(report.not_evaluable)
    parts = [
        kinds,
        sure(report),
        f"{report.checks} checks ran, {could_not} could not",
        f"{len(report.not_applicable)} do not apply" if report.not_applicable else "",
        f"{report.coverage.present} of {report.coverage.expected} expected metrics",
        f"as of {report.as_of}" if report.as_of else "no time stamps in the data",
    ]
    return " · ".join(part for part in parts if part)


def _decision(report: Report) -> list[str]:
    verdict, best = report.verdict, report.verdict.best_checkpoint
    titles = {finding.id: finding.title for finding in report.findings}
    lines = [f"- Decision: **{badge(report)}** ({verdict.decision}), {sure(report)}"]
    if verdict.because:
        because = ", ".join(f"{plain(titles.get(i, i))} ({code(i)})" for i in verdict.because)
        lines.append(f"- Because: {because}")
    if verdict.would_change:
        lines.append(f"- Would change: {plain(verdict.would_change)}")
    if best is None:
        lines.append("- Best checkpoint: none can be named (no checkpoint known, or no score to choose by)")
    else:
        disk = {True: "on disk", False: "**not on disk**", None: "not known whether it is whole on disk"}[best.on_disk]
        if best.path is None:
            disk = "but no saved checkpoint was found there"
        where = f" at {code(best.path)}" if best.path else ""
        metric = markdown_metrics.metric_label(report, best.metric)
        lines.append(f"- {capital(best.called)}: **step {best.step}**{where}, {metric} {value_of_best(best)}, {disk}")
        if best.basis:
            lines.append(f"- Chosen by: {plain(best.basis)}")
    return [*lines, *_outlook(report)]


def _outlook(report: Report) -> list[str]:
    told = report.outlook
    if told is None:
        return []
    lines = [f"- KL, reward and validation: {plain(told.kl_reward.text)}"]
    if told.worth is not None:
        lines.append(f"- Gain against cost: {plain(told.worth.text)}")
    return [
        *lines,
        *(f"- Forecast: {plain(f.text)}. It would change with {plain(f.would_change)}." for f in told.forecasts),
    ]

"""One check-in entry for a running notebook (STATUS.md): appended, never rewritten."""

from __future__ import annotations

import os

from rltui.plots.numbers import NOT_AVAILABLE, duration, number
from rltui.report.escape import code, plain
from rltui.report.markdown import answer_lines, badge
from rltui.report.markdown_metrics import metric_label
from rltui.report.model import Report

STABILITY = ("entropy", "kl_ref", "ppo_kl", "rollout_train_kl", "rollout_train_logprob_diff", "grad_norm", "clip_frac")
PROGRESS = ("score_mean", "reward_mean", "val_score", "response_length_mean")


def entry(report: Report, checked: str | None = None) -> str:
    """A heading with step and time, then health, answer, progress, stability, performance and notes, a line each.
    `checked`: when somebody looked, which may be long after the newest row if the run hangs; by default only the time
    of that row is shown."""
    run, steps = report.run, report.run.steps
    newest = report.as_of if checked is None or report.as_of is None else f"newest row of {report.as_of}"
    at = NOT_AVAILABLE if steps.last is None else str(steps.last)
    total = "?" if steps.total is None else str(steps.total)
    then = "as it stood then" if run.told_at is not None else None
    lines = [
        ", ".join(part for part in (f"## {plain(run.id)}: step {at}/{total}", checked, newest, then) if part),
        "",
        f"- Health: {_health(report)}, {run.state}. **{badge(report)}** {plain(report.verdict.text)}",
        *answer_lines(report),
        f"- Progress: {_numbers(report, PROGRESS)}",
        f"- Stability: {_numbers(report, STABILITY)}",
        f"- Performance: {_performance(report)}",
        f"- Notes: {_notes(report)}",
    ]
    return "\n".join(lines) + "\n\n"


def append_checkin(path: str, report: Report) -> None:
    """Adds an entry at the end of the file in one write, and makes the file if it does not exist. Raises OSError."""
    append_text(path, entry(report))


def append_text(path: str, text: str) -> None:
    """Adds text at the end of the file in one write, and makes the file if it does not exist. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, text.encode("utf-8", "replace"))
    finally:
        os.close(handle)


def _health(report: Report) -> str:
    """Down, degraded or healthy, by verdict and state; unknown if there is no evidence."""
    if report.run.state in ("crashed", "stalled") or report.verdict.decision == "abort-now":
        return "down"
    if report.verdict.decision == "not-enough-evidence":
        return "unknown"
    return "healthy" if report.verdict.decision == "continue" else "degraded"


def _numbers(report: Report, names: tuple[str, ...]) -> str:
    """First and last window of each metric that is logged; members of a family have one line each."""
    parts = []
    for wanted in names:
        for name, m in report.metrics.items():
            if name == wanted or name.startswith(f"{wanted}:"):
                first, last = (number(value, missing=NOT_AVAILABLE) for value in (m.first, m.last))
                parts.append(f"{metric_label(report, name)} {first} → {last}")
    return ", ".join(parts) or "not logged"


def _performance(report: Report) -> str:
    parts = []
    step = report.metrics.get("time_per_step_s")
    if step is not None and step.last is not None:
        parts.append(f"{number(step.last)} s a step")
    if report.phases.bottleneck:
        parts.append(f"bottleneck {plain(report.phases.bottleneck)}")
    if report.run.eta_s is not None:
        parts.append(f"{duration(report.run.eta_s)} left")
    return ", ".join(parts) or "not logged"


def _notes(report: Report) -> str:
    open_now = [f for f in report.findings if f.status == "active" and f.severity != "info" and f.root is None]
    parts = [f"{f.severity}: {plain(f.title)} since step {f.onset_step} ({code(f.id)})" for f in open_now]
    best = report.verdict.best_checkpoint
    if best is not None:
        parts.append(f"{best.called} {best.step}")
    return ", ".join(parts) or "no warning open"

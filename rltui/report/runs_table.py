"""The table of runs: one line a run, those that need attention first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

from rltui.diagnosis.model import SEVERITY_RANK
from rltui.report.build import build
from rltui.session.locate import Found
from rltui.session.opened import OpenedRun

DECISION_ORDER = ("abort-now", "pause-and-fix", "stop-use-best", "continue-watch", "continue", "not-enough-evidence")


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run in the list. `updated` is the newest time inside its data, else of its files (ISO 8601)."""

    id: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str
    last_step: int | None
    total_steps: int | None
    decision: str
    worst_finding: str | None
    critical: int
    warnings: int
    updated: str | None


def rows(found: Iterable[Found]) -> list[RunRow]:
    """Reads each run to its end; the most urgent verdict first, then the newest."""
    listed = [read(one) for one in found]
    return sorted(listed, key=lambda r: (DECISION_ORDER.index(r.decision), _reverse(r.updated), r.id))


def read(found: Found) -> RunRow:
    """One run's line, from its whole log."""
    opened = OpenedRun(found)
    try:
        opened.load()
        report = build(opened.frame())
    finally:
        opened.close()
    open_now = [f for f in report.findings if f.status == "active" and f.root is None]
    worst = max(open_now, key=lambda f: SEVERITY_RANK[f.severity], default=None)
    severities = [f.severity for f in report.findings if f.status == "active"]
    newest = max((f.mtime for f in opened.feeds), default=None)
    return RunRow(
        id=report.run.id,
        path=report.run.path,
        framework=report.run.framework,
        algorithm=report.run.algorithm,
        state=report.run.state,
        last_step=report.run.steps.last,
        total_steps=report.run.steps.total,
        decision=report.verdict.decision,
        worst_finding=worst.title if worst is not None and worst.severity != "info" else None,
        critical=severities.count("critical"),
        warnings=severities.count("warning"),
        updated=report.as_of or (None if newest is None else datetime.fromtimestamp(newest, UTC).isoformat()),
    )


def to_json(listed: list[RunRow]) -> str:
    return json.dumps({"schema": "rltui.runs/1", "runs": [asdict(r) for r in listed]}, indent=1) + "\n"


def to_text(listed: list[RunRow], where: str) -> str:
    """Columns aligned for a terminal; a sentence where there is nothing."""
    if not listed:
        return (
            f"No training run found below {os.path.abspath(where)}.\n"
            "Name the log file or the run's directory: rltui PATH. To see how it looks: rltui demo\n"
        )
    cells = [("run", "framework", "state", "step", "verdict", "worst finding")]
    for r in listed:
        step = "-" if r.last_step is None else f"{r.last_step}/{r.total_steps}" if r.total_steps else str(r.last_step)
        kind = " ".join(x for x in (r.framework, r.algorithm) if x) or "unknown"
        cells.append((r.id, kind, r.state, step, r.decision, r.worst_finding or ""))
    widths = [max(len(row[i]) for row in cells) for i in range(5)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row[:5], widths, strict=True)), row[5]]).rstrip() for row in cells]
    return "\n".join(lines) + "\n"


def _reverse(text: str | None) -> tuple[int, ...]:
    """Sorts ISO times newest first; none last."""
    return tuple(-ord(c) for c in text) if text else (0,)

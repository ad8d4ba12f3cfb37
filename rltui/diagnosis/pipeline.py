"""The five stages of an update, in order, each with its reason: none is skipped, and what fails spoils what follows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rltui.diagnosis.catalogue import Rule
from rltui.diagnosis.look import Look
from rltui.diagnosis.model import SEVERITY_RANK, Finding, Level, StageResult
from rltui.diagnosis.unread import STAGES


def stages(
    findings: Sequence[Finding], look: Look, catalogue: Mapping[str, Rule], ran: Sequence[str]
) -> tuple[StageResult, ...]:
    """One result a stage; a pass downstream of a failure is provisional."""
    failed: list[str] = []
    checked = Counter(catalogue[i].stage for i in ran)
    out = []
    for stage, metrics in STAGES.items():
        here = [f for f in findings if f.stage == stage and f.status == "active"]
        worst = max(here, key=lambda f: SEVERITY_RANK[f.severity], default=None)
        seen = [m for m in metrics if look.series(m) is not None]
        checks = checked[stage]
        status: Level
        if worst is not None and worst.severity != "info":
            status = "fail" if worst.severity == "critical" else "warn"
            because = f"{worst.title} since step {worst.onset_step}" if worst.onset_step is not None else worst.title
            if failed:
                because += f"; {failed[0]} upstream may be the cause"
        elif not seen:
            status, because = "unknown", f"not logged: {' or '.join(metrics[:2])}"
        elif not checks or look.n < 3:
            status, because = "unknown", "too few rows" if look.n < 3 else "no check could run"
        else:
            status = "pass"
            because = f"{checks} check{'s' if checks > 1 else ''} clear"
            if worst is not None:
                because += f", notice: {worst.title.lower()}"
            if failed:
                because += f"; provisional, {failed[0]} upstream failed"
        if status == "fail":
            failed.append(stage)
        out.append(StageResult(stage, status, because))
    return tuple(out)

"""Good, Bad, Ugly: runs worth keeping, runs that fell short, runs that broke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf, sqrt

from rltui.compare import fair, tables
from rltui.compare.metric import Scored
from rltui.compare.model import Flag, Group
from rltui.compare.read import ComparedRun, RunCurve
from rltui.evidence.model import Finding
from rltui.rules.catalogue import having
from rltui.rules.traits import Trait

GAIN_SHARE = 0.5
"""A good run gains over its own start at least half of what the best run gains: a run is not good just because it is
cheap."""

SPARED = ("pause-and-fix", "abort-now")
CONDEMNED = ("stop-use-best", *SPARED)
"""Decisions against continuing the run."""


def flags(run: ComparedRun) -> tuple[Flag, ...]:
    """What makes a run ugly: instability, NaN, collapse, KL blow-up, a reward that does not measure the task, an early
    end.

    The current verdict decides. If it is to continue, no finding makes the run ugly. Otherwise each active warning or
    critical finding counts, and resolved ones do not."""
    words = tables.readings().ugly
    out = [
        Flag(words[f.id], f.id, f.summary or f.title)
        for f in run.findings
        if run.decision in CONDEMNED and f.id in words and f.status == "active" and f.severity != "info"
    ]
    if run.state in ("crashed", "stalled") and all(flag.word != run.state for flag in out):
        out.append(Flag(run.state, None, f"the run has {run.state}"))
    return tuple({flag.word: flag for flag in reversed(out)}.values())[::-1]


def open_roots(run: ComparedRun) -> list[Finding]:
    """Active warnings and critical findings that do not follow from another one."""
    return [f for f in run.findings if f.status == "active" and f.severity != "info" and f.root is None]


def group(
    run: ComparedRun,
    ugly: Sequence[Flag],
    scores: Mapping[str, Scored],
    healthy: Sequence[str],
    costs: Mapping[str, RunCurve | None],
) -> tuple[Group, str]:
    """The group, and the reason for it. `healthy`: ids of the scored runs that are not ugly. `costs`: run -> its cost
    over the steps."""
    if ugly:
        return "ugly", ", ".join(flag.word for flag in ugly)
    own = scores.get(run.id)
    if own is None:
        return "bad", "the primary metric is not logged"
    if not own.learned:
        return "bad", "no gain over its own start beyond two standard errors"
    if (verdict := _against(run)) is not None:
        return "bad", verdict
    top_gain = max(scores[other].gain for other in healthy)
    behind_any = any(scores[other].best_good > own.best_good for other in healthy)
    if own.gain < GAIN_SHARE * top_gain and behind_any:  # the best run may have started high
        return "bad", f"gains {100 * own.gain / top_gain:.0f} % of what the best run gains"
    spent = fair.total(costs.get(run.id))
    reached = {o: scores[o].best_good for o in healthy}
    if spent is not None:
        by_then = {o: fair.best_within(scores[o], costs.get(o), spent) for o in healthy if costs.get(o) is not None}
        reached |= {o: -inf if value is None else value for o, value in by_then.items()}
    rival = max(healthy, key=lambda other: reached[other], default=run.id)
    behind = reached[rival] - own.best_good
    spread = sqrt((own.se or 0.0) ** 2 + (scores[rival].se or 0.0) ** 2)
    if behind > 2 * spread:
        return "bad", f"behind {rival} at its cost, by more than two standard errors"
    if len(scores) == 1:
        return "good", f"{condition(run)}, and better than at its start by more than two standard errors"
    return "good", f"{condition(run)}, and within two standard errors of the best at its cost"


def _against(run: ComparedRun) -> str | None:
    """The verdict if it is against continuing, else None. A run to be stopped because its task is solved did well."""
    if run.decision in SPARED:
        return f"verdict {run.badge}"
    if run.decision != "stop-use-best" or not having(Trait.SOLVED).isdisjoint(run.because):
        return None
    titles = [f.title for f in run.findings if f.id in run.because]
    return ": ".join([f"verdict {run.badge}", *titles[:1]])


def condition(run: ComparedRun) -> str:
    """Healthy, or what is still open. Even a good run may have active findings, for example that its task is
    solved."""
    titles = dict.fromkeys(f.title for f in open_roots(run))
    return f"not broken ({', '.join(titles)})" if titles else "healthy"


def limits(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    """What limits `runs`: their root findings by frequency, each with its first supported cause."""
    counted: Counter[str] = Counter()
    told: dict[str, str] = {}
    for run in runs:
        for finding in open_roots(run):
            counted[finding.id] += 1
            cause = next((c for c in finding.causes if c.status == "supported"), None)
            why = "" if cause is None else f". Likely: {cause.text}"
            told.setdefault(finding.id, f"{finding.title}{why}")
    order = sorted(counted, key=lambda i: (-counted[i], i))
    return tuple(f"{told[i]} ({i}, {counted[i]} of {len(runs)} runs)" for i in order)


def readings(runs: Sequence[ComparedRun]) -> tuple[str, ...]:
    """The checklist entries that apply: how runs failed, and what is usually done about it."""
    out = []
    for line in tables.readings().readings:
        hit = [run.id for run in runs if any(f.id in line.when for f in open_roots(run))]
        if hit:
            names = ", ".join(hit[:4]) + (f" and {len(hit) - 4} more" if len(hit) > 4 else "")
            out.append(f"{line.reading} ({names}): {line.advice}")
    return tuple(out)

"""Decides whether to go on, watch, stop or abort: the first of six tests that matches decides, in this order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from rltui.diagnosis.badge import badge
from rltui.diagnosis.case import AT_THE_START, ENOUGH_ROWS, Case, few, goals, interrupted, lost, risen
from rltui.diagnosis.going_back import going_back
from rltui.diagnosis.reliability import of_clear
from rltui.diagnosis.stopping import may_pass, speaks, validation_rises
from rltui.diagnosis.verdict_words import text_of, would_change
from rltui.evidence.look import Look
from rltui.evidence.model import (
    SEVERITY_RANK,
    STAGES,
    BestCheckpoint,
    Decision,
    Finding,
    Kind,
    Level,
    Mark,
    StageResult,
    Verdict,
)
from rltui.rules.base import validation
from rltui.rules.traits import Trait


def stages(findings: Sequence[Finding], look: Look, checked: Counter[str | None]) -> tuple[StageResult, ...]:
    """One result for each stage. A pass after a failed stage is provisional. `checked`: how many rules of each ran."""
    failed: list[str] = []
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
                because += f", and {failed[0]} upstream may be the cause"
        elif not seen:
            zero = [m for m in metrics if look.logged(m) is not None]
            status = "unknown"
            because = f"0 throughout: {zero[0]}" if zero else f"not logged: {' or '.join(metrics[:2])}"
        elif not checks or look.n < ENOUGH_ROWS:
            status, because = "unknown", "too few rows" if look.n < ENOUGH_ROWS else "no check could run"
        else:
            status = "pass"
            because = f"{checks} check{'s' if checks > 1 else ''} clear"
            if worst is not None:
                because += f", note: {worst.title.lower()}"
            if failed:
                because += f", but only provisional as {failed[0]} upstream failed"
        if status == "fail":
            failed.append(stage)
        out.append(StageResult(stage, status, because))
    return tuple(out)


KINDS: tuple[Kind, ...] = ("unstable", "not-learning", "reward-hacking", "misconfigured", "degraded", "stopped")


def judge(case: Case, best: BestCheckpoint | None) -> Verdict:
    """The verdict with its reasons, its basis, and what would change it."""
    decision, because = _decide(case)
    gained = bool(risen(goals(case)))
    if decision == "stop-use-best" and not gained and _never_worked(case, because, best):
        decision = "pause-and-fix"
    kinds = _kinds(case, decision)
    named = _and_criticals(case, _roots_first(case, because))
    broken = any(f.severity == "critical" and not case.has(f, Trait.COST_ONLY, Trait.MEASUREMENT) for f in named)
    words, tone = badge(decision, case.ended, broken, best, gained, interrupted(case))
    return Verdict(
        decision=decision,
        kinds=kinds,
        confidence=0.0 if decision == "not-enough-evidence" else _confidence(case, named),
        because=tuple(dict.fromkeys(f.id for f in named)),
        text=text_of(case, decision, named),
        would_change=would_change(case, decision, named),
        best_checkpoint=best,
        badge=words,
        tone=tone,
    )


COURSES = (Trait.REWARD_FALLS, Trait.VALIDATION_FALLS, Trait.OVERFITS, Trait.DRIFT)
"""Faults that show in a course: something was better once."""


def _never_worked(case: Case, because: Sequence[Finding], best: BestCheckpoint | None) -> bool:
    """Whether the critical faults were there from the start and no step beats the start. There is then no best state to
    use, but a fault to fix before the run is started again."""
    if best is not None and best.beats_start:
        return False
    steps = case.look.steps
    first = int(steps[min(len(steps) - 1, max(ENOUGH_ROWS, int(AT_THE_START * len(steps))))])
    stood = [f for f in because if f.severity == "critical" and not case.has(f, *COURSES)]
    return any(f.onset_step is not None and f.onset_step <= first for f in stood)


def _roots_first(case: Case, because: Sequence[Finding]) -> list[Finding]:
    """The same reasons, led by the root of the first one if it has a root: the root is what to act on."""
    if not because:
        return []
    root = next((f for f in case.loud if f.id == because[0].root), None)
    return list(because) if root is None else [root, *(f for f in because if f is not root)]


def _and_criticals(case: Case, because: Sequence[Finding]) -> list[Finding]:
    """The reasons and every other critical root, the worst first. Everything critical is named, and before anything
    milder, no matter what the decision rests on. A finding that only costs time or money does not come before a reason
    of another kind: it would lead a stop that does not rest on it."""
    told = {f.id for f in because}
    others = [f for f in case.at("critical") if f.id not in told and f.root not in told]
    rests = any(not case.has(f, Trait.COST_ONLY) for f in because)

    def place(f: Finding) -> tuple[bool, int]:
        return rests and f.id not in told and case.has(f, Trait.COST_ONLY), -SEVERITY_RANK[f.severity]

    return sorted([*because[:1], *others, *because[1:]], key=place)


def as_decided(findings: Sequence[Finding], verdict: Verdict, rises: bool, origin: str) -> tuple[Finding, ...]:
    """The findings in the order of the report: open ones before those that are over, first the one that leads the
    verdict, then the worst first, and among equals in the order of the verdict. Symptoms follow their root. `rises`:
    validation rises. `origin`: the state that the first step started from, in words."""
    open_ids = {f.id for f in findings if f.status == "active"}

    def head(f: Finding) -> str:
        return f.root if f.root is not None and f.root in open_ids else f.id

    worst = {name: max(SEVERITY_RANK[f.severity] for f in findings if head(f) == name) for name in map(head, findings)}
    place = {name: at for at, name in reversed(list(enumerate(verdict.because)))}
    last, best = len(place), verdict.best_checkpoint

    def order(f: Finding) -> tuple[bool, bool, int, int]:
        at = place.get(head(f), last)
        return f.status != "active", at != 0, -worst[head(f)], at

    return tuple(going_back(f, best, rises, origin) for f in sorted(findings, key=order))


def _decide(case: Case) -> tuple[Decision, list[Finding]]:
    for decision, test in TESTS:
        because = test(case)
        if because is not None:
            return decision, because
    return "continue", []


def _abort(case: Case) -> list[Finding] | None:
    nan = case.at("critical", Trait.NONFINITE)
    if nan:
        return nan
    collapse = [f for f in case.of_policy(case.at("critical", Trait.COLLAPSE)) if Mark.TO_ITS_FLOOR in f.marks]
    second = case.at("warning", Trait.SECOND_SIGN)
    if collapse and second:
        return [*collapse, *second]
    gamed = case.at("critical", Trait.GAMES_PENALTY)
    if gamed or case.over:
        return gamed or None
    full = [f for f in case.at("critical", Trait.NO_ROOM) if Mark.DISK_FULL in f.marks]
    held_out = validation(case.look)
    falls = held_out is not None and held_out <= -2.0  # and already below where it began
    gamed = case.at("warning", Trait.FARMS_REWARD)  # over-optimised: an earlier checkpoint is good
    below = case.at("critical", Trait.VALIDATION_FALLS) if falls and not gamed else []
    return case.at("critical", Trait.BROKEN_HARDWARE) + full + case.of_policy(below) or None


def _pause(case: Case) -> list[Finding] | None:
    fallen = case.at("warning", Trait.COLLAPSE)
    broken = [f for f in case.at("critical", Trait.MECHANICAL) if not (case.has(f, Trait.AT_FLOOR) and fallen)]
    broken = [
        f for f in broken if not (case.ended and Mark.COSTS in f.marks)
    ]  # of the steps that are over it cost some
    stopped = case.at("critical", Trait.CRASH, Trait.STALL)
    crashed = case.state is not None and case.state.state == "crashed"
    hardware = case.at("critical", Trait.BROKEN_HARDWARE) if crashed else []
    room = [] if case.over else case.at("critical", Trait.NO_ROOM)
    given = [f for f in case.at("critical", Trait.REWARD_FALLS) if Mark.NOT_THE_POLICY in f.marks]
    given = [f for f in given if speaks(case, f, case.active)]
    return (broken + stopped + hardware + room + given) or None


def _not_enough(case: Case) -> list[Finding] | None:
    reward = case.look.series(case.look.reward)
    validated = case.look.series("val_score")
    compared = case.look.settings.preference and case.look.series("dpo_accuracy") is not None
    compared = compared or case.look.series("dpo_reward_margin") is not None
    blind = reward is None and validated is None and not compared
    return [] if (few(case.look) or blind) and not interrupted(case) else None


def _stop(case: Case) -> list[Finding] | None:
    past = [f for f in case.at("warning", Trait.PAST_ITS_BEST) if speaks(case, f, case.active)]
    harm = [f for f in case.at("critical", Trait.HARMFUL) if Mark.PAID not in f.marks]
    others = [f for f in case.at("warning", Trait.DRIFT, Trait.SOLVED) if speaks(case, f, case.active)]
    found = case.of_policy(past + harm + others)
    if found:
        return found
    independent = [f for f in case.loud if f.root is None and not _only_to_mend(case, f)]
    independent = [f for f in case.of_policy(independent) if not may_pass(case, f) and Mark.PAID not in f.marks]
    kinds = {f.id for f in independent}  # one rule that speaks of two subjects is one root
    return independent if len(kinds) >= 2 and not validation_rises(case.look) else None


def _only_to_mend(case: Case, f: Finding) -> bool:
    """Whether the finding names something to fix and not a harmed policy."""
    broken = case.has(f, Trait.MECHANICAL) and not case.has(f, Trait.AT_FLOOR)
    return broken or case.has(f, Trait.COST_ONLY, Trait.MEASUREMENT)


def _watch(case: Case) -> list[Finding] | None:
    return case.loud or ([] if case.stopped_short or _for_nothing(case) else None)


def _for_nothing(case: Case) -> bool:
    """Whether no gain in so many steps, or a loss, asks for a look although nothing shows what is wrong."""
    level = [f for f in case.active if case.has(f, Trait.LEVEL) and not case.has(f, Trait.PLATEAU)]
    costs = any(Mark.COSTS in f.marks for f in level) or bool(lost(goals(case)))
    return costs and not validation_rises(case.look)


TESTS: tuple[tuple[Decision, Callable[[Case], list[Finding] | None]], ...] = (
    ("abort-now", _abort),
    ("pause-and-fix", _pause),
    ("not-enough-evidence", _not_enough),
    ("stop-use-best", _stop),
    ("continue-watch", _watch),
)


def _kinds(case: Case, decision: Decision) -> tuple[Kind, ...]:
    found = {case.catalogue[f.id].kind for f in case.loud}
    if not found:
        for_nothing = decision == "continue-watch" and _for_nothing(case)
        return () if decision == "not-enough-evidence" else ("not-learning",) if for_nothing else ("healthy",)
    return tuple(k for k in KINDS if k in found)


def _confidence(case: Case, because: Sequence[Finding]) -> float:
    """The confidence of the surest reason; without a reason, how often silence was right."""
    seen = case.coverage
    return max((f.confidence for f in because), default=of_clear(case.look.n, seen.present / max(1, seen.expected)))

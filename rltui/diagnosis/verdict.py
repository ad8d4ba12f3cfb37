"""Go on, watch, stop or abort: the first of six tests that matches decides, in this order; and the same in two or three
words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rltui.diagnosis.badge import badge
from rltui.diagnosis.finding_words import began, in_sentence, over
from rltui.diagnosis.reliability import of_clear
from rltui.diagnosis.roots import dating_tolerance
from rltui.diagnosis.stopping import StopCase, may_heal, speaks, validation_rises
from rltui.evidence import words as told
from rltui.evidence.clock import enough
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import (
    SEVERITY_RANK,
    STAGES,
    BestCheckpoint,
    Coverage,
    Decision,
    Finding,
    Kind,
    Level,
    Mark,
    Severity,
    StageResult,
    Verdict,
)
from rltui.prose import counted, listed, sentences
from rltui.rules.base import validation
from rltui.rules.page import Rule
from rltui.rules.traits import Trait

ENOUGH_ROWS = 10
"""Of fewer nothing is judged: neither a stage nor the run."""


def stages(
    findings: Sequence[Finding], look: Look, catalogue: Mapping[str, Rule], ran: Sequence[str]
) -> tuple[StageResult, ...]:
    """One result a stage; a pass downstream of a failure is provisional."""
    failed: list[str] = []
    checked: Counter[str | None] = Counter(catalogue[i].stage for i in ran)
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


@dataclass(frozen=True, slots=True)
class Case(StopCase):
    """Everything that the procedure weighs."""

    active: Sequence[Finding]
    coverage: Coverage
    checks: int
    skipped: int
    past: Sequence[Finding] = ()

    def at(self, severity: Severity, *traits: Trait) -> list[Finding]:
        """Active findings at this severity or above that have any of the traits, if any are named."""
        least = SEVERITY_RANK[severity]
        loud = [f for f in self.active if SEVERITY_RANK[f.severity] >= least]
        return [f for f in loud if not traits or self.has(f, *traits)]

    @property
    def loud(self) -> list[Finding]:
        return [f for f in self.active if f.severity != "info"]

    def of_policy(self, found: Sequence[Finding]) -> list[Finding]:
        """Those that an earlier checkpoint would mend: neither they nor their roots lie outside the policy."""
        outside = {f.id for f in self.active if Mark.NOT_THE_POLICY in f.marks}
        return [f for f in found if f.id not in outside and f.root not in outside]


def judge(case: Case, best: BestCheckpoint | None) -> Verdict:
    """The verdict with its reasons, what it rests on and what would change it."""
    decision, because = _decide(case)
    gained = bool(_gains(_seen(case)))
    if decision == "stop-use-best" and not gained and _never_worked(case, because, best):
        decision = "pause-and-fix"
    because = _roots_first(case, because)
    if decision == "stop-use-best":
        because = [*_worse_and_before(case, because), *because]
    kinds = _kinds(case, decision)
    named = _and_criticals(case, because)
    broken = any(f.severity == "critical" and not case.has(f, Trait.COST_ONLY, Trait.MEASUREMENT) for f in named)
    words, tone = badge(decision, case.ended, broken, best, gained, _interrupted(case))
    return Verdict(
        decision=decision,
        kinds=kinds,
        confidence=0.0 if decision == "not-enough-evidence" else _confidence(case, because),
        because=tuple(dict.fromkeys(f.id for f in named)),
        text=_text(case, decision, named),
        would_change=_would_change(case, decision, because),
        best_checkpoint=best,
        badge=words,
        tone=tone,
    )


COURSES = (Trait.REWARD_FALLS, Trait.VALIDATION_FALLS, Trait.OVERFITS, Trait.DRIFT)
"""Faults of a course: what was better once."""
AT_THE_START = 0.05
"""Of a run: what was broken by then was so from the start."""


def _never_worked(case: Case, because: Sequence[Finding], best: BestCheckpoint | None) -> bool:
    """What is critical was so from the start, and no step beats the start: there is no best to use, but a fault to mend
    before the run is started again."""
    if best is not None and best.beats_start:
        return False
    steps = case.look.steps
    first = int(steps[min(len(steps) - 1, max(ENOUGH_ROWS, int(AT_THE_START * len(steps))))])
    stood = [f for f in because if f.severity == "critical" and not case.has(f, *COURSES)]
    return any(f.onset_step is not None and f.onset_step <= first for f in stood)


def _roots_first(case: Case, because: Sequence[Finding]) -> list[Finding]:
    """The same reasons led by the root of the first, where it is folded under one: the root is what to act on."""
    if not because:
        return []
    root = next((f for f in case.loud if f.id == because[0].root), None)
    return list(because) if root is None else [root, *(f for f in because if f is not root)]


def _worse_and_before(case: Case, because: Sequence[Finding]) -> list[Finding]:
    """Critical roots that began no later than the milder first reason to stop: they are what to act on."""
    first = because[0]
    if first.severity == "critical" or first.onset_step is None:
        return []
    until = first.onset_step + dating_tolerance(case.look.step)
    roots = [f for f in case.at("critical") if f.root is None and f.stage is not None and f not in because]
    return [f for f in roots if f.onset_step is not None and f.onset_step <= until]


def _and_criticals(case: Case, because: Sequence[Finding]) -> list[Finding]:
    """The reasons with every other critical root behind the first of them: whatever the decision rests on, what is
    critical is named."""
    told = {f.id for f in because}
    others = [f for f in case.at("critical") if f.id not in told and f.root not in told]
    return [*because[:1], *others, *because[1:]]


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
    stopped = case.at("critical", Trait.CRASH, Trait.STALL)
    crashed = case.state is not None and case.state.state == "crashed"
    hardware = case.at("critical", Trait.BROKEN_HARDWARE) if crashed else []
    room = [] if case.over else case.at("critical", Trait.NO_ROOM)
    given = [f for f in case.at("critical", Trait.REWARD_FALLS) if Mark.NOT_THE_POLICY in f.marks]
    return (broken + stopped + hardware + room + given) or None


def _not_enough(case: Case) -> list[Finding] | None:
    reward = case.look.series(case.look.reward)
    validated = case.look.series("val_score")
    compared = case.look.settings.preference and case.look.series("dpo_accuracy") is not None
    compared = compared or case.look.series("dpo_reward_margin") is not None
    blind = reward is None and validated is None and not compared
    return [] if (_few(case.look) or blind) and not _interrupted(case) else None


def _interrupted(case: Case) -> bool:
    """The run was ended from outside: whatever else is known, it is to be resumed."""
    return any(Mark.INTERRUPTED in f.marks for f in case.loud)


def _few(look: Look) -> bool:
    """Rows and steps are too few to judge."""
    return not enough(ENOUGH_ROWS, look.steps)


def _stop(case: Case) -> list[Finding] | None:
    past = [f for f in case.at("warning", Trait.PAST_ITS_BEST) if speaks(case, f)]
    harm = case.at("critical", Trait.HARMFUL)
    others = [f for f in case.at("warning", Trait.DRIFT, Trait.SOLVED) if speaks(case, f)]
    found = case.of_policy(past + harm + others)
    if found:
        return found
    independent = [f for f in case.loud if f.root is None and not _only_to_mend(case, f)]
    independent = [f for f in case.of_policy(independent) if not may_heal(case, f)]
    kinds = {f.id for f in independent}  # one rule that speaks of two subjects is one root
    return independent if len(kinds) >= 2 and not validation_rises(case.look) else None


def _only_to_mend(case: Case, f: Finding) -> bool:
    """It says what to mend, and not that the policy is harmed."""
    broken = case.has(f, Trait.MECHANICAL) and not case.has(f, Trait.AT_FLOOR)
    return broken or case.has(f, Trait.COST_ONLY, Trait.MEASUREMENT)


def _watch(case: Case) -> list[Finding] | None:
    return case.loud or ([] if case.stopped_short else None)


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
        return () if decision == "not-enough-evidence" else ("healthy",)
    return tuple(k for k in KINDS if k in found)


def _confidence(case: Case, because: Sequence[Finding]) -> float:
    """That of its surest reason; where nothing speaks, how often silence was right."""
    seen = case.coverage
    return max((f.confidence for f in because), default=of_clear(case.look.n, seen.present / max(1, seen.expected)))


def _text(case: Case, decision: Decision, because: Sequence[Finding]) -> str:
    """One or two sentences. The checkpoint to keep stands beside the verdict, not in it."""
    look = case.look
    if decision == "not-enough-evidence":
        if _few(look):
            rows = counted(look.n, "metric row") if look.n else "No metric rows"
            return f"{rows} so far: too few to judge.{_open(because)}"
        blind = "Neither reward nor validation is logged, so whether this run learns cannot be judged."
        return f"{blind}{_open(because)}"
    if not because:
        silent = case.state.because if case.state is not None and case.stopped_short else ""
        return sentences(silent, _clear(case))
    head, *others = because
    when = began(head)
    return f"{head.title}{f', {when}' if when else ''}. {head.summary}{_open(others, head, 'Also open')}"


def _open(found: Sequence[Finding], but: Finding | None = None, said: str = "Open") -> str:
    """Two of them by their titles, critical ones first, and more if those are critical."""
    others = sorted((f for f in found if but is None or f.id != but.id), key=lambda f: f.severity != "critical")
    titles = list(dict.fromkeys(in_sentence(f.title) for f in others))
    most = max(2, sum(f.severity == "critical" for f in others))
    return f" {said}: {listed(titles[:most])}." if titles else ""


def _clear(case: Case) -> str:
    """Why nothing speaks against going on: what was gained, and how much nobody could see. Without a gain that is still
    there, or with more checks that could not run than did, it is not called clear, nor beside a note that costs
    something. Of a plateau it says why to go on without gain."""
    facts, seen = case.look.facts, _seen(case)
    gains, sets = _gains(seen), facts.validation_sets
    fallen = [m for m in sets if len(sets) > 1 and m.since_start is not None and m.since_start.direction < 0]
    if case.skipped >= case.checks:
        head = "No fault in the little that is logged"
    elif gains:
        unseen = any(m.since_start is not None for m in sets) and not _gains(sets) and not validation_rises(case.look)
        head = "No fault found, and no sure gain on validation" if unseen else _all_clear(case)
        head = "No fault found, but a validation set fell" if fallen else head
        head = "No fault found, but below its best" if any(m.below_best for m in seen) else head
    else:
        untold = seen and all(m.since_start is None for m in seen)
        head = "No fault found, with too few rows to tell a gain" if untold else NO_GAIN
    costs = [f for f in case.active if f.severity == "info" and Mark.COSTS in f.marks]
    if costs:
        named = listed(list(dict.fromkeys(in_sentence(f.title) for f in costs)))
        head = f"No fault found, but {named}" if head in (CLEAR, UP_TO_THERE, NO_GAIN) else f"{head}, and {named}"
    words = f"{head}: {case.checks} checks ran" + (f", {case.skipped} could not." if case.skipped else ".")
    level = next((f for f in case.active if case.has(f, Trait.LEVEL)), None)
    rose = any(m.name == case.look.reward for m in gains)
    if level is not None and rose and not case.has(level, Trait.PLATEAU):
        level = None  # what rose from its start is not called level since then
    courses = [
        told.course(facts, m.name)
        + (f", level since step {level.onset_step}" if level is not None and m.name == case.look.reward else "")
        for m in seen
        if not m.held_out
    ]
    alone = len(sets) == 1 and level is None
    held_out = [m for m in sets if m in gains or m in fallen or (alone and m.since_peak is not None)]  # of few: no ends
    held_out.sort(key=lambda m: (m not in fallen, m.series.key))  # not as the log has them
    courses += [_course(case, m) for m in held_out[:MOST_SETS]]
    why = _why_go_on(case) if courses and level is not None else ""
    numbers = [f.summary for f in costs[:MOST_COSTS]]
    return f"{words} {sentences(*numbers, *courses, why, over(case.past), told.left_out(case.look))}".rstrip()


CLEAR = "All clear"
UP_TO_THERE = "No fault found up to there"
NO_GAIN = "No fault found, and no gain shown"
MOST_COSTS = 2
"""Notes that cost something of which the numbers are told too."""
MOST_SETS = 3
"""Validation sets whose courses are told; those that fell before those that rose."""


def _all_clear(case: Case) -> str:
    """Of a run that broke off, or whose log ends with an error, only its metrics are clear."""
    broke_off = case.stopped_short or (case.state is not None and case.state.error_after)
    return UP_TO_THERE if broke_off else CLEAR


def _course(case: Case, held_out: MetricFacts) -> str:
    """How a validation set went; its own name only if there are several."""
    name = "validation"
    if len(case.look.facts.validation_sets) > 1:
        name = told.of_set(held_out.series.key, case.look.dialect.name)
    return told.whole_course(name, held_out.course)


def _seen(case: Case) -> list[MetricFacts]:
    """What a run is to raise, of rows enough: score, reward and validation; of pairs of answers how often and how far
    the better one leads."""
    facts = case.look.facts
    pairs = ("dpo_accuracy", "dpo_reward_margin") if case.look.settings.preference else ()
    names = [name for name in (facts.score, facts.optimised, *pairs) if name is not None]
    found = [m for name in names if (m := facts.metric(name)) is not None and len(m.series) >= ENOUGH_ROWS]
    return [*found, *facts.validation_sets]


def _gains(seen: Sequence[MetricFacts]) -> list[MetricFacts]:
    return [m for m in seen if m.since_start is not None and m.since_start.direction == m.better]


def _why_go_on(case: Case) -> str:
    look, seen = case.look, case.look.facts.validation
    if validation_rises(look):
        highest = "validation still rose at the end" if case.ended else "validation still rises"
        at_best = seen is not None and seen.values[-1] >= seen.values.max()
        told_so = bool(_gains(look.facts.validation_sets))
        return highest if at_best else "validation holds" if told_so else "validation has risen and holds"
    if (moved := validation(look)) is not None:
        if moved <= -HOLDS or (seen is not None and seen.below_best):
            return "validation is lower than it was, which no check calls a fall yet"
        return "validation holds" if case.ended else "validation holds, and so short a plateau is no end"
    if look.facts.clock.steps_left == 0:
        return "the planned end is reached"
    if case.ended:
        return "the run is over"
    return "no validation is logged that would show the end of the gain, and nothing is being lost"


HOLDS = 2.0
"""Standard errors by which validation may be lower than before and still be said to hold."""


def _would_change(case: Case, decision: Decision, because: Sequence[Finding]) -> str:
    look = case.look
    if decision == "not-enough-evidence":
        if _few(look):
            half = f"{ENOUGH_ROWS // 2} rows that span {ENOUGH_ROWS} steps"
            return f"It takes {ENOUGH_ROWS} rows with a reward, or {half}."
        return "It takes a logged reward or validation score."
    over = case.ended
    again = "" if over else f"it is judged again at step {look.step + max(20, look.step // 20)}"
    if not because and case.stopped_short:
        return "It would change if a new row comes, or if the log of the scheduler says what ended it."
    if not because:
        return (
            "Nothing more is to come from this run."
            if over
            else sentences("A warning that lasts would change it", again)
        )
    if decision == "continue-watch" and _held_back(case):
        several = len(look.facts.validation_sets) > 1
        falls = (
            "all validation sets together fall or rise no more" if several else "validation falls or no longer rises"
        )
        return sentences(f"It would become a stop once {falls}", again)
    refute = [f.refute[0] for f in because if f.refute][:2]
    words = ", or if ".join(in_sentence(r) for r in dict.fromkeys(refute))
    return sentences(f"It would change if {words}", again)


def _held_back(case: Case) -> bool:
    """Only rising validation speaks for going on."""
    held_out = validation(case.look)
    if held_out is None or held_out < 1.0:
        return False
    ended = (Trait.PAST_ITS_BEST,) if validation_rises(case.look) else ()
    return bool(case.at("warning", Trait.SOLVED, *ended))

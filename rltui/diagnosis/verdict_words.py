"""What a verdict says: why, how the run went, and what would change it."""

from __future__ import annotations

from collections.abc import Sequence

from rltui.diagnosis.case import ENOUGH_ROWS, Case, few, goals, lost, risen
from rltui.diagnosis.finding_words import began, in_sentence, over, titles
from rltui.diagnosis.stopping import may_pass, validation_rises
from rltui.evidence import words as told
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Decision, Finding, Mark
from rltui.evidence.parting import goes
from rltui.prose import capital, counted, listed, sentences
from rltui.rules.base import validation, validation_lately
from rltui.rules.traits import Trait
from rltui.run.attempts import loop


def text_of(case: Case, decision: Decision, because: Sequence[Finding]) -> str:
    """One or two sentences. The checkpoint to keep is shown beside them."""
    look = case.look
    if decision == "not-enough-evidence":
        if few(look):
            rows = counted(look.n, "metric row") if look.n else "No metric rows"
            rows = rows if case.ended and look.n else f"{rows} so far"
            return f"{rows}: too few to judge.{_few_values(case)}{_open(because or case.loud)}"
        without = "No preference accuracy" if look.settings.preference else "No reward"
        blind = f"{without} and no validation has a known name: whether this run learns cannot be judged."
        return f"{blind}{_open(because or case.loud)}"
    if not because:
        return sentences(_broke_off(case), _clear(case))
    head, *others = because
    when = began(head)
    policy = any(f.severity == "critical" and Mark.NOT_THE_POLICY not in f.marks for f in others)
    outside = Mark.NOT_THE_POLICY in head.marks and not policy
    of = f"{',' if ',' in head.title else ''} for a reason outside the policy" if outside else ""
    others += [f for f in case.loud if f.id not in {one.id for one in because} and _stands_alone(case, f)]
    return f"{head.title}{of}{f', {when}' if when else ''}. {head.summary}{_open(others, head, 'Also open')}"


def _few_values(case: Case) -> str:
    """How the metric that the run should raise went, from where to where, as the tables have it."""
    facts = case.look.facts
    names = [facts.score or facts.optimised]
    if case.look.settings.preference:
        names += ["dpo_accuracy", "dpo_reward_margin"]
    told_of = []
    for name in names:
        found = facts.metric(name) if name is not None else None
        if found is not None and len(found.series) > 1:
            told_of.append(f"{told.named(facts, found.name)} {told.from_to(found.course)}")
    return f" {capital(listed(told_of))}." if told_of else ""


def _stands_alone(case: Case, f: Finding) -> bool:
    """Whether a warning is named although the decision does not rest on it: it is not a symptom of another one, or it
    is a fall of what the run is for."""
    return f.root is None or case.has(f, Trait.PAST_ITS_BEST)


def _broke_off(case: Case) -> str:
    """How the log ends, for a run without faults in its metrics; empty if it ends as it should, or continues."""
    state = case.state
    if state is None:
        return ""
    if state.error_after:
        return f"All planned steps are done, and then the log ends with an error: {state.error_after}"
    return state.because if case.stopped_short else ""


def _open(found: Sequence[Finding], but: Finding | None = None, said: str = "Open") -> str:
    """The titles of two open findings, critical ones first; more if they are critical."""
    others = sorted((f for f in found if but is None or f.id != but.id), key=lambda f: f.severity != "critical")
    named = titles(others)
    most = max(2, sum(f.severity == "critical" for f in others))
    return f" {said}: {listed(named[:most])}." if named else ""


def _clear(case: Case) -> str:
    """Why nothing speaks against going on: what was gained, and how much could not be seen. The run is not called clear
    without a gain that is still there, if more checks could not run than did, or beside a note that costs something.
    On a plateau it says why to go on without gain."""
    facts, seen = case.look.facts, goals(case)
    gains, sets = risen(seen), facts.validation_sets
    fallen = [m for m in sets if len(sets) > 1 and m.since_start is not None and m.since_start.direction < 0]
    if case.skipped >= case.checks:
        head = "No fault in the little that is logged"
    elif gains:
        unseen = any(m.since_start is not None for m in sets) and not risen(sets) and not validation_rises(case.look)
        head = "No fault found, and no sure gain on validation" if unseen else _all_clear(case)
        head = "No fault found, but a validation set fell" if fallen else head
        head = "No fault found, but validation fell lately" if validation_lately(case.look) < 0 else head
        few = facts.validation is not None and goes(facts.validation.values) < 0
        head = "No fault found, but validation fell" if few else head
        head = "No fault found, but below its best" if any(m.below_best for m in seen) else head
    else:
        untold = seen and all(m.since_start is None for m in seen)
        head = "No fault found, with too few rows to tell a gain" if untold else NO_GAIN
        if lost(seen) and head == NO_GAIN:
            head = f"No fault found, but {told.named(facts, lost(seen)[0].name)} fell"
    costs = [f for f in case.active if f.severity == "info" and Mark.COSTS in f.marks]
    if costs:
        head = NO_GAIN if lost(seen) and not gains else head
        named = listed(titles(costs))
        head = (
            f"No fault found, but {named}"
            if head in (CLEAR, NO_FAULT, UP_TO_THERE, NO_GAIN)
            else f"{head}, and {named}"
        )
    ends = loop(case.crashes)
    if ends:
        head = f"{NO_FAULT if head in (CLEAR, UP_TO_THERE) else head}, but the run ended in an error more than once"
    words = f"{head}: {case.checks} checks ran"
    words += (f", {case.skipped} could not" if case.skipped else "") + (
        f", {case.failed} failed." if case.failed else "."
    )
    level = next((f for f in case.active if case.has(f, Trait.LEVEL)), None)
    rose = any(m.name == case.look.reward for m in gains)
    if level is not None and rose and not case.has(level, Trait.PLATEAU):
        level = None  # what rose from its start is not called level since then
    noted = {f.evidence[0].metric for f in costs[:MOST_COSTS] if f.evidence}  # its numbers are told with the note
    seen = [m for m in seen if not (m.name == facts.optimised and _alike(case, facts.score))]
    courses = [
        told.course(facts, m.name)
        + (f", level since step {level.onset_step}" if level is not None and m.name == case.look.reward else "")
        for m in seen
        if not m.held_out and m.name not in noted
    ]
    alone = len(sets) == 1 and level is None
    held_out = [m for m in sets if m in gains or m in fallen or (alone and m.since_peak is not None)]  # of few: no ends
    held_out.sort(key=lambda m: (m not in fallen, m.series.key))  # not as the log has them
    courses += [_course(case, m) for m in held_out[:MOST_SETS]]
    why = _why_go_on(case) if (courses or noted) and level is not None else ""
    numbers = [f.summary for f in costs[:MOST_COSTS]]
    return f"{words} {sentences(ends, *numbers, *courses, why, over(case.past), told.left_out(case.look))}".rstrip()


CLEAR = "All clear"
UP_TO_THERE = "No fault found up to there"
NO_FAULT = "No fault found"
NO_GAIN = "No fault found, and no gain shown"
MOST_COSTS = 2
"""Up to how many costly notes are shown with their numbers."""
MOST_SETS = 3
"""The number of validation sets that are described; those that fell come first."""


def _all_clear(case: Case) -> str:
    """ "All clear", of the metrics only if the run broke off or its log ends with an error; nothing is clear if one of
    our checks failed."""
    return UP_TO_THERE if _broke_off(case) else NO_FAULT if case.failed else CLEAR


def _alike(case: Case, score: str | None) -> bool:
    """Whether the optimised reward went as the score did, at both ends: the difference is a small part of the gain.
    Numbers that are nearly the same need no second sentence."""
    facts = case.look.facts
    one = None if score is None or score == facts.optimised else facts.course(score)
    other = None if facts.optimised is None else facts.course(facts.optimised)
    if one is None or other is None:
        return False
    apart = max(abs(one.first - other.first), abs(one.last - other.last))
    return apart <= ALIKE * abs(one.last - one.first)


ALIKE = 0.05
"""Share of the change of the score by which the reward may differ and still be reported together with it."""


def _course(case: Case, held_out: MetricFacts) -> str:
    """How a validation set went; with its own name only if there are several."""
    name = "validation"
    if len(case.look.facts.validation_sets) > 1:
        name = told.of_set(held_out.series.key, case.look.dialect.name)
    return told.whole_course(name, held_out.course)


CEILING = 0.99
"""For a share from 0 to 1: no evaluation can show a gain above this."""


def _at_its_ceiling(seen: MetricFacts) -> bool:
    return bool(seen.values.min() >= 0.0 and seen.values.max() <= 1.0 and seen.now.value >= CEILING)


def _why_go_on(case: Case) -> str:
    look, seen = case.look, case.look.facts.validation
    if case.ended and seen is not None and _at_its_ceiling(seen):
        return "validation is at its ceiling"
    if validation_rises(look):
        highest = "validation still rose at the end" if case.ended else "validation still rises"
        at_best = seen is not None and seen.values[-1] >= seen.values.max()
        told_so = bool(risen(look.facts.validation_sets))
        if not at_best and any(told.perhaps_lost(one.course) for one in look.facts.validation_sets):
            return "validation may be past its best, which no check calls a fall yet"
        return highest if at_best else "validation holds" if told_so else "validation has risen and holds"
    if (moved := validation(look)) is not None:
        if moved <= -HOLDS or validation_lately(look) < 0 or (seen is not None and seen.below_best):
            return "validation is lower than it was, which no check calls a fall yet"
        return "validation holds" if case.ended else "validation holds, and so short a plateau is no end"
    if look.facts.clock.steps_left == 0:
        return "the planned end is reached"
    if case.ended:
        return "the run is over"
    if seen is not None:
        few = counted(len(seen.values), "evaluation")
        if lost(goals(case)):
            return f"{few} cannot show whether validation fell with it"
        return f"{few} cannot show the end of the gain yet, and nothing is being lost"
    if look.family("val_aux"):
        return "no validation has a name that is known, so that none shows the end of the gain"
    if lost(goals(case)):
        return "no validation is logged that would show whether the policy is worse"
    return "no validation is logged that would show the end of the gain, and nothing is being lost"


HOLDS = 2.0
"""Standard errors by which validation may be below its earlier level and still count as holding."""


def would_change(case: Case, decision: Decision, because: Sequence[Finding]) -> str:
    look = case.look
    if decision == "not-enough-evidence":
        if few(look):
            half = f"{ENOUGH_ROWS // 2} rows that span {ENOUGH_ROWS} steps"
            known = "preference accuracy" if look.settings.preference else "a reward"
            return f"It takes {ENOUGH_ROWS} rows with {known}, or {half}."
        known = "preference accuracy" if look.settings.preference else "reward"
        return f"It takes a logged {known} or validation score."
    over = case.ended
    still = over or case.broke_off
    next_step = look.step + max(20, look.step // 20)
    if (planned := look.settings.planned_steps) is not None and look.step < planned:
        next_step = min(next_step, planned)
    again = "" if still else f"it is judged again at step {next_step}"
    if not because and case.broke_off:
        return "It would change if a new row comes, or if the log of the scheduler says what ended it."
    if not because:
        return (
            "Nothing more is to come from this run."
            if over
            else sentences(
                f"A {'gain that shows' if decision == 'continue-watch' else 'warning that lasts'} would change it",
                again,
            )
        )
    if decision == "continue-watch" and _held_back(case):
        several = len(look.facts.validation_sets) > 1
        falls = (
            "all validation sets together fall or rise no more" if several else "validation falls or no longer rises"
        )
        return sentences(f"It would become a stop once {falls}", again)
    if decision == "continue-watch" and any(f.severity == "critical" and Mark.PAID in f.marks for f in because):
        return sentences("It would be a stop without the gain of reward or validation", again)
    if decision == "continue-watch" and any(f.severity == "critical" and may_pass(case, f) for f in case.active):
        return sentences("It would become a stop if the fall lasts: so far it may be a dip", again)
    refute = [words[0] for f in because if (words := _refutations(case, f))][:2]
    if not refute:
        return sentences(NOTHING_AGAINST, again)
    words = ", or if ".join(in_sentence(r) for r in dict.fromkeys(refute))
    return sentences(f"It would change if {words}", again)


NOTHING_AGAINST = "Nothing that is logged speaks against it"


def _refutations(case: Case, finding: Finding) -> Sequence[str]:
    """What would refute a finding, the likeliest first. That validation still rises is the first thing that refutes a
    solved task, unless validation falls."""
    fallen = case.has(finding, Trait.SOLVED) and case.at("warning", Trait.PAST_ITS_BEST)
    unanswered = () if Mark.UNREFUTED in finding.marks else finding.refute
    return unanswered[1:] if fallen else unanswered


def _held_back(case: Case) -> bool:
    """Whether rising validation is the only reason to go on."""
    held_out = validation(case.look)
    if held_out is None or held_out < 1.0:
        return False
    ended = (Trait.PAST_ITS_BEST,) if validation_rises(case.look) else ()
    return bool(case.at("warning", Trait.SOLVED, *ended))

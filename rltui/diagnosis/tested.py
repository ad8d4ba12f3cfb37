"""Expectations of causes, tested on a run: what its numbers, config, log, samples and machine say of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from typing import Any, Literal

from rltui.diagnosis.roots import dating_tolerance
from rltui.evidence.effects import LIMIT, SHORT_LIMIT, SHORT_POINTS, Level, between
from rltui.evidence.look import FAMILIES, Look
from rltui.evidence.measured import Measured
from rltui.evidence.metric import FIRST, NOW_POINTS, MetricFacts, alone
from rltui.evidence.sampled import Sampled
from rltui.evidence.signal import num
from rltui.frameworks.advice import enable, keep_samples
from rltui.frameworks.load import config_meanings, metrics, phases
from rltui.plots.numbers import change, percent, unpadded
from rltui.readers.base import Note
from rltui.rules.catalogue import rules
from rltui.rules.expectation import (
    NUMBERS,
    AnyOf,
    Configured,
    Explains,
    InSamples,
    Jumped,
    MetricMoved,
    OnMachine,
    OtherFinding,
    Resumed,
    Said,
    Stands,
    Test,
    Took,
    Updates,
)
from rltui.run.run import ConfigValue

Answer = Literal["met", "unmet", "unknown"]

LEVEL_POINTS = 20
"""Newest points that tell a level, as everywhere else."""
SLOWER = 1.1
"""Times the step time before, from which on there is something to be explained."""
JUST_BEFORE = 100
"""Steps before an onset in which a jump may be what it began with: damage needs some tens of updates to show."""
SAMPLES = 30
"""Newest samples of the machine that tell how it stands."""
OTHER_PATH = {"kl_coef_loss": "kl_coef_reward"}
"""If the first does not act, the second may act in its place."""
TELLING = ("warning", "traceback", "oom", "killed", "fault")
"""Kinds of log lines in which a cause may be named."""
QUOTED = 120

DECISIVE, SEEN, SET = 3, 2, 1
"""Weights: it is as good as proof; the run's numbers show it; only a setting speaks for it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`text` says what was found, in numbers; of an unknown one what it would need."""

    answer: Answer
    text: str
    weight: int = SEEN


@dataclass(frozen=True, slots=True)
class Spell:
    """From which step to which a finding stood; `onset` None: nobody knows since when."""

    onset: int | None
    end: int


@dataclass(frozen=True)
class Ground:
    """What causes are tested on. `spells`: of each rule that found something; `ran`: rules that could run."""

    look: Look
    config: Mapping[str, ConfigValue]
    notes: Sequence[Note] = ()
    sampled: Sampled | None = None
    measured: Measured | None = None
    spells: Mapping[str, Spell] = field(default_factory=dict)
    ran: frozenset[str] = frozenset()

    def test(self, test: Test, spell: Spell) -> Outcome:
        outcome = _TESTERS[type(test)](self, test, spell)
        weight = DECISIVE if test.decisive else outcome.weight
        answer = "unknown" if outcome.answer == "unmet" and test.unmet == "open" else outcome.answer
        return Outcome(answer, outcome.text, weight)


def _label(name: str) -> str:
    if name.startswith("phase:"):
        return f"seconds in {phases()[name.removeprefix('phase:')].label}"
    meaning = metrics().get(name)
    return meaning.label if meaning is not None else name


def _value(name: str, value: float) -> str:
    meaning = metrics().get(name)
    return percent(value) if meaning is not None and meaning.unit == "fraction" else num(value)


def _missing(ground: Ground, name: str) -> Outcome:
    if name.startswith("phase:"):
        return Outcome("unknown", f"the time of {phases()[name.removeprefix('phase:')].label} is not logged")
    return Outcome("unknown", f"{_label(name)} is not logged ({enable(name, ground.look.dialect.name)})")


def _facts(ground: Ground, name: str) -> list[tuple[str, MetricFacts]]:
    """The metric, or its members, with what each is called."""
    if name in FAMILIES:
        return [(member, alone(member, series)) for member, series in ground.look.family(name).items() if len(series)]
    found = ground.look.facts.metric(name)
    return [] if found is None else [(_label(name), found)]


def _then(facts: MetricFacts, spell: Spell, points: int) -> Level | None:
    """The level since the onset; of the newest points if nobody knows since when."""
    return facts.within(spell.onset, spell.end, points)


def _moved(ground: Ground, test: MetricMoved, spell: Spell) -> Outcome:
    tried = [_move(ground, test, facts, label, spell) for label, facts in _facts(ground, test.metric)]
    known = [one for one in tried if one is not None]
    if not known:
        few = f"there are too few points of {_label(test.metric)} before and after"
        return Outcome("unknown", few) if tried else _missing(ground, test.metric)
    order: tuple[Answer, ...] = ("met", "unknown", "unmet")
    return min(known, key=lambda one: order.index(one.answer))


def _move(ground: Ground, test: MetricMoved, facts: MetricFacts, label: str, spell: Spell) -> Outcome | None:
    after = _then(facts, spell, NOW_POINTS)
    onset = spell.onset
    before = facts.before(onset) if onset is not None else None
    references = []
    if test.since != "start" and before is not None and before.points >= FIRST:
        references.append((before, f"since step {onset}"))
    if test.since != "onset" or not references:
        references.append((facts.start, "since the start"))
    found: Outcome | None = None
    for reference, since in references:
        if after is None or after.points < FIRST or after.first_step <= reference.last_step:
            continue
        one = _compared(test, reference, after, label, since)
        if found is None or (one.answer, found.answer) in (("met", "unmet"), ("met", "unknown"), ("unknown", "unmet")):
            found = one
    return found


def _compared(test: MetricMoved, before: Level, after: Level, label: str, since: str) -> Outcome:
    limit = SHORT_LIMIT if min(before.points, after.points) < SHORT_POINTS // 2 else LIMIT
    effect = between(before, after, limit)
    name = test.metric
    said = change(before.value, after.value)
    told = f"{label} {_value(name, before.value)} → {_value(name, after.value)} {since}" + (
        f" ({said})" if said else ""
    )
    if effect is None:
        return Outcome("unknown", told)
    sign = 1 if test.way == "up" else -1
    wanted = test.by * abs(before.value)
    if effect.direction == sign and sign * effect.value >= wanted:
        return Outcome("met", told)
    if sign * effect.value + 2 * effect.se < wanted or effect.direction == -sign:
        return Outcome("unmet", told)
    return Outcome("unknown", f"{told}, which noise may hide or make")


def _jumped(ground: Ground, test: Jumped, spell: Spell) -> Outcome:
    facts = ground.look.facts.metric(test.metric)
    if facts is None:
        return _missing(ground, test.metric)
    label = _label(test.metric)
    onset = spell.onset if spell.onset is not None else spell.end
    late = dating_tolerance(spell.end)
    for shift in reversed(facts.shifts):
        grown = shift.after - shift.before if test.way == "up" else shift.before - shift.after
        if onset - JUST_BEFORE <= shift.step <= onset + late and grown > test.by * abs(shift.before):
            told = (
                f"{label} {_value(test.metric, shift.before)} → {_value(test.metric, shift.after)} at step {shift.step}"
            )
            return Outcome("met", told)
    return Outcome("unmet", f"{label} did not jump before step {onset}")


def _updates(ground: Ground, test: Updates, spell: Spell) -> Outcome:
    one = ground.look.settings.one_update
    named = [ground.config[key] for key in ("ppo_epochs", "train_batch_prompts", "mini_batch") if key in ground.config]
    told = ", ".join(f"{entry.key} = {entry.value}" for entry in named)
    if one is None:
        return Outcome("unknown", "the config that was found does not tell how many updates a rollout is used for", SET)
    return Outcome("unmet" if one else "met", f"{told}: {'one update' if one else 'several updates'} a rollout", SET)


def _step(name: str, before: float, after: float) -> str:
    """From one level to the other, with the change if a share of the first says anything."""
    was, now, said = _value(name, before), _value(name, after), change(before, after)
    return f"{was} → {now}" + (f" ({said})" if said not in ("", "→") else "")


def _stands(ground: Ground, test: Stands, spell: Spell) -> Outcome:
    found = _facts(ground, test.metric)
    outcomes = []
    for label, facts in found:
        level = facts.start if test.at == "start" else _then(facts, spell, LEVEL_POINTS)
        if level is not None:
            holds = NUMBERS[test.op](level.value, test.value)
            when = " at the start" if test.at == "start" else ""
            told = f"{label} is {_value(test.metric, level.value)}{when}"
            limit = _value(test.metric, test.value)
            outcomes.append(Outcome("met" if holds else "unmet", f"{told} ({_asked(test.op, limit)})"))
    if not outcomes:
        return _missing(ground, test.metric)
    return next((one for one in outcomes if one.answer == "met"), outcomes[0])


def _asked(op: str, limit: str) -> str:
    words = {">": "over", ">=": "at least", "<": "below", "<=": "at most"}
    return f"expected: {words[op]} {limit}"


def acting(config: Mapping[str, ConfigValue], key: str | None) -> ConfigValue | None:
    """The setting behind a canonical key, on the path that acts; one that does not act if none does."""
    entry = config.get(key) if key else None
    if entry is not None and not entry.active and key in OTHER_PATH:
        other = config.get(OTHER_PATH[key])
        entry = other if other is not None and other.active else entry
    return entry


def _configured(ground: Ground, test: Configured, spell: Spell) -> Outcome:
    entry = acting(ground.config, test.key)
    if entry is None or entry.value is None:
        return Outcome("unknown", f"the config that was found does not tell {_setting(test.key)}", SET)
    if not entry.active:
        why = entry.note or "it does not act"
        small = test.op in ("<", "<=", "in")
        return Outcome("met" if small else "unmet", f"{entry.key}: {why}", SET)
    holds = test.holds(entry.value)
    value = num(entry.value) if isinstance(entry.value, float) else unpadded(str(entry.value))
    told = f"{entry.key} = {value}"
    if holds is None:
        return Outcome("unknown", told, SET)
    if not isinstance(test.value, tuple):
        told += f" ({_asked(test.op, num(test.value))})"
    return Outcome("met" if holds else "unmet", told, SET)


def _setting(key: str) -> str:
    return f"the {config_meanings().get(key, key)}"


def _found(ground: Ground, test: OtherFinding, spell: Spell) -> Outcome:
    late = dating_tolerance(spell.end)
    began = spell.onset if spell.onset is not None else spell.end
    for rule in test.rules:
        own = ground.spells.get(rule)
        if own is not None and (own.onset or 0) <= began + late and own.end >= began - late:
            since = f" (since step {own.onset})" if own.onset is not None else ""
            return Outcome("met", f"{_title(rule)}{since}")
    blind = [rule for rule in test.rules if rule not in ground.ran]
    if blind:
        return Outcome("unknown", f"the check “{_title(blind[0])}” cannot run on what is logged")
    late_ones = [rule for rule in test.rules if rule in ground.spells]
    if late_ones:
        return Outcome("unmet", f"“{_title(late_ones[0])}” came later, at step {ground.spells[late_ones[0]].onset}")
    return Outcome("unmet", f"the check “{_title(test.rules[0])}” found nothing")


def _title(rule: str) -> str:
    known = rules().get(rule)  # none if its page cannot be read
    return rule if known is None else known.notice


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _said(ground: Ground, test: Said, spell: Spell) -> Outcome:
    pattern, late = _compiled(test.pattern), dating_tolerance(spell.end)
    for note in ground.notes:
        if note.kind in TELLING and note.by(spell.end + late) and pattern.search(note.text):
            at = f" at step {note.step}" if note.step is not None else ""
            return Outcome("met", f"the log says{at}: “{note.text.strip()[:QUOTED]}”")
    return Outcome("unmet", "the log that was read names no such error")


def _slower(ground: Ground, spell: Spell) -> tuple[float, float] | None:
    """Seconds a step before and since the onset; None without a timer."""
    facts = ground.look.facts.metric("time_per_step_s")
    if facts is None:
        return None
    before, after = _around(facts, spell)
    return None if before is None or after is None else (before, after)


def _around(facts: MetricFacts, spell: Spell) -> tuple[float | None, float | None]:
    before = facts.before(spell.onset) if spell.onset is not None else None
    if before is None or before.points < FIRST:
        before = facts.start
    after = _then(facts, spell, NOW_POINTS)
    return before.value, after.value if after is not None else None


def _took(ground: Ground, test: Took, spell: Spell) -> Outcome:
    step = _slower(ground, spell)
    timed = [(name, facts) for name in test.phases if (facts := ground.look.facts.metric(f"phase:{name}")) is not None]
    if step is None or not timed:
        return _missing(ground, "time_per_step_s" if step is None else f"phase:{test.phases[0]}")
    levels = [_around(facts, spell) for _, facts in timed]
    was = sum(before or 0.0 for before, _ in levels)
    now = sum(after or 0.0 for _, after in levels)
    label = phases()[timed[0][0]].label
    extra = step[1] - step[0]
    if step[1] >= SLOWER * step[0] and extra > 0:
        told = f"{label} takes {num(now)} s, {num(was)} s before: {num(now - was)} of {num(extra)} s more a step"
        return Outcome("met" if now - was >= test.share * extra else "unmet", told)
    told = f"{label} takes {num(now)} of {num(step[1])} s a step"
    return Outcome("met" if step[1] > 0 and now >= test.share * step[1] else "unmet", told)


def _explains(ground: Ground, test: Explains, spell: Spell) -> Outcome:
    step, facts = _slower(ground, spell), ground.look.facts.metric(test.metric)
    if step is None or facts is None:
        return _missing(ground, "time_per_step_s" if step is None else test.metric)
    before, after = _around(facts, spell)
    if not before or not after or min(before, after, *step) <= 0:
        return Outcome("unknown", f"{_label(test.metric)} has no level to compare")
    times, slower = after / before, step[1] / step[0]
    told = (
        f"{_label(test.metric)} {num(before)} → {num(after)} ({change(before, after)}), step time {num(slower)} times"
    )
    if slower < SLOWER:
        return Outcome("unknown", told)
    return Outcome("met" if log(times) >= test.share * log(slower) else "unmet", told)


def _in_samples(ground: Ground, test: InSamples, spell: Spell) -> Outcome:
    dumps = ground.sampled.dumps if ground.sampled is not None else ()
    late = [d for d in dumps if d.step is None or spell.onset is None or d.step >= spell.onset]
    value = getattr(late[-1], test.field) if late else None
    if value is None:
        how = keep_samples(ground.look.dialect.name)
        return Outcome("unknown", f"no samples since the onset tell it (to keep them: {how})")
    holds = NUMBERS[test.op](value, test.value)
    words = test.field.replace("_", " ")
    share = 0.0 <= value <= 1.0 and test.value <= 1.0
    said = percent(value) if share else num(value)
    asked = percent(test.value) if share else num(test.value)
    return Outcome("met" if holds else "unmet", f"samples: {words} {said} ({_asked(test.op, asked)})")


def _on_machine(ground: Ground, test: OnMachine, spell: Spell) -> Outcome:
    machine = ground.measured
    if machine is None or not len(machine.seen):
        return Outcome("unknown", "the machine was not watched (run rltui on it, or `rltui watch`)")
    words = {"util": "GPU utilisation", "power": "GPU power use", "foreign_gb": "memory of other programs"}[test.column]
    of = machine.most if test.column == "foreign_gb" else machine.usual
    value = of(test.column, SAMPLES)
    if value is None:
        return Outcome("unknown", f"no {words} was measured")
    said = f"{num(value)} GB" if test.column == "foreign_gb" else percent(value)
    return Outcome("met" if NUMBERS[test.op](value, test.value) else "unmet", f"{words} {said}")


def _resumed(ground: Ground, test: Resumed, spell: Spell) -> Outcome:
    if spell.onset is None:
        return Outcome("unknown", "since when it is so is not known")
    near = dating_tolerance(spell.onset)
    at = [step for step in ground.look.restarts(ground.look.n) if abs(step - spell.onset) <= near]
    return Outcome("met", f"resumed at step {at[-1]}") if at else Outcome("unmet", "no restart near the onset")


def _any(ground: Ground, test: AnyOf, spell: Spell) -> Outcome:
    outcomes = [ground.test(one, spell) for one in test.tests]
    met = [one for one in outcomes if one.answer == "met"]
    if met:
        return max(met, key=lambda one: one.weight)
    unknown = [one for one in outcomes if one.answer == "unknown"]
    unmet = [one for one in outcomes if one.answer == "unmet"]
    if unknown and all(one.weight == SET for one in unmet):
        return Outcome("unknown", " or ".join(dict.fromkeys(one.text for one in unknown)))
    return Outcome("unmet", ", ".join(dict.fromkeys(one.text for one in unmet)))


_TESTERS: Mapping[type, Callable[[Ground, Any, Spell], Outcome]] = {
    MetricMoved: _moved,
    Jumped: _jumped,
    Updates: _updates,
    Stands: _stands,
    Configured: _configured,
    OtherFinding: _found,
    Said: _said,
    Took: _took,
    Explains: _explains,
    InSamples: _in_samples,
    OnMachine: _on_machine,
    Resumed: _resumed,
    AnyOf: _any,
}

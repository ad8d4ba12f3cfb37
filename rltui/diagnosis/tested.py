"""Tests what causes expect of a run's config, log, samples and machine. For numbers see `tested_numbers` and
`tested_courses`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.diagnosis.outcome import DECISIVE, SEEN, SET, Outcome, Spell, asked
from rltui.diagnosis.roots import OUTSIDE, dating_tolerance
from rltui.diagnosis.tested_courses import OF_COURSES, set_out_before, stood_still
from rltui.diagnosis.tested_drift import OF_DRIFT
from rltui.diagnosis.tested_grading import OF_GRADING
from rltui.diagnosis.tested_length import OF_LENGTH
from rltui.diagnosis.tested_numbers import JUST_BEFORE, OF_NUMBERS
from rltui.diagnosis.tested_parts import OF_PARTS
from rltui.diagnosis.tested_step_time import OF_STEP_TIME
from rltui.diagnosis.tested_validation import OF_VALIDATION
from rltui.evidence.beside_rows import Measured, Sampled
from rltui.evidence.look import Look
from rltui.evidence.metric import NOW_POINTS
from rltui.evidence.signal import NOTICE, WARNING, num
from rltui.frameworks.load import config_meanings, keep_samples
from rltui.plots.numbers import percent, setting_value
from rltui.readers.base import Note
from rltui.records import cached
from rltui.rules.bounds import NUMBERS, as_number
from rltui.rules.catalogue import rules
from rltui.rules.coverage import no_sign_of
from rltui.rules.expectation import (
    AnyOf,
    BetweenSaves,
    Configured,
    InSamples,
    OnMachine,
    OtherFinding,
    PenaltyOff,
    Resumed,
    Said,
    SharedData,
    Test,
    Updates,
)
from rltui.run.changed import Changed
from rltui.run.run import ConfigValue

SAMPLES = 30
"""The number of newest machine samples that are used."""
OTHER_PATH = {"kl_coef_loss": "kl_coef_reward"}
"""Pairs of settings: if the first has no effect, the second may be used in its place."""
TELLING = ("warning", "change", "overflow", "traceback", "oom", "killed", "fault", "resume")
"""Kinds of log lines in which a cause may be named."""
QUOTED = 120
CHANGES = 3
"""The number of changed settings that are named for a restart."""
DATED_OFF = 3
"""Rows by which an onset may be dated wrongly if rows are several steps apart."""
VALUE = 60
"""The number of characters of a setting's value that are shown."""


AT_RESUME = ", where the run was resumed"
"""What is added to a jump at a resume."""
RESUMED = "resumed at step "
"""How the proof of a resume begins."""


class Ground(Struct, frozen=True, dict=True):
    """What causes are tested on. `printed`: whether a log of what the program printed was read; `notes` come from it.
    `spells`: one for each rule that found something. `ran`: the rules that could run. `raw`: the config in the run's
    own spelling. `over`: whether no more rows will come."""

    look: Look
    config: Mapping[str, ConfigValue]
    notes: Sequence[Note] = ()
    printed: bool = False
    sampled: Sampled | None = None
    measured: Measured | None = None
    spells: Mapping[str, Spell] = field(default_factory=dict)
    ran: frozenset[str] = frozenset()
    changed: Sequence[Changed] = ()
    raw: Mapping[str, ConfigValue] = field(default_factory=dict)
    over: bool = False

    @cached
    def state(self) -> tuple[object, ...]:
        """What tests rest on beside the finding's own spell: if it is the same, so are their outcomes."""
        dumps = len(self.sampled.dumps) if self.sampled is not None else 0
        samples = len(self.measured.seen) if self.measured is not None else 0
        return self.look.n, tuple(self.spells.items()), self.ran, len(self.notes), dumps, samples, self.over

    def test(self, test: Test, spell: Spell) -> Outcome:
        of_numbers = _OF_NUMBERS.get(type(test))
        outcome = of_numbers(self.look, test, spell) if of_numbers else _TESTERS[type(test)](self, test, spell)
        weight = max(DECISIVE, outcome.weight) if test.decisive and not outcome.late else outcome.weight
        answer = "unknown" if outcome.answer == "unmet" and test.unmet == "open" else outcome.answer
        return replace(outcome, answer=answer, text=outcome.text + self._with_it(outcome), weight=weight, at=None)

    def _with_it(self, outcome: Outcome) -> str:
        """The settings with which the run was resumed at the exact step of a jump, in words."""
        others = [one for one in self.changed if one.step == outcome.at]
        return f"{AT_RESUME}{_with(others)}" if others and outcome.answer == "met" else ""


def _updates(ground: Ground, test: Updates, spell: Spell) -> Outcome:
    one = ground.look.settings.one_update
    named = [ground.config[key] for key in ("ppo_epochs", "train_batch_prompts", "mini_batch") if key in ground.config]
    told = ", ".join(f"{entry.key} = {entry.value}" for entry in named)
    if one is None:
        return Outcome("unknown", "the config does not say for how many updates a rollout is used", SET)
    return Outcome("unmet" if one else "met", f"{'one update' if one else 'several updates'} a rollout by {told}", SET)


def acting(config: Mapping[str, ConfigValue], key: str | None) -> ConfigValue | None:
    """The setting behind a canonical key that is in use; if none is, one without effect."""
    entry = config.get(key) if key else None
    if entry is not None and not entry.active and key in OTHER_PATH:
        other = config.get(OTHER_PATH[key])
        entry = other if other is not None and other.active else entry
    return entry


def _configured(ground: Ground, test: Configured, spell: Spell) -> Outcome:
    entry = acting(ground.config, test.key)
    if entry is None or entry.value is None:
        return _as_logged(ground, test, spell) or Outcome(
            "unknown", f"the config does not say {_setting(test.key)}", SET
        )
    if not entry.active:
        why = entry.note or "it does not act"
        small = test.op in ("<", "<=", "in")
        return Outcome("met" if small else "unmet", f"{entry.key}: {why}", SET)
    other = acting(ground.config, test.of)
    times = as_number(other.value) if other is not None else None
    if test.of and times is None:
        return Outcome("unknown", f"the config does not say {_setting(test.of)}", SET)
    holds = test.holds(entry.value, 1.0 if times is None else times)
    told = f"{entry.key} = {setting_value(entry.value)}"
    if holds is None:
        return Outcome("unknown", told, SET)
    if not isinstance(test.value, tuple):
        limit = setting_value(test.value)
        than = limit if other is None else f"{limit} times {other.key} = {setting_value(times or 0.0)}"
        told += f" ({asked(test.op, than, holds)})"
    return Outcome("met" if holds else "unmet", told, SET)


def _as_logged(ground: Ground, test: Configured, spell: Spell) -> Outcome | None:
    """A setting that is in no config, read from the metric of the same name, because a script may change it while it
    runs. It is small only if its highest value is: the end of a schedule is not a setting. None if there is no such
    metric, or if the setting is not compared with a number."""
    facts = ground.look.facts.metric(test.key)
    value = None if facts is None else facts.median_within(spell.onset, spell.end, NOW_POINTS)
    if facts is None or value is None or test.of or isinstance(test.value, tuple):
        return None
    small = test.op in ("<", "<=")
    value = float(facts.values.max()) if small else value
    holds = bool(test.holds(value))
    where = "at its highest in the log" if small else "in the log"
    told = f"{facts.series.key} = {num(value)} {where} ({asked(test.op, num(test.value), holds)})"
    return Outcome("met" if holds else "unmet", told)


def _penalty_off(ground: Ground, test: PenaltyOff, spell: Spell) -> Outcome:
    entry = acting(ground.config, "kl_coef_loss")
    value = None if entry is None else as_number(entry.value)
    if entry is None or value is None:
        return Outcome("unmet" if test.off else "unknown", f"the config does not say {_setting('kl_coef_loss')}", SET)
    told = f"{entry.key} = {setting_value(entry.value)}"
    off = bool(value) and not entry.active and ground.look.settings.kl_where is None
    return Outcome("met" if off == test.off else "unmet", f"{told}, {entry.note}" if off else told, SET)


def _shared(ground: Ground, test: SharedData, spell: Spell) -> Outcome:
    train, held_out = ground.config.get("train_data"), ground.config.get("val_data")
    if train is None or held_out is None:
        return Outcome("unknown", "the config does not say which data are read", SET)
    shared = ground.look.settings.shared_data
    told = f"{train.key} and {held_out.key} are both {shared}" if shared else f"{train.key} is not {held_out.key}"
    return Outcome("met" if shared else "unmet", told, SET)


def _between_saves(ground: Ground, test: BetweenSaves, spell: Spell) -> Outcome:
    entry = ground.config.get("save_freq")
    every = as_number(entry.value) if entry is not None else None
    if entry is None or every is None or every < 1 or spell.onset is None:
        return Outcome("unknown", f"the config does not say {_setting('save_freq')}", SET)
    between = spell.onset % int(every) != 0
    where = "lies between two saves" if between else "was to be saved"
    told = f"{entry.key} = {setting_value(entry.value)}, and step {spell.onset} {where}"
    return Outcome("met" if between == test.holds else "unmet", told, SET)


def _setting(key: str) -> str:
    return f"the {config_meanings().get(key, key)}"


def _found(ground: Ground, test: OtherFinding, spell: Spell) -> Outcome:
    late = spell.late + spell.early
    began = spell.onset if spell.onset is not None else spell.end
    by = spell.end if test.during else began + late
    stood, weak = "", None
    for rule in test.rules:
        own = ground.spells.get(rule)
        if own is not None and _since(ground, rule, own) <= by and own.end >= began - late:
            if still := stood_still(ground.look, own, spell):
                what = "is no more than a note" if own.level < WARNING else f"began at step {own.onset}"
                stood = f"“{_title(rule, own.level)}” {what}, and {still}"
                continue
            if (stood_for := _stood_for(own, spell)) >= JUST_BEFORE:
                stood_long = f"“{_title(rule, own.level)}” had stood for {stood_for} steps before, which proves nothing"
                return Outcome("unknown", stood_long, long=True)
            since = f" since step {own.onset}" if own.onset is not None else ""
            if _mere_note(rule, own):
                if own.onset is not None and own.onset > began + max(0, spell.early - 1):
                    continue  # a hint that began later is none
                told = f"all that speaks for it is the note “{_title(rule)}”{since}"
                weak = weak or Outcome("unknown", told, weak=True)
                continue
            late_by = 0 if own.onset is None else own.onset - began - spell.early
            is_late = late_by > (late if test.during else ground.look.facts.clock.stride)  # neighbours came together
            weight = SET if test.during and is_late else SEEN  # what came long after may be an effect as well
            return Outcome("met", f"the finding “{_title(rule, own.level)}”{since}", weight, late=is_late, finding=rule)
    if weak is not None:
        return weak
    if stood:
        return Outcome("unmet", stood)
    without = {rule: reason for rule in test.rules if (reason := no_sign_of(rule, ground.look)) is not None}
    if len(without) == len(test.rules):
        return Outcome("unmet", without[test.rules[0]])
    blind = [rule for rule in test.rules if rule not in ground.ran and rule not in without]
    if blind:
        return Outcome("unknown", f"the check “{_title(blind[0])}” cannot run on what is logged")
    if test.of and test.of not in ground.config and ground.look.facts.metric(test.of) is None:
        return Outcome("unknown", f"neither log nor config says {_setting(test.of)}")
    late_ones = [rule for rule in test.rules if rule in ground.spells]
    for rule in late_ones:
        if _mere_note(rule, ground.spells[rule]):
            continue
        if ahead := set_out_before(ground.look, ground.spells[rule], began - late, by):
            return Outcome("met", f"the finding “{_title(rule, ground.spells[rule].level)}”: {ahead}")
    if late_ones:
        other = ground.spells[late_ones[0]]
        return Outcome("unmet", f"“{_title(late_ones[0], other.level)}” came later, at step {other.onset}")
    return Outcome("unmet", f"the check “{_title(test.rules[0])}” found nothing")


def _mere_note(rule: str, own: Spell) -> bool:
    """Whether a finding about the policy never became a warning. A metric may move like that in a healthy run, so it
    proves no cause. A note about a setting, or about what is around the policy, states a fact."""
    known = rules().get(rule)
    return own.peak < WARNING and known is not None and known.group != "config" and not OUTSIDE & {*known.traits}


def _stood_for(own: Spell, spell: Spell) -> int:
    """The number of steps that a note about a setting had been open when the finding began. What did no harm for a long
    time is no proof of harm. 0 for a warning, and for a finding that a metric dates."""
    if own.moved or own.level >= WARNING or own.onset is None or spell.onset is None:
        return 0
    return spell.onset - own.onset


def _since(ground: Ground, rule: str, spell: Spell) -> int:
    """The earliest step since when it may have been so: samples show nothing of the steps before the first dump."""
    known, dumps = rules().get(rule), ground.sampled.dumps if ground.sampled is not None else ()
    first = next((dump.step for dump in dumps if dump.step is not None), None)
    sampled = known is not None and known.basis == "samples"
    unknown = spell.onset is None or (sampled and first is not None and spell.onset <= first)
    return 0 if unknown else spell.onset or 0


def _title(rule: str, level: int = NOTICE) -> str:
    """The title of a rule's finding at a level, as elsewhere."""
    known = rules().get(rule)  # none if its page cannot be read
    return rule if known is None else known.title if level >= WARNING else known.notice


NOTHING = r"(?!)"
"""A pattern that matches no line."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _said(ground: Ground, test: Said, spell: Spell) -> Outcome:
    pattern, unless, late = _compiled(test.pattern), _compiled(test.unless or NOTHING), spell.late
    first = None if spell.onset is None else spell.onset - JUST_BEFORE
    long_before: Outcome | None = None
    for note in ground.notes:
        if note.kind in TELLING and note.by(spell.end + late) and (found := pattern.search(note.text)):
            if unless.search(note.text):
                continue
            at = f" at step {note.step}" if note.step is not None else ""
            told = f"the log says{at}: “{_quoted(note.text, found)}”"
            if note.step is None or first is None or note.step >= first:
                return Outcome("met", told)
            long_before = long_before or Outcome("met", told, late=True)
    if long_before is not None:  # of lines that are alike only the first is kept, so it may have come again
        return long_before
    if not ground.printed:
        return Outcome("unknown", "no log of what the program printed was read")
    return Outcome("unmet", "the log that was read names no such error")


def _quoted(text: str, found: re.Match[str]) -> str:
    """A line of the log, shortened if it is long so that the match stays in it."""
    if len(text.strip()) <= QUOTED:
        return text.strip()
    first = 0 if found.end() <= QUOTED else text.rfind(" ", 0, found.start()) + 1
    last = first + max(QUOTED, found.end() - found.start())
    return f"{'…' if first else ''}{text[first:last].strip()}{'…' if last < len(text.rstrip()) else ''}"


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
    limit = percent(test.value) if share else num(test.value)
    return Outcome("met" if holds else "unmet", f"samples: {words} {said} ({asked(test.op, limit, holds)})")


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
    near = dating_tolerance(spell.onset - spell.first) + spell.early + DATED_OFF * (ground.look.facts.clock.stride - 1)
    at = [step for step in ground.look.restarts(ground.look.n) if abs(step - spell.onset) <= near]
    others = [one for one in ground.changed if abs(one.step - spell.onset) <= near]
    if not at and not others:
        return Outcome("unmet", "no restart near the onset") if test.holds else Outcome("met", "")
    step = at[-1] if at else others[-1].step
    changed = _with(others) or _said_changed(ground, step)
    if not test.holds:
        same = test.changed and not changed
        return Outcome("met", "") if same else Outcome("unmet", f"{RESUMED}{step}{changed}")
    if test.changed and not changed:
        return Outcome("unknown", f"resumed at step {step}, and no log says with which settings")
    return Outcome("met", f"{RESUMED}{step}{changed}")


def _said_changed(ground: Ground, step: int) -> str:
    """What the log says about a change at a restart, if the script prints a sentence and not the settings."""
    near = [note.text for note in ground.notes if note.kind == "change" and note.step in (step - 1, step)]
    return f", and the log says: “{near[0].strip()[:QUOTED]}”" if near else ""


def _with(others: Sequence[Changed]) -> str:
    """The settings that changed at the restart."""
    told = [f"{one.key} {unset_or(one.before)} → {unset_or(one.now)}" for one in others[:CHANGES]]
    more = f" and {len(others) - CHANGES} more" if len(others) > CHANGES else ""
    return f" with {', '.join(told)}{more}" if told else ""


def unset_or(value: object) -> str:
    return "unset" if value is None else setting_value(value)[:VALUE]


def _any(ground: Ground, test: AnyOf, spell: Spell) -> Outcome:
    outcomes = [ground.test(one, spell) for one in test.tests]
    met = [one for one in outcomes if one.answer == "met"]
    if met:
        return max(met, key=lambda one: one.weight)
    unknown = [one for one in outcomes if one.answer == "unknown"]
    unmet = [one for one in outcomes if one.answer == "unmet"]
    if stood_long := next((one for one in unknown if one.long), None):
        return stood_long
    weak = next((one for one in unknown if one.weak), None)
    if weak is not None:  # a hint is neither proof nor disproof
        return weak
    if unknown and all(one.weight == SET for one in unmet):
        direct = [
            one for one, asked_for in zip(outcomes, test.tests, strict=True) if not isinstance(asked_for, OtherFinding)
        ]
        return next((one for one in direct if one.answer == "unknown"), unknown[0])
    return Outcome("unmet", ", ".join(dict.fromkeys(one.text for one in unmet)))


_OF_NUMBERS = {
    **OF_NUMBERS,
    **OF_COURSES,
    **OF_DRIFT,
    **OF_GRADING,
    **OF_LENGTH,
    **OF_PARTS,
    **OF_STEP_TIME,
    **OF_VALIDATION,
}
_TESTERS: Mapping[type, Callable[[Ground, Any, Spell], Outcome]] = {
    Updates: _updates,
    Configured: _configured,
    PenaltyOff: _penalty_off,
    SharedData: _shared,
    BetweenSaves: _between_saves,
    OtherFinding: _found,
    Said: _said,
    InSamples: _in_samples,
    OnMachine: _on_machine,
    Resumed: _resumed,
    AnyOf: _any,
}

"""The outcome of a cause's test, the spell it is about, and how its numbers are named."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from rltui.diagnosis.roots import dating_tolerance
from rltui.evidence.look import FAMILIES, Look
from rltui.evidence.metric import FIRST, NOW_POINTS, MetricFacts, alone
from rltui.evidence.signal import num
from rltui.evidence.words import of_set
from rltui.frameworks.load import enable, metrics, phases
from rltui.plots.numbers import percent

Answer = Literal["met", "unmet", "unknown"]
EXACT, DECISIVE, SEEN, SET = 4, 3, 2, 1
"""Weights of a test, strongest first: more exact than other proofs of the same; as good as proof; shown by the run's
numbers; supported only by a setting."""


class Outcome(Struct, frozen=True):
    """The result of a test. `text`: what was found, in numbers, or what the test would need. `part`: the member of the
    metric that it is about. `at`: the step at which something jumped. `late`: dated after what it should explain,
    though within the dating error. `long`: it had been so for long and did no harm. `finding`: the rule whose finding
    it is, if it is one. `weak`: only a note supports it, which proves nothing."""

    answer: Answer
    text: str
    weight: int = SEEN
    part: str = ""
    at: int | None = None
    late: bool = False
    long: bool = False
    finding: str = ""
    weak: bool = False


class Spell(Struct, frozen=True):
    """The steps between which a finding was open. `onset`: None if not known. `early`: by how many steps the onset may
    be too early, as for a fall that only the next evaluation showed. `level`: the present level, or the highest of a
    finding that is over; `peak`: the highest of the episode. `moved`: the metric that dates it. `heads`: the metric of
    its first evidence, which shows which of several validation sets it is about. `first`: the first step of the log."""

    onset: int | None
    end: int
    early: int = 0
    level: int = 0
    moved: str = ""
    heads: str = ""
    peak: int = 0
    first: int = 0

    @property
    def late(self) -> int:
        """By how many steps another onset may be misdated against this one."""
        return dating_tolerance(self.end - self.first)


LEVEL_POINTS = 20
"""How many of the newest points give a level, as everywhere else."""
REWARDS = ("score_mean", "reward_mean")


def label_of(name: str) -> str:
    if name.startswith("phase:"):
        return f"seconds in {phases()[name.removeprefix('phase:')].label}"
    meaning = metrics().get(name)
    return meaning.label if meaning is not None else name


def value_of(name: str, value: float) -> str:
    meaning = metrics().get(name)
    return percent(value) if meaning is not None and meaning.unit == "fraction" else num(value)


def missing(look: Look, name: str) -> Outcome:
    if name.startswith("phase:"):
        return Outcome("unknown", f"the time of {phases()[name.removeprefix('phase:')].label} is not logged")
    if look.logged(name) is not None:
        return Outcome("unknown", f"{label_of(name)} is 0 throughout, as if it were not measured")
    return Outcome("unknown", f"{label_of(name)} is not logged ({enable(name, look.dialect.name)})")


def fact_of(look: Look, name: str) -> MetricFacts | None:
    """The facts of a metric. If a trainer logs only one of score and reward, that one serves for both."""
    found = look.facts.metric(name)
    return look.facts.metric(look.reward) if found is None and name in REWARDS else found


def label_in(look: Look, name: str) -> str:
    """What a sentence calls a metric in this run. If the trainer logs only one reward, always that one."""
    found = fact_of(look, name)
    return label_of(name if found is None else found.name)


def asked_of(look: Look, name: str, spell: Spell | None) -> tuple[str, MetricFacts] | None:
    """The facts of a metric with their label. If there are several validation sets, the one that the finding is about,
    by name."""
    found, sets = fact_of(look, name), look.facts.validation_sets
    if found is None or not found.held_out or len(sets) < 2:
        return None if found is None else (label_of(found.name), found)
    own = next((one for one in sets if spell is not None and one.series.key == spell.heads), found)
    return of_set(own.series.key, look.dialect.name), own


def members(look: Look, name: str, spell: Spell | None = None) -> list[tuple[str, MetricFacts]]:
    """The metric or its members, each with its label. For a phase that some steps skip (such as a save), only the steps
    that ran it."""
    if name in FAMILIES:
        return [(member, alone(member, series)) for member, series in look.family(name).items() if len(series)]
    known = asked_of(look, name, spell)
    if known is None:
        return []
    label, found = known
    ran = found.values > 0
    if name.startswith("phase:") and ran.any() and not ran.all():
        found = alone(name, found.series.where(ran))
    return [(label, found)]


def asked(op: str, limit: str, holds: bool) -> str:
    """What a cause expects of a number, and whether it holds: `below 8`, `not below 8`."""
    words = {">": "over", ">=": "at least", "<": "below", "<=": "at most"}
    return f"{'' if holds else 'not '}{words[op]} {limit}"


def level_now(facts: MetricFacts, spell: Spell, points: int) -> float | None:
    """The level of a metric at the end of a spell; None if the spell holds no point."""
    return facts.median_within(spell.onset, spell.end, points)


def around(facts: MetricFacts, spell: Spell) -> tuple[float, float | None]:
    """The levels of a metric before a spell (or at the start of the run) and in it."""
    before = facts.median_before(spell.onset, FIRST) if spell.onset is not None else None
    return facts.start.value if before is None else before, level_now(facts, spell, NOW_POINTS)

"""KL, reward and validation together: the case of the table that the run is in now.

Each course is how the metric moves now, so that no old gain is reported beside a new loss. If the metric is level now,
it is the course since the start, as in all other sentences. If a warning about one of them is open, its judgement
counts. A course that differs from the one since the start is reported as "lately".
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from msgspec import Struct

from rltui.data_files import Record, kept, read
from rltui.evidence.effects import SHORT_LIMIT, between
from rltui.evidence.look import Look
from rltui.evidence.metric import MetricFacts
from rltui.evidence.model import Decision
from rltui.evidence.parting import goes
from rltui.evidence.words import way
from rltui.prose import capital
from rltui.rules.base import LATELY_LEAST, farmed, gaining, lately_rows, loud, rising, validation_lately
from rltui.rules.traits import Trait

Way = Literal["up", "flat", "down", "high", "mixed", "none"]

LEAST = 30  # rows below which the trend test shows nothing
APART = 10  # from this many evaluations on, the first and the last window do not overlap
BREAK_SE = 6.0  # standard errors between the levels before and after a break near the end
BREAK_TIMES = 1.5  # and this ratio of the two: a level KL that wanders for long also reaches 6 errors
HIGH_KL = 0.15  # nats per token: above it, a level KL is far from the reference


class KlRewardCase(Struct, frozen=True):
    """`kl`: "high" means level and far from the reference. "mixed": up since the start on some validation sets and down
    on others. "none": not logged, off, or too few rows. `id` None: outside the table. `lately`: those of the three that
    went another way since the start. `young`: those that are logged with too few values to show a course. `unsure`:
    those with so few values that a change may hide in their noise."""

    kl: Way
    reward: Way
    validation: Way
    id: str | None
    reading: str
    advice: str
    lately: tuple[str, ...] = ()
    young: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    @property
    def courses(self) -> tuple[tuple[str, str], ...]:
        """The names of the three, each with its course in words."""
        found = (
            ("KL", "kl", self.kl),
            ("reward", "reward", self.reward),
            ("validation", "validation", self.validation),
        )
        return tuple((name, self._words(part, way)) for name, part, way in found)

    def _words(self, part: str, way: Way) -> str:
        if way == "none":
            return "not known yet" if part in self.young else "not known"
        if way == "mixed":
            return "up on some sets and down on others"
        if way == "flat" and part in self.unsure:
            return "without a sure change"
        return f"{way} lately" if part in self.lately else way

    @property
    def text(self) -> str:
        """One line: the three courses and what they mean."""
        moves = ", ".join(f"{name} {way}" for name, way in self.courses)
        return f"{moves}: {self.reading}" + (f". {capital(self.advice)}" if self.advice else "")


UNKNOWN_CASE = KlRewardCase("none", "none", "none", None, "not known, as the check failed", "")


class KlRewardRow(Record):
    """One case of the table: the ways that it covers, and the verdicts beside which its advice makes sense. `farmed`:
    whether it applies to a reward that no longer measures the task, and to one that does. `few`, `few_advice`: the
    texts if validation is logged but has too few evaluations yet. `held`: the text if validation rose and nothing shows
    that it still does. `says`: traits of findings that say the same."""

    id: str
    kl: tuple[Way, ...]
    reward: tuple[Way, ...]
    validation: tuple[Way, ...]
    reading: str
    advice: str
    fits: tuple[Decision, ...]
    farmed: tuple[bool, ...] = (False, True)
    few: str = ""
    few_advice: str = ""
    held: str = ""
    says: tuple[Trait, ...] = ()


class KlRewardTable(Record):
    cases: tuple[KlRewardRow, ...]


@kept
def table() -> tuple[KlRewardRow, ...]:
    """All cases, in the order of the table."""
    return read(Path(__file__).with_name("data") / "kl_reward.json", KlRewardTable).cases


def case(look: Look, decision: Decision | None = None) -> KlRewardCase:
    """The present case. Courses that no row of the table covers are reported as they are. If the advice contradicts the
    verdict, it is left to the verdict, and the text says so."""
    ways: dict[str, Way] = {"kl": _kl(look), "reward": _reward(look), "validation": _validation(look)}
    lately = tuple(part for part, way in ways.items() if way not in _usual(look, part))
    young = tuple(part for part, way in ways.items() if way == "none" and _of(look, part) is not None)
    found = _of(look, "validation")
    unsure = ("validation",) if found is not None and len(found.values) < APART else ()
    id, reading, advice = _read(look, ways, decision, young)
    return KlRewardCase(**ways, id=id, reading=reading, advice=advice, lately=lately, young=young, unsure=unsure)


def _of(look: Look, part: str) -> MetricFacts | None:
    facts = look.facts
    return {"kl": facts.metric("kl_ref"), "reward": facts.metric(look.reward), "validation": facts.validation}[part]


def _read(
    look: Look, ways: dict[str, Way], decision: Decision | None, young: tuple[str, ...]
) -> tuple[str | None, str, str]:
    """The case, its reading and its advice."""
    kl, reward, held_out = ways.values()
    is_farmed = farmed(look)
    for row in table():
        if kl in row.kl and reward in row.reward and held_out in row.validation and is_farmed in row.farmed:
            fits = decision in (None, "not-enough-evidence", *row.fits)
            few = bool(row.few) and "validation" in young
            reading, advice = (row.few, row.few_advice) if few else (row.reading, row.advice)
            if row.held and held_out == "up" and validation_lately(look) <= 0:
                reading = row.held
            if not fits and not any(loud(look, trait) for trait in row.says):
                rests = "the verdict rests on other signs"  # in a broken run, the three show nothing good
                if decision == "continue":
                    reading = f"perhaps {reading}, which no check confirms yet"
                else:
                    reading = f"{reading}, while {rests}" if decision == "continue-watch" else rests
            return row.id, reading, advice if fits else ""
    if "kl" in young or "reward" in young:
        return None, "too few rows came so far to name a pattern", ""
    if kl == "none":
        return None, "KL to the reference is off or not known, so no pattern can be named", ""
    if reward == "none":
        return None, "too little is known of the reward", ""
    return None, "the three together fit no known pattern", ""


def _usual(look: Look, part: str) -> tuple[Way, ...]:
    """The courses that need no "lately": those since the start, and metrics without a course."""
    found = _of(look, part)
    if found is None or (found.since_start is None and part != "validation"):
        return ("up", "flat", "down", "high", "mixed", "none")
    if found.since_start is None:
        return ("up" if found.end.value > found.start.value else "down", "flat", "high", "mixed", "none")
    return (_direction(found.since_start.direction), "high", "mixed", "none")


def _kl(look: Look) -> Way:
    kl = look.facts.metric("kl_ref")
    if kl is None or len(kl.series) < LEAST:
        return "none"
    if kl.recent is not None and kl.recent.direction:
        return _direction(kl.recent.direction)
    rows = lately_rows(len(kl.series))
    errors = look.facts.errors("kl_ref", rows)
    before, now = sorted(abs(level.value) for level in kl.ends(rows))
    if abs(errors) >= BREAK_SE and now >= BREAK_TIMES * before:  # still too short for the trend of blocks
        return _direction(1 if errors > 0 else -1)
    if _rose_as_reward_fell(look, kl):
        return "up"
    if look.profile.kl_per_token and look.profile.kl_unit_known and kl.now.value > HIGH_KL:
        return "high"
    return _direction(way(kl.since_start))


def _rose_as_reward_fell(look: Look, kl: MetricFacts) -> bool:
    """Whether the KL beside a reward that fell is higher than before the fall. It may have been level since, but the
    two must be described over the same rows."""
    reward = look.facts.metric(look.reward)
    if reward is None or reward.peak is None or not loud(look, Trait.REWARD_FALLS):
        return False
    before = kl.before(reward.peak.step)
    return before is not None and kl.now.value >= BREAK_TIMES * before.value > 0.0


def _reward(look: Look) -> Way:
    reward = look.facts.metric(look.reward)
    if reward is None or len(reward.series) < LEAST:
        return "none"
    if loud(look, Trait.REWARD_FALLS) or look.trend(look.reward).direction < 0:
        return "down"
    if loud(look, Trait.DRIFT):
        return "flat"
    if rising(look) or gaining(look, lately_rows(look.n)):
        return "up"
    return _direction(way(reward.since_start))


def _validation(look: Look) -> Way:
    held_out = look.facts.validation
    if held_out is None or held_out.late is None or len(held_out.values) < LATELY_LEAST:
        return "none"
    if {way(one.since_start) for one in look.facts.validation_sets} >= {1, -1}:
        return "mixed"
    if loud(look, Trait.VALIDATION_FALLS):
        return "down"
    if moved := validation_lately(look):
        return _direction(moved)
    if held_out.since_start is None and (clear := held_out.ordered or goes(held_out.values)):
        return _direction(clear)
    ends = between(held_out.start, held_out.end, SHORT_LIMIT) if len(held_out.values) >= APART else None
    return _direction(way(held_out.since_start) or way(ends) or way(held_out.recent))


def _direction(sign: int) -> Way:
    return "up" if sign > 0 else "down" if sign < 0 else "flat"

"""KL x reward x validation: which case of the table the run is in now.

All three courses are those of the newest rows, so that no old gain stands beside a new loss. Where a finding is open as
a warning about one of them, its judgement holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.evidence.look import Look
from rltui.evidence.model import Decision
from rltui.prose import capital
from rltui.rules.base import gaining, losing, loud, rising, validation_over
from rltui.rules.traits import Trait

Way = Literal["up", "flat", "down", "high", "none"]

LEAST = 30  # rows below which the trend test says nothing
VALIDATION_SE = 2.0  # standard errors by which validation has moved
RECENT = 50  # rows that show how it moves now: these, or the last fifth
BREAK_SE = 6.0  # standard errors between both ends of them: a break near the end
BREAK_TIMES = 1.5  # and so many times the other end: a level KL that wanders for long comes to 6 errors too
HIGH_KL = 0.15  # nats per token: beyond it a level KL is far from the reference


@dataclass(frozen=True, slots=True)
class KlRewardCase:
    """`kl`: "high" is level and far from the reference. "none": not logged, off, or too few rows. `id` None: outside
    the table."""

    kl: Way
    reward: Way
    validation: Way
    id: str | None
    reading: str
    advice: str

    @property
    def text(self) -> str:
        """One line: the three courses and how they read."""
        moves = f"KL {self.kl}, reward {self.reward}, validation {self.validation}".replace("none", "not known")
        return f"{moves}: {self.reading}" + (f". {capital(self.advice)}" if self.advice else "")


UNKNOWN_CASE = KlRewardCase("none", "none", "none", None, "not known, as the check failed", "")


class KlRewardRow(Record):
    """One case of the table: the ways that it covers, and the verdicts beside which its advice makes sense."""

    id: str
    kl: tuple[Way, ...]
    reward: tuple[Way, ...]
    validation: tuple[Way, ...]
    reading: str
    advice: str
    fits: tuple[Decision, ...]


class KlRewardTable(Record):
    cases: tuple[KlRewardRow, ...]


@kept
def table() -> tuple[KlRewardRow, ...]:
    """Every case, in the order of the table."""
    return read(Path(__file__).with_name("data") / "kl_reward.json", KlRewardTable).cases


def case(look: Look, decision: Decision | None = None) -> KlRewardCase:
    """The present case. A course that no row of the table covers is told as it is. If its advice speaks
    against the verdict, the advice is left to the verdict, and the text says so."""
    kl, reward, held_out = _kl(look), _reward(look), _validation(look)
    for row in table():
        if kl in row.kl and reward in row.reward and held_out in row.validation:
            fits = decision in (None, "not-enough-evidence", *row.fits)
            reading = row.reading if fits else f"{row.reading}, while the verdict rests on other signs"
            return KlRewardCase(kl, reward, held_out, row.id, reading, row.advice if fits else "")
    if kl == "none":
        reading = "KL to the reference is off or not known, so no pattern can be named"
    elif reward == "none":
        reading = "too little is known of the reward"
    else:
        reading = "the three together fit no known pattern"
    return KlRewardCase(kl, reward, held_out, None, reading, "")


def _kl(look: Look) -> Way:
    kl = look.facts.metric("kl_ref")
    if kl is None or len(kl.series) < LEAST:
        return "none"
    if kl.recent is not None and kl.recent.direction:
        return _direction(kl.recent.direction)
    rows = _recent(len(kl.series))
    errors = look.facts.errors("kl_ref", rows)
    before, now = sorted(abs(level.value) for level in kl.ends(rows))
    if abs(errors) >= BREAK_SE and now >= BREAK_TIMES * before:  # too short yet for the trend of blocks
        return _direction(1 if errors > 0 else -1)
    return "high" if look.profile.kl_per_token and kl.now.value > HIGH_KL else "flat"


def _reward(look: Look) -> Way:
    if len(look.values(look.reward)) < LEAST:
        return "none"
    if losing(look):
        return "down"
    if loud(look, Trait.DRIFT):
        return "flat"
    return "up" if rising(look) or gaining(look, _recent(look.n)) else "flat"


def _validation(look: Look) -> Way:
    moved = validation_over(look, _recent(look.n))
    if moved is None:
        return "none"
    if loud(look, Trait.VALIDATION_FALLS):
        return "down"
    return _direction(int(moved >= VALIDATION_SE) - int(moved <= -VALIDATION_SE))


def _recent(rows: int) -> int:
    return max(RECENT, rows // 5)


def _direction(sign: int) -> Way:
    return "up" if sign > 0 else "down" if sign < 0 else "flat"

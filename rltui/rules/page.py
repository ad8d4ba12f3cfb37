"""What a page of the catalogue holds: a rule with its thresholds and their reasons, causes, fixes, relations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, field

from rltui.data_files import Record
from rltui.evidence.model import Basis, Kind, Severity
from rltui.rules.traits import Trait

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Words = Annotated[str, Meta(min_length=1)]
Stage = Literal["reward", "advantages", "log-probs", "loss", "generation"]

NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
SETS = ("in", "not in")


class Condition(Record, frozen=True):
    """`op` compares a number, or asks whether a value is among several; words compare without case."""

    op: Literal[">", ">=", "<", "<=", "in", "not in"]
    value: float | tuple[float | str | bool | None, ...]

    def __post_init__(self) -> None:
        if isinstance(self.value, tuple) != (self.op in SETS):
            raise ValueError(f"`{self.op}` asks for {'a list' if self.op in SETS else 'a number'}")

    def holds(self, value: object) -> bool | None:
        """None where the value cannot be compared, as a word with a number."""
        if isinstance(self.value, tuple):
            inside = any(_plain(value) == _plain(wanted) for wanted in self.value)
            return inside == (self.op == "in")
        number = _number(value)
        return None if number is None else NUMBERS[self.op](number, self.value)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        return float(str(value))
    except ValueError:
        return None


def _plain(value: object) -> object:
    number = _number(value)
    return str(value).lower() if number is None else number


class Param(Record, frozen=True):
    """A threshold and why it is what it is."""

    value: float
    why: Words


class CauseText(Record, frozen=True):
    """A candidate cause; `config` is the canonical config key behind it, None where none is.

    `speaks` ("if" in the file): what the value must be to speak for this cause; None where any value may.
    """

    text: Words
    config: str | None
    speaks: Condition | None = field(default=None, name="if")


class FixText(Record, frozen=True):
    """A remedy; `config` maps a framework family to the keys to set, in that framework's spelling. `least`: the lowest
    severity of the finding at which it is advised."""

    text: Words
    impact: Literal["high", "medium", "low"]
    risk: Literal["none", "low", "medium", "high"]
    config: Mapping[str, str]
    least: Severity = "info"


class Hold(Record, frozen=True):
    """How long a level must hold before it counts."""

    looks: Annotated[int, Meta(ge=1)]
    rows: Count


class Recovery(Record, frozen=True, kw_only=True):
    """A loud finding is over only if `metric` is back on this `side` of `factor` times what it was before the onset.
    `least`: a limit below this, in the metric's own unit, is never asked for. `paid`: it is over too if the task's
    score has risen above its level before the onset."""

    metric: Words
    side: Literal["below", "above"]
    factor: Annotated[float, Meta(gt=0)]
    why: Words
    least: Annotated[float, Meta(ge=0)] = 0.0
    paid: bool = False


class Reference(Record, frozen=True):
    """Where a number or a claim comes from."""

    key: Words
    url: Words


class Relations(Record, frozen=True):
    """Ids of other rules: an edge is stated once, by the rule it starts from."""

    leads_to: tuple[str, ...] = ()
    suppresses: tuple[str, ...] = ()


class Rule(Record, frozen=True, kw_only=True):
    """One rule. `needs`: of each group at least one metric. `group` is that of its page.

    `notice` is the title below a warning: it says what is seen, not that it is bad.
    """

    id: Words
    title: Words
    notice: Words
    name: Words
    stage: Stage | None
    role: Literal["root", "link", "symptom", "standalone"]
    kind: Kind
    basis: Basis
    traits: frozenset[Trait]
    metrics: tuple[str, ...]
    needs: tuple[tuple[str, ...], ...]
    hold: Hold
    recovery: Recovery | None = None
    params: Mapping[str, Param]
    applies_if: str
    formula: str
    thresholds: Mapping[str, str]
    why: str
    threshold_basis: str
    sources: tuple[Reference, ...]
    false_alarms: tuple[str, ...]
    evidence: tuple[str, ...]
    causes: tuple[CauseText, ...]
    fixes: tuple[FixText, ...]
    confirm: tuple[str, ...]
    refute: tuple[str, ...]
    relations: Relations
    confidence: Share
    group: str = ""
    enabled: bool = True  # false: switched off by the user

    def values(self) -> dict[str, float]:
        """Thresholds by name."""
        return {name: p.value for name, p in self.params.items()}


class Page(Record, frozen=True):
    """One file: the rules of a group."""

    group: Words
    rules: tuple[Rule, ...]

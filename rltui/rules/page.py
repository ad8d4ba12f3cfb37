"""What a page of the catalogue holds: a rule with its thresholds and their reasons, causes, fixes, relations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal

from msgspec import Meta

from rltui.data_files import Record
from rltui.evidence.model import Basis, Kind, Severity
from rltui.frameworks.load import lever
from rltui.rules.expectation import AnyOf, Configured, MetricMoved, OtherFinding, Stands, Test
from rltui.rules.traits import Trait

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Words = Annotated[str, Meta(min_length=1)]
Stage = Literal["reward", "advantages", "log-probs", "loss", "generation"]


class Param(Record, frozen=True):
    """A threshold and the reason for its value. `foretold`: what the forecast predicts that says when this threshold is
    reached."""

    value: float
    why: Words
    foretold: Literal["", "entropy", "host memory"] = ""


class RunPart(Record, frozen=True):
    """Something that not every run has, in words. One of the tests is met if this run has it."""

    what: Words
    tests: tuple[Test, ...]


class CauseText(Record, frozen=True):
    """A candidate cause. `tests`: what must all hold of this run if it is the cause. `look`: what to look at if that
    cannot be tested. `config`: the canonical config key behind it, whose value is shown. `name`: by which fixes refer
    to it. `part`: what the run must have for this to be a cause at all. `outside`: the policy is as before, so no
    earlier checkpoint is better. `whole`: a part of the tests proves nothing, as it also holds for the opposite cause;
    if one of them is not testable, the cause is not supported. `unless`: names of causes that explain more; this one is
    left out if one of them is supported."""

    text: Words
    config: str | None = None
    tests: tuple[Test, ...] = ()
    look: str = ""
    name: str = ""
    outside: bool = False
    whole: bool = False
    part: RunPart | None = None
    unless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.tests and not self.look:
            raise ValueError("a cause without a test says what to look at")

    def names(self, rule: str, later: bool = True) -> bool:
        """Whether the cause is what another rule finds. `later` False: that rule must find it no later than this."""
        others = (test for test in _flat(self.tests) if isinstance(test, OtherFinding))
        return any(rule in test.rules for test in others if later or not test.during)

    def is_of(self, metric: str) -> bool:
        """The cause is how one metric is or went, and nothing else."""
        tests = list(_flat(self.tests))
        return bool(tests) and all(isinstance(test, MetricMoved | Stands) and test.metric == metric for test in tests)


def _flat(tests: Iterable[Test]) -> Iterator[Test]:
    for test in tests:
        yield from _flat(test.tests) if isinstance(test, AnyOf) else (test,)


class RefuteText(Record, frozen=True):
    """What would show that a finding is wrong. `tests`: it is wrong if all of them hold of this run. `live`: that may
    still happen while the run goes on. Without either, only the text is shown."""

    text: Words
    live: bool = False
    tests: tuple[Test, ...] = ()


class NewValue(Record, frozen=True):
    """A setting (canonical name) and its new value: `to` a value, or `times` the present one, kept within `least` and
    `most`; 0 becomes `instead_of_0`. `way`: a value already there, or beyond it in this direction, needs no change."""

    key: Words
    to: float | str | bool | None = None
    times: float | None = None
    way: Literal["up", "down", "set"] = "set"
    least: float | None = None
    most: float | None = None
    instead_of_0: float | None = None

    def __post_init__(self) -> None:
        if (self.to is None) == (self.times is None):
            raise ValueError("either `to` or `times`")


class FixText(Record, frozen=True):
    """A remedy. `lever`: what it adjusts; each framework has its own settings for that (`levers.json`). `least`: the
    lowest severity of the finding at which it is advised. `causes`: names of the causes that it fixes; empty if it
    helps with any cause. `change`: the setting behind it; its present value and the one to try are shown if the run's
    config holds it. `act`: shared by remedies of several rules that are the same. `done`: what the config holds if the
    remedy is already applied; it also counts as applied if its first setting has a value (`a.b=c`) that the run has.
    `weight`: factor for the present weight of the reward's extra part, if the config names it. `given`: conditions of
    the remedy; it is left out if the run's numbers contradict one."""

    text: Words
    impact: Literal["high", "medium", "low"]
    risk: Literal["none", "low", "medium", "high"]
    lever: str = ""
    least: Severity = "info"
    causes: tuple[str, ...] = ()
    change: NewValue | None = None
    act: str = ""
    done: Configured | None = None
    weight: float | None = None
    given: tuple[Test, ...] = ()

    def __post_init__(self) -> None:
        lever(self.lever)


class Hold(Record, frozen=True):
    """How long a level must hold before it counts."""

    looks: Annotated[int, Meta(ge=1)]
    rows: Count


class Recovery(Record, frozen=True, kw_only=True):
    """A loud finding is over only if `metric` is back on this `side` of `factor` times its value before the onset.
    `least`: the limit is never below this, in the metric's own unit. `paid`: the finding is also over if the task's
    score has risen above its level before the onset. `live`: 0 does not count as back, as nothing moves any more."""

    metric: Words
    side: Literal["below", "above"]
    factor: Annotated[float, Meta(gt=0)]
    why: Words
    least: Annotated[float, Meta(ge=0)] = 0.0
    paid: bool = False
    live: bool = False


class Limit(Record, frozen=True, kw_only=True):
    """What the level of one metric shows by itself: a note past `noted`, a warning past `warn` if there is no gain
    beside it, and a warning past `harm` even with a gain. The metric is bad above these limits if `warn` is above
    `noted`, otherwise below. `times`: it must also have moved away from its own start by this factor. `of_start`: the
    limits are shares of its start. `unless`: metrics by which the rule itself judges the same."""

    noted: float
    warn: float
    harm: float
    why: Words
    times: Annotated[float, Meta(ge=1)] = 1.0
    of_start: bool = False
    unless: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not (self.noted < self.warn < self.harm or self.noted > self.warn > self.harm):
            raise ValueError("the three limits go one way")

    @property
    def above(self) -> bool:
        """Whether high values are bad."""
        return self.warn > self.noted


class Reference(Record, frozen=True):
    """The source of a number or a claim."""

    key: Words
    url: Words


class Relations(Record, frozen=True):
    """Ids of other rules. Each edge is stated once, by the rule that it starts from."""

    leads_to: tuple[str, ...] = ()
    suppresses: tuple[str, ...] = ()


class Rule(Record, frozen=True, kw_only=True):
    """One rule. `needs`: at least one metric of each group. `group` is that of its page. `why`: what the rule sees and
    what that usually means, in plain words. `cases`: where it was seen, for readers who want sources.

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
    limits: Mapping[str, Limit] = {}  # for metrics besides those that its detector reads
    applies_if: str
    formula: str
    thresholds: Mapping[str, str]
    why: Words
    cases: tuple[str, ...]
    threshold_basis: str
    sources: tuple[Reference, ...]
    false_alarms: tuple[str, ...]
    evidence: tuple[str, ...]
    causes: tuple[CauseText, ...]
    fixes: tuple[FixText, ...]
    confirm: tuple[str, ...]
    refute: tuple[Words | RefuteText, ...]
    relations: Relations
    confidence: Share
    group: str = ""
    enabled: bool = True  # false: switched off by the user

    def __post_init__(self) -> None:
        names = [cause.name for cause in self.causes if cause.name]
        unknown = {name for fix in self.fixes for name in fix.causes} - set(names)
        if unknown or len(set(names)) < len(names):
            raise ValueError(f"causes of {self.id}: {', '.join(sorted(unknown)) or 'a name stands twice'}")
        if any(text.startswith("never") for text in self.thresholds.values()):
            raise ValueError(f"thresholds of {self.id}: a level that it never speaks at is left out")

    @property
    def refutations(self) -> tuple[RefuteText, ...]:
        """What would show that the finding is wrong, the most telling first."""
        return tuple(RefuteText(one) if isinstance(one, str) else one for one in self.refute)

    @property
    def worst(self) -> Severity:
        """The worst severity that the rule can report; a metric past a limit is critical if the reward also falls."""
        if "critical" in self.thresholds or self.limits:
            return "critical"
        return "warning" if "warning" in self.thresholds else "info"

    def values(self) -> dict[str, float]:
        """Thresholds by name."""
        return {name: p.value for name, p in self.params.items()}


class Page(Record, frozen=True):
    """One file: the rules of a group."""

    group: Words
    rules: tuple[Rule, ...]

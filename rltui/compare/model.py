"""The parts of a comparison. The field names are those of its JSON (`rltui.compare/1`). None means unknown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from rltui.records import names
from rltui.report.to_json import dumps, plain_of

SCHEMA = "rltui.compare/1"
Group = Literal["good", "bad", "ugly"]
COSTS = ("tokens", "gpu_hours", "hours", "steps")


class Primary(Struct, frozen=True):
    """The metric that ranks the runs. `how`: why it was chosen. `runs`: how many log it."""

    name: str | None
    label: str
    higher_is_better: bool
    how: str
    runs: int


class Flag(Struct, frozen=True):
    """Why a run is ugly. `word`: nan, crashed, kl-blow-up, ... `finding`: id of the rule behind it, None if there is
    none."""

    word: str
    finding: str | None
    text: str


class Band(Struct, frozen=True):
    """A run compared with the 10-90 % band of the others at the same step. Shares refer to the steps with enough
    others."""

    others: int
    steps: int
    inside: float
    below: float
    above: float
    behind_since: int | None  # worse than the band from this step to its end
    ahead_since: int | None


class RunHead(Struct, frozen=True):
    """Which run it is, its state and its verdict."""

    id: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str
    decision: str
    badge: str


class RunLine(RunHead, frozen=True):
    """One run. `best` is the best smoothed value of the primary metric, `se` its standard error, `last` the newest
    value."""

    group: Group
    because: str
    best: float | None
    best_step: int | None
    se: float | None
    first: float | None
    last: float | None
    cost: Mapping[str, float | None]
    at_equal: Mapping[str, float | None]  # cost -> best primary metric at the budget that all scored runs reached
    on_front: bool
    flags: tuple[Flag, ...]
    limits: tuple[str, ...]  # titles of the open root findings
    band: Band | None
    health: Mapping[str, float | None]  # last-window means of a few metrics


class Bin(Struct, frozen=True):
    value: str
    n: int
    mean: float


class SettingSignal(Struct, frozen=True):
    """How a setting goes with the primary metric over the runs. `rho`, `p`, `q` are None for text values and for too
    few runs."""

    setting: str
    keys: tuple[str, ...]  # settings that always change together, so their effects cannot be told apart
    n: int
    rho: float | None
    p: float | None
    q: float | None
    bins: tuple[Bin, ...]
    gap: float | None  # best bin's mean minus worst bin's, bins of two runs or more


class Signals(Struct, frozen=True):
    """`constants`: how many settings are the same in all runs."""

    items: tuple[SettingSignal, ...]
    constants: int
    note: str


class Experiment(Struct, frozen=True):
    title: str
    base: str | None  # id of the run that it starts from
    setting: str | None
    before: str | None
    after: str | None
    expected: str
    refuted_by: str
    cost: str
    why: str


class Change(Struct, frozen=True):
    key: str
    a: str | None
    b: str | None


class ConfigDiff(Struct, frozen=True):
    a: str
    b: str
    changes: tuple[Change, ...]
    same: int


class Configuration(Struct, frozen=True):
    """Runs with the same settings. `settings`: those that differ between configurations. `mean` of the primary metric,
    interquartile for four or more runs; `low`, `high`: its 95 % interval. `beaten`: the probability that the leading
    one is better; None for the leading one, or if no configuration has several runs."""

    settings: Mapping[str, str]
    runs: tuple[str, ...]
    mean: float
    low: float | None
    high: float | None
    beaten: float | None


class PairedEffect(Struct, frozen=True):
    """A change of one setting while all others stay the same. `value`: mean difference of the primary metric over
    `pairs` pairs of configurations, with its 95 % interval; `q`: p corrected over all changes."""

    setting: str
    before: str
    after: str
    pairs: int
    value: float
    low: float
    high: float
    p: float
    q: float


class Replicates(Struct, frozen=True):
    """`left_out`: id of a run -> why it counts in no configuration. `sd`: standard deviation between runs with the same
    settings, with `df` degrees of freedom; None if no settings were run twice. `settled`: whether the best
    configuration is settled, in words."""

    configurations: tuple[Configuration, ...]
    left_out: Mapping[str, str]
    sd: float | None
    df: int
    effects: tuple[PairedEffect, ...]
    settled: str


class Comparison(Struct, frozen=True):
    """`cautions`: why the whole order of the runs may be wrong. `notes`: further remarks."""

    primary: Primary
    cautions: tuple[str, ...]
    cost: str | None  # the cost of the Pareto front
    runs: tuple[RunLine, ...]  # best first
    front: tuple[str, ...]  # ids, cheapest first
    fronts: Mapping[str, tuple[str, ...]]
    equal_budget: Mapping[str, float | None]
    shared: tuple[str, ...]  # what the good runs have in common
    limits: tuple[str, ...]  # what limits the others, with causes, most frequent first
    readings: tuple[str, ...]
    signals: Signals
    replicates: Replicates
    experiments: tuple[Experiment, ...]
    best_default: ConfigDiff | None
    diff: ConfigDiff | None
    notes: tuple[str, ...]
    spread: tuple[float, float, float] | None  # worst, median, best of the scored runs
    flag_counts: Mapping[str, int]
    curves: Mapping[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    schema: str = SCHEMA


def to_json(comparison: Comparison) -> str:
    """One JSON object and a line end; keys as in `schema.json`."""
    plain = {name: plain_of(getattr(comparison, name)) for name in names(comparison)}
    return dumps({"schema": plain.pop("schema")} | plain)

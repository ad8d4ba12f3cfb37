"""What a comparison consists of. Field names are those of its JSON (`rltui.compare/1`); unknown is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Literal

from rltui.report.to_json import dumps, rounded

SCHEMA = "rltui.compare/1"
Group = Literal["good", "bad", "ugly"]
COSTS = ("tokens", "gpu_hours", "hours", "steps")


@dataclass(frozen=True, slots=True)
class Primary:
    """The metric that ranks the runs. `how` says why it and not another; `runs` counts those that log it."""

    name: str | None
    label: str
    higher_is_better: bool
    how: str
    runs: int


@dataclass(frozen=True, slots=True)
class Flag:
    """`word` is nan, crashed, kl-blow-up, ...; `finding` the rule behind it, None where none is."""

    word: str
    finding: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Band:
    """A run against the 10-90 % of the others at the same step. Shares are of the steps where enough others stand."""

    others: int
    steps: int
    inside: float
    below: float
    above: float
    behind_since: int | None  # worse than the band from this step to its end
    ahead_since: int | None


@dataclass(frozen=True, slots=True)
class RunHead:
    """Which run it is and how it stands."""

    id: str
    path: str
    framework: str | None
    algorithm: str | None
    state: str
    decision: str
    badge: str


@dataclass(frozen=True, slots=True)
class RunLine(RunHead):
    """One run. `best` is the best of the smoothed primary metric, `se` its standard error, `last` the newest."""

    group: Group
    because: str
    best: float | None
    best_step: int | None
    se: float | None
    first: float | None
    last: float | None
    cost: Mapping[str, float | None]
    at_equal: Mapping[str, float | None]  # the primary at the budget that all scored runs reached
    on_front: bool
    flags: tuple[Flag, ...]
    limits: tuple[str, ...]  # titles of the open root findings
    band: Band | None
    health: Mapping[str, float | None]  # last-window means of a few metrics


@dataclass(frozen=True, slots=True)
class Bin:
    value: str
    n: int
    mean: float


@dataclass(frozen=True, slots=True)
class SettingSignal:
    """A setting and the primary metric over the runs. `rho`, `p`, `q` are None for words and for few runs."""

    setting: str
    keys: tuple[str, ...]  # settings that vary exactly alike: nobody can tell them apart
    n: int
    rho: float | None
    p: float | None
    q: float | None
    bins: tuple[Bin, ...]
    gap: float | None  # best bin's mean minus worst bin's, bins of two runs or more


@dataclass(frozen=True, slots=True)
class Signals:
    """`constants`: how many settings are the same in all runs."""

    items: tuple[SettingSignal, ...]
    constants: int
    note: str


@dataclass(frozen=True, slots=True)
class Experiment:
    title: str
    base: str | None  # id of the run that it starts from
    setting: str | None
    before: str | None
    after: str | None
    expected: str
    refuted_by: str
    cost: str
    why: str


@dataclass(frozen=True, slots=True)
class Change:
    key: str
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class ConfigDiff:
    a: str
    b: str
    changes: tuple[Change, ...]
    same: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """`cautions`: why the order of the runs may not hold at all; `notes`: what else to know."""

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
    plain = {f.name: _plain(getattr(comparison, f.name)) for f in fields(comparison)}
    return dumps({"schema": plain.pop("schema")} | plain)


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return rounded(value)
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return _text(str(value))


def _text(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")

"""Which metrics this kind of run should log, which of them it logs, and which checks cannot run without the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.evidence.look import FAMILIES, Look
from rltui.evidence.model import Coverage, MissingMetric, NotEvaluable
from rltui.evidence.profile import RunSettings
from rltui.frameworks.load import enable
from rltui.rollouts.samples import Samples
from rltui.rules.page import Rule
from rltui.rules.traits import Trait

_AS_LOGGED = frozenset({Trait.NONFINITE, Trait.OF_ZEROS})
"""Rules with these traits look at what a log holds, whether it is a measurement or not."""

_DATA = Path(__file__).with_name("data")
When = Literal["always", "kl", "group", "critic", "off-policy", "rollouts"]
Kind = Literal["critic", "preference", "rollouts", "group", "kl", "updates", "tools", "async"]


class Expected(Record):
    """A metric that runs should log. `any`: the metrics of which one is enough; `when`: which runs should log it."""

    metric: str
    any: tuple[str, ...]
    when: When


class ExpectedMetrics(Record):
    metrics: tuple[Expected, ...]


@kept
def _expected() -> tuple[Expected, ...]:
    return read(_DATA / "expected.json", ExpectedMetrics).metrics


def stand_for(metric: str) -> tuple[str, ...]:
    """The metrics of which any one is enough if this one is expected."""
    return next((entry.any for entry in _expected() if entry.metric == metric), (metric,))


def _applies(when: When, settings: RunSettings) -> bool:
    return {
        "always": True,
        "kl": not settings.preference and (settings.kl_where is not None or settings.kl_coef is None),
        "group": settings.group_relative is True,
        "critic": settings.critic,
        "off-policy": not settings.preference and settings.one_update is not True,
        "rollouts": not settings.preference,
    }[when]


ZERO = "it may never have been anything else, or this version does not measure it"
"""The text shown instead of how to log a metric, if the metric is 0 in every row."""


def coverage(look: Look, catalogue: Mapping[str, Rule], running: Iterable[str]) -> Coverage:
    """Expected metrics, those present, and for each missing one the rules it blocks (of those that could run)."""
    ids = sorted(running)
    expected = [e for e in _expected() if _applies(e.when, look.settings)]
    missing = []
    for entry in expected:
        if any(look.series(n) is not None for n in entry.any):
            continue
        blocks = tuple(i for i in ids if any(set(group) <= set(entry.any) for group in catalogue[i].needs))
        zero = any(look.logged(n) is not None for n in entry.any)
        how = ZERO if zero else enable(entry.metric, look.dialect.name)
        missing.append(MissingMetric(entry.metric, blocks, how, zero))
    return Coverage(len(expected), len(expected) - len(missing), tuple(missing))


class Evaluable:
    """Which rules can run on the metrics of a run. The answer changes only when a metric appears, hardly ever from row
    to row, so the newest one is kept. For one run under one config only."""

    def __init__(self, catalogue: Mapping[str, Rule], running: Iterable[str]) -> None:
        self._catalogue = catalogue
        self._ids = list(running)
        expected = {name for entry in _expected() for name in entry.any}
        needed = {name for i in self._ids for group in catalogue[i].needs for name in group}
        signs = {name for names in _kinds().signs.values() for name in names}
        self._names = tuple(expected | needed | signs | {"score_mean", "reward_mean"})
        self._loose = tuple(
            {
                n
                for i in self._ids
                if not _AS_LOGGED.isdisjoint(catalogue[i].traits)
                for group in catalogue[i].needs
                for n in group
            }
        )
        self._known: tuple[object, Coverage, tuple[NotEvaluable, ...]] | None = None

    def of(self, look: Look) -> tuple[Coverage, tuple[NotEvaluable, ...]]:
        """The coverage, and the rules that cannot run on these rows."""
        there = (
            [name for name in self._names if look.series(name) is not None],
            [name for name in FAMILIES if look.family(name)],
            [name for name in self._loose if look.logged(name) is not None],
        )
        if self._known is None or self._known[0] != there:
            seen = coverage(look, self._catalogue, [i for i in self._ids if self._catalogue[i].enabled])
            unable = [b for i in self._ids if (b := blocked(self._catalogue[i], look)) is not None]
            self._known = there, seen, tuple(unable)
        return self._known[1], self._known[2]


@kept
def _inputs() -> dict[str, tuple[str, str]]:
    """Rule -> what it needs besides metrics and config, and how to get it."""
    return read(_DATA / "inputs.json", dict[str, tuple[str, str]])


def without_input(
    catalogue: Mapping[str, Rule], running: Iterable[str], only_samples: Iterable[str], samples: Samples, look: Look
) -> list[NotEvaluable]:
    """Rules that cannot run and look at what no log or config holds: GPU, host, samples (`only_samples` need these). If
    a kind of run has no samples, they are not reported as missing."""
    known = set(running)
    out = [
        NotEvaluable(i, catalogue[i].title, wants, enable)
        for i, (wants, enable) in _inputs().items()
        if i in catalogue and i not in known
    ]
    needs = "samples of rollouts, which are still looked for" if samples.pending else "samples of rollouts by then"
    if samples.missing:
        needs = f"samples of rollouts: none found ({samples.missing})"
    enable = samples.enable or "have the trainer write its rollouts"
    applies = _may_be("rollouts", look) or not samples.missing
    if not applies:
        needs, enable = _kinds().reasons["rollouts"], ""
    return out + [
        NotEvaluable(i, catalogue[i].title, needs, enable, applies)
        for i in only_samples
        if i in catalogue and i not in known
    ]


def blocked(rule: Rule, look: Look) -> NotEvaluable | None:
    """Why a rule cannot run on these rows. None if it can."""
    if not rule.enabled:
        return NotEvaluable(rule.id, rule.title, "switched off in your settings", f"rules.{rule.id}.enabled = true")
    for group in rule.needs:
        if not any(_there(rule, look, name) for name in group):
            reason = no_use_for(rule.id, look)
            if reason is not None:
                return NotEvaluable(rule.id, rule.title, reason, "", applies=False)
            zero = any(look.logged(name) is not None for name in group)
            needs = " or ".join(group) + (", 0 throughout here" if zero else "")
            return NotEvaluable(rule.id, rule.title, needs, ZERO if zero else enable(group[0], look.dialect.name))
    return None


class Kinds(Record):
    """`rules`: rule -> the kind of run that it is for; `signs`: kind -> metrics that only such runs log; `reasons`:
    kind -> why the rule does not apply to other kinds."""

    rules: dict[str, Kind]
    signs: dict[Kind, tuple[str, ...]]
    reasons: dict[Kind, str]


@kept
def _kinds() -> Kinds:
    return read(_DATA / "applies.json", Kinds)


def no_use_for(rule_id: str, look: Look) -> str | None:
    """Why a rule does not apply to this kind of run. None if it applies, or if that is unknown."""
    kind = _kinds().rules.get(rule_id)
    if kind is None or _may_be(kind, look) or any(look.series(name) is not None for name in _kinds().signs[kind]):
        return None
    return _kinds().reasons[kind]


def no_sign_of(rule_id: str, look: Look) -> str | None:
    """As `no_use_for`. For a critic, also if neither log nor config shows one and it is unknown whether the algorithm
    has one: a critic that is not there explains nothing."""
    kind = _kinds().rules.get(rule_id)
    unseen = kind == "critic" and not look.settings.critic and all(look.series(n) is None for n in _kinds().signs[kind])
    return no_use_for(rule_id, look) or ("neither log nor config shows a critic" if unseen else None)


def _may_be(kind: Kind, look: Look) -> bool:
    """Whether the run may be of this kind, by its config and algorithm as far as they are known."""
    settings = look.settings
    return {
        "critic": settings.critic or settings.algorithm is None,
        "preference": settings.preference or (settings.algorithm is None and look.series(look.reward) is None),
        "rollouts": not settings.preference,
        "group": settings.group_relative is not False,
        "kl": settings.kl_coef != 0,
        "updates": settings.one_update is not True,
        "tools": (settings.number("max_turns") or 0) > 1,
        "async": (settings.number("max_staleness") or 0) > 0,
    }[kind]


def _there(rule: Rule, look: Look, name: str) -> bool:
    if name in FAMILIES:
        return bool(look.family(name))
    as_logged = not _AS_LOGGED.isdisjoint(rule.traits) and look.logged(name) is not None
    return look.series(name) is not None or as_logged

"""The rule catalogue: what each rule looks at, its thresholds and their reasons, causes, fixes, relations."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import get_args

import orjson

from rltui.evidence.guard import Guard
from rltui.evidence.model import Kind
from rltui.rules.traits import Trait
from rltui.settings import Settings

NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
SETS = ("in", "not in")


@dataclass(frozen=True, slots=True)
class Condition:
    """`op` compares a number, or asks whether a value is among several; words compare without case."""

    op: str
    value: object

    def holds(self, value: object) -> bool | None:
        """None where the value cannot be compared, as a word with a number."""
        if self.op in SETS:
            assert isinstance(self.value, list)
            inside = any(_plain(value) == _plain(wanted) for wanted in self.value)
            return inside == (self.op == "in")
        number = _number(value)
        return None if number is None else NUMBERS[self.op](number, float(str(self.value)))


def condition(raw: object) -> Condition | None:
    """From the catalogue's data; None where there is none. Raises ValueError for an unknown operator."""
    if raw is None:
        return None
    assert isinstance(raw, dict)
    if raw["op"] not in NUMBERS and raw["op"] not in SETS:
        raise ValueError(f"unknown operator: {raw['op']}")
    return Condition(str(raw["op"]), raw["value"])


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


@dataclass(frozen=True, slots=True)
class Param:
    """A threshold and why it is what it is."""

    value: float
    why: str


@dataclass(frozen=True, slots=True)
class CauseText:
    """A candidate cause; `config` is the canonical config key behind it, None where none is.

    `speaks`: what the value must be to speak for this cause; None where any value may.
    """

    text: str
    config: str | None
    speaks: Condition | None = None


@dataclass(frozen=True, slots=True)
class FixText:
    """A remedy; `config` maps a framework family to the keys to set, in that framework's spelling. `least`: the lowest
    severity of the finding at which it is advised."""

    text: str
    impact: str
    risk: str
    config: Mapping[str, str]
    least: str = "info"


@dataclass(frozen=True, slots=True)
class Rule:
    """One page of the catalogue. `needs`: of each group at least one metric; `leads_to` and others hold rule ids.

    `notice` is the title below a warning: it says what is seen, not that it is bad.
    """

    id: str
    title: str
    notice: str
    name: str
    group: str
    stage: str | None
    role: str
    kind: Kind
    basis: str
    traits: frozenset[Trait]
    metrics: tuple[str, ...]
    needs: tuple[tuple[str, ...], ...]
    hold_looks: int
    hold_rows: int
    params: Mapping[str, Param]
    applies_if: str
    formula: str
    thresholds: Mapping[str, str]
    why: str
    threshold_basis: str
    sources: tuple[tuple[str, str], ...]
    false_alarms: tuple[str, ...]
    evidence: tuple[str, ...]
    causes: tuple[CauseText, ...]
    fixes: tuple[FixText, ...]
    confirm: tuple[str, ...]
    refute: tuple[str, ...]
    caused_by: tuple[str, ...]
    leads_to: tuple[str, ...]
    suppresses: tuple[str, ...]
    suppressed_by: tuple[str, ...]
    confidence: float
    enabled: bool = True  # false: switched off by the user

    def values(self) -> dict[str, float]:
        """Thresholds by name."""
        return {name: p.value for name, p in self.params.items()}


@lru_cache(maxsize=1)
def _read() -> tuple[dict[str, Rule], dict[str, str]]:
    """The rules by id, and what is wrong with the pages that cannot be read."""
    out: dict[str, Rule] = {}
    guard = Guard()
    for page in sorted((files("rltui.rules") / "pages").iterdir(), key=lambda p: p.name):
        if page.name.endswith(".json"):
            out |= {rule.id: rule for rule in guard.ask(f"page {page.name}", (), _page, page)}
    return out, guard.failed


def _page(page: Traversable) -> tuple[Rule, ...]:
    data = orjson.loads(page.read_bytes())
    return tuple(_rule(raw, data["group"]) for raw in data["rules"])


def rules() -> dict[str, Rule]:
    """Every rule of the catalogue by id, group by group."""
    return _read()[0]


def unread_pages() -> dict[str, str]:
    """Pages of rules that cannot be read, with the reason: none of their rules runs."""
    return _read()[1]


def threshold(catalogue: Mapping[str, Rule], rule: str, name: str) -> float | None:
    """A rule's threshold for what is told beside its findings; None if its page cannot be read."""
    page = catalogue.get(rule)
    return page.params[name].value if page is not None and name in page.params else None


@cache
def having(trait: Trait) -> frozenset[str]:
    """Ids of the rules that have the trait."""
    return frozenset(rule.id for rule in rules().values() if trait in rule.traits)


def adjusted(settings: Settings) -> dict[str, Rule]:
    """The catalogue with the user's own thresholds and switches. Raises `SettingsError` for a name it does not have."""
    out = dict(rules())
    for rule_id, own in settings.rules.items():
        rule = out.get(rule_id)
        if rule is None and unread_pages():
            continue  # it may stand on one of them
        if rule is None:
            near = ", ".join(get_close_matches(rule_id, out, 3, 0.5))
            raise settings.wrong(f"rules.{rule_id}", f"no such rule; near: {near}" if near else "no such rule")
        params = dict(rule.params)
        for name, value in own.params.items():
            if name not in params:
                known = ", ".join(params) or "none"
                raise settings.wrong(f"rules.{rule_id}.params.{name}", f"no such parameter; this rule has: {known}")
            params[name] = Param(value, f"your setting (default {params[name].value:g}: {params[name].why})")
        out[rule_id] = replace(rule, params=params, enabled=own.enabled)
    return out


def _rule(raw: dict[str, object], group: str) -> Rule:
    def texts(name: str, of: Mapping[str, object] = raw) -> tuple[str, ...]:
        value = of.get(name) or ()
        assert isinstance(value, (list, tuple))
        return tuple(str(x) for x in value)

    def items(name: str) -> list[dict[str, object]]:
        value = raw[name]
        assert isinstance(value, list)
        return value

    def table(name: str) -> dict[str, object]:
        value = raw[name]
        assert isinstance(value, dict)
        return value

    relations = table("relations")
    hold = table("hold")
    needs = raw["needs"]
    assert isinstance(needs, list)
    params: dict[str, Param] = {}
    for name, p in table("params").items():
        assert isinstance(p, dict)
        if isinstance(p["value"], (int, float)):
            params[name] = Param(float(p["value"]), str(p["why"]))
    return Rule(
        id=str(raw["id"]),
        title=str(raw["title"]),
        notice=str(raw["notice"]),
        name=str(raw["name"]),
        group=group,
        stage=None if raw["stage"] is None else str(raw["stage"]),
        role=str(raw["role"]),
        kind=_kind(raw["kind"]),
        basis=str(raw["basis"]),
        traits=frozenset(map(Trait, texts("traits"))),
        metrics=texts("metrics"),
        needs=tuple(tuple(str(m) for m in any_of) for any_of in needs),
        hold_looks=int(str(hold["looks"])),
        hold_rows=int(str(hold["rows"])),
        params=params,
        applies_if=str(raw["applies_if"]),
        formula=str(raw["formula"]),
        thresholds={k: str(v) for k, v in table("thresholds").items()},
        why=str(raw["why"]),
        threshold_basis=str(raw["threshold_basis"]),
        sources=tuple((str(s["key"]), str(s["url"])) for s in items("sources")),
        false_alarms=texts("false_alarms"),
        evidence=texts("evidence"),
        causes=tuple(
            CauseText(str(c["text"]), None if c["config"] is None else str(c["config"]), condition(c.get("if")))
            for c in items("causes")
        ),
        fixes=tuple(
            FixText(
                str(f["text"]), str(f["impact"]), str(f["risk"]), _strings(f["config"]), str(f.get("least", "info"))
            )
            for f in items("fixes")
        ),
        confirm=texts("confirm"),
        refute=texts("refute"),
        caused_by=texts("caused_by", relations),
        leads_to=texts("leads_to", relations),
        suppresses=texts("suppresses", relations),
        suppressed_by=texts("suppressed_by", relations),
        confidence=float(str(raw["confidence"])),
    )


def _strings(value: object) -> dict[str, str]:
    assert isinstance(value, dict)
    return {str(k): str(v) for k, v in value.items()}


def _kind(value: object) -> Kind:
    for kind in get_args(Kind):
        if kind == value:
            found: Kind = kind
            return found
    raise ValueError(f"unknown kind of fault: {value}")

"""The data files of the vocabulary, compiled: metrics, and one dialect a framework (its own names for things)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

GENERIC = "generic"
"""The dialect of home-made training loops; its exact aliases are the last resort of every other dialect."""

_DATA = files("rltui.vocabulary") / "data"


@dataclass(frozen=True, slots=True)
class Metric:
    """A canonical metric. `direction`: which way is good ("up", "down", "none"); `healthy`: its usual shape."""

    name: str
    label: str
    group: str
    unit: str
    meaning: str
    range: str
    direction: str
    trap: str = ""
    healthy: str = ""
    many: bool = False  # one key for each of several members (reward functions, data sets)
    member_label: str = ""  # how the label of a member is made, "{}" its name


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a training step. `usual`: share of the step it usually takes, with the reason in `why`."""

    name: str
    label: str
    meaning: str
    usual: tuple[float, float] | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Signs:
    """What gives a dialect away. Key and config signs are regexes, text signs plain strings."""

    keys: tuple[re.Pattern[str], ...] = ()
    not_keys: tuple[re.Pattern[str], ...] = ()  # any of them excludes the dialect
    need_keys: tuple[re.Pattern[str], ...] = ()  # none of them excludes it
    all_keys: tuple[re.Pattern[str], ...] = ()  # count only together
    config: tuple[re.Pattern[str], ...] = ()
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseRules:
    """Phase -> its keys (an alias starting with "re:" is a regex). `outside`: by version, phases that run beside the
    step; `nested`: phases inside another one; `sum`: there is no key of the whole step, it is the sum of its phases."""

    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    outside: tuple[tuple[str, tuple[str, ...]], ...] = ()
    nested: dict[str, str] = field(default_factory=dict)
    sum: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Trap:
    """What is easily misread about a metric in this framework: from a version on, before a version (None: any)."""

    metric: str
    text: str
    since: str | None = None
    before: str | None = None


@dataclass(frozen=True, slots=True)
class CheckpointRules:
    """How checkpoint directories are called (regex, group 1 the step), and those that are still being written."""

    dirs: tuple[re.Pattern[str], ...] = ()
    partial: tuple[re.Pattern[str], ...] = ()


@dataclass(frozen=True, slots=True)
class InactiveRule:
    """The config value `config` has no effect while `when` holds one of `values` (None: not set; `negate`: none of
    them)."""

    config: str
    when: str
    values: tuple[object, ...]
    note: str
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Support:
    """How well one part of a framework's runs is read, and what that was shown on: a real log, output of the
    framework's own writer, or lines built to its format string."""

    state: str  # "yes" | "partly" | "no"
    shown: str = ""  # "real" | "writer" | "built"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """All names of one framework, those of the dialect that it extends included."""

    name: str
    title: str
    label: str  # the title, with what tells it from other dialects of the framework
    framework: str
    family: str
    bases: tuple[str, ...]
    algorithm: str | None  # what this dialect trains with, where it knows one algorithm only
    prefixes: tuple[tuple[str, str], ...]
    signs: Signs
    versions: tuple[tuple[str, tuple[re.Pattern[str], ...]], ...]
    aliases: dict[str, tuple[str, ...]]  # canonical -> keys, the preferred one first
    exact: dict[str, str]  # key -> canonical
    patterns: tuple[tuple[str, re.Pattern[str]], ...]  # (canonical, regex), in order of preference
    convert: dict[str, tuple[float, float]]  # key -> (a, b): canonical value = a * value + b
    phases: PhaseRules
    phase_exact: dict[str, str]
    phase_patterns: tuple[tuple[str, re.Pattern[str]], ...]
    config: dict[str, tuple[str, ...]]
    inactive: tuple[InactiveRule, ...]
    checkpoints: CheckpointRules
    groups: dict[str, str]  # first part of a key -> group, where it differs from what it is elsewhere
    traps: tuple[Trap, ...]
    samples: tuple[re.Pattern[str], ...]  # paths of the files that hold prompts and completions
    support: dict[str, Support]  # part of a run -> how well it is read; of the framework's own file only


def _json(*path: str) -> Any:
    target = _DATA
    for part in path:
        target = target / part
    return orjson.loads(target.read_bytes())


@cache
def metrics() -> dict[str, Metric]:
    """Canonical name -> metric, in the order in which a tie between two of them is decided."""
    return {name: Metric(name=name, **fields) for name, fields in _json("metrics.json").items()}


@cache
def phases() -> dict[str, Phase]:
    out = {}
    for name, fields in _json("phases.json").items():
        usual = fields.pop("usual", None)
        out[name] = Phase(name=name, usual=(usual[0], usual[1]) if usual else None, **fields)
    return out


@cache
def config_meanings() -> dict[str, str]:
    """Canonical config key -> meaning."""
    return dict(_json("config.json"))


@dataclass(frozen=True, slots=True)
class Algorithms:
    """How an algorithm is told: by the advantage estimator, by a name in the log, by metrics that only it logs.

    In the families of `estimator_is_aggregation` the "estimator" only names how the loss is averaged.
    """

    by_value: dict[str, str]
    by_text: tuple[tuple[str, str], ...]
    by_key: tuple[tuple[str, tuple[str, ...]], ...]
    estimator_is_aggregation: frozenset[str]


@cache
def algorithms() -> Algorithms:
    data = _json("algorithms.json")
    return Algorithms(
        by_value=data["by_value"],
        by_text=tuple((name, text) for name, text in data["by_text"]),
        by_key=tuple((name, tuple(keys)) for name, keys in data["by_key"]),
        estimator_is_aggregation=frozenset(data["estimator_is_aggregation"]),
    )


@cache
def prefix_groups() -> dict[str, str]:
    """First part or parts of a key -> group, for keys that the vocabulary does not know."""
    return dict(_json("groups.json"))


@cache
def dialect_names() -> tuple[str, ...]:
    names = (entry.name for entry in (_DATA / "frameworks").iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".json")))


def _regexes(items: list[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(item) for item in items)


def _is_regex(alias: str) -> bool:
    return alias.startswith("re:")


def _index(aliases: dict[str, tuple[str, ...]]) -> tuple[dict[str, str], tuple[tuple[str, re.Pattern[str]], ...]]:
    """Key -> name, and the regexes. A key that several names list belongs to the one that lists it first of all."""
    rank: dict[str, int] = {}
    exact: dict[str, str] = {}
    patterns = []
    for name, keys in aliases.items():
        for position, key in enumerate(keys):
            if _is_regex(key):
                patterns.append((name, re.compile(key[3:])))
            elif key not in rank or position < rank[key]:
                rank[key], exact[key] = position, name
    return exact, tuple(patterns)


def _merge(own: dict[str, list[str]], base: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Own aliases before inherited ones. A key that the dialect itself lists means what the dialect says: it is
    dropped from whatever else the base lists it under."""
    taken = {key for keys in own.values() for key in keys}
    out = {}
    for name in [*own, *(n for n in base if n not in own)]:
        inherited = (key for key in base.get(name, ()) if key not in taken)
        keys = tuple(dict.fromkeys([*own.get(name, ()), *inherited]))
        if keys:
            out[name] = keys
    return out


def _inactive(rule: dict[str, Any]) -> InactiveRule:
    negate = "is_not" in rule
    return InactiveRule(rule["config"], rule["when"], tuple(rule["is_not" if negate else "is"]), rule["note"], negate)


@cache
def dialect(name: str) -> Dialect:
    """A dialect by file name or, for a name without a file, the generic one."""
    if name not in dialect_names():
        return dialect(GENERIC)
    data = _json("frameworks", f"{name}.json")
    base = dialect(data["extends"]) if "extends" in data else None
    order = {metric: i for i, metric in enumerate(metrics())}
    merged = _merge(data["metrics"], base.aliases if base else {})
    aliases = dict(sorted(merged.items(), key=lambda item: order[item[0]]))
    exact, patterns = _index(aliases)
    detect = data.get("detect", {})
    timing = data.get("phases", {})
    phase_keys = _merge(timing.get("keys", {}), base.phases.keys if base else {})
    outside = timing.get("outside")
    rules = PhaseRules(
        keys=phase_keys,
        outside=tuple((entry["version"], tuple(entry["phases"])) for entry in outside)
        if outside is not None
        else (base.phases.outside if base else ()),
        nested=dict(timing.get("nested", base.phases.nested if base else {})),
        sum=timing.get("sum", False),
        note=timing.get("note", base.phases.note if base else ""),
    )
    phase_exact, phase_patterns = _index(phase_keys)
    saved = data.get("checkpoints")
    own_versions = tuple((entry["version"], _regexes(entry["keys"])) for entry in data.get("versions", []))
    return Dialect(
        name=name,
        title=data["title"],
        label=data.get("label", data["title"]),
        framework=data["framework"],
        family=data["family"],
        bases=(base.name, *base.bases) if base else (),
        algorithm=data.get("algorithm"),
        prefixes=tuple((p[0], p[1]) for p in data["prefixes"])
        if "prefixes" in data
        else (base.prefixes if base else ()),
        signs=Signs(
            **{
                part: _regexes(detect.get(part, [])) for part in ("keys", "not_keys", "need_keys", "all_keys", "config")
            },
            text=tuple(detect.get("text", ())),
        ),
        versions=own_versions + (base.versions if base else ()),
        aliases=aliases,
        exact=exact,
        patterns=patterns,
        convert={**(base.convert if base else {}), **{k: (v[0], v[1]) for k, v in data.get("convert", {}).items()}},
        phases=rules,
        phase_exact=phase_exact,
        phase_patterns=phase_patterns,
        config={**(base.config if base else {}), **{k: tuple(v) for k, v in data.get("config", {}).items()}},
        inactive=tuple(_inactive(rule) for rule in data["inactive"])
        if "inactive" in data
        else (base.inactive if base else ()),
        checkpoints=CheckpointRules(
            dirs=_regexes(saved["dirs"]),
            partial=_regexes(saved.get("partial", [])),
        )
        if saved
        else (base.checkpoints if base else CheckpointRules()),
        groups={**(base.groups if base else {}), **data.get("groups", {})},
        traps=tuple(
            Trap(trap["metric"], trap["text"], trap.get("from"), trap.get("before")) for trap in data.get("traps", [])
        )
        + (base.traps if base else ()),
        samples=_regexes(data["samples"]) if "samples" in data else (base.samples if base else ()),
        support={part: Support(*said) for part, said in data.get("support", {}).items()},
    )

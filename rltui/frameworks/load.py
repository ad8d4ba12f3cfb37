"""The data files of the vocabulary: metrics, and one dialect a framework (its own names for things).

What a dialect says is worked out when it is asked for: to tell a framework, the signs of all of them are looked at, and
the names of one are needed. The first values on the screen wait for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import orjson

TOPICS = ("reward", "kl", "advantages", "loss", "generation", "validation", "config")
FORKS = {"verl_0_2": "verl", "trl_ppo": "trl", "online_dpo": "trl", "unsloth": "trl", "async_grpo": "trl"}
"""Dialects that share another's code."""
TRAINERS = ("grpo", "rloo", "ppo", "dpo", "kto", "online_dpo")
"""Algorithms that have a trainer file of their own in TRL; the others are settings of the first."""


@lru_cache(maxsize=1)
def _places() -> Mapping[str, Mapping[str, list[str]]]:
    data: dict[str, dict[str, list[str]]] = json.loads(
        (files("rltui.frameworks") / "data" / "code_places.json").read_bytes()
    )
    return data


def code_places(framework: str | None, algorithm: str | None, topic: str) -> tuple[str, ...]:
    """Files or directories of `topic` in this framework; empty where none is known."""
    name = (framework or "").lower().replace("-", "_")
    known = _places().get(FORKS.get(name, name), {}).get(topic, ())
    asked = (algorithm or "").lower().replace("-", "_").replace(" ", "_")
    trainer = asked if asked in TRAINERS else TRAINERS[0]
    return tuple(path.replace("{algorithm}", trainer) for path in known)


GENERIC = "generic"
"""The dialect of home-made training loops; its exact aliases are the last resort of every other dialect."""

_DATA = Path(__file__).with_name("data")


class Metric(NamedTuple):
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


class Phase(NamedTuple):
    """A part of a training step. `usual`: share of the step it usually takes, with the reason in `why`."""

    name: str
    label: str
    meaning: str
    usual: tuple[float, float] | None = None
    why: str = ""


class Signs(NamedTuple):
    """What gives a dialect away. Key and config signs are regexes (see `compiled`), text signs plain strings."""

    keys: tuple[str, ...]
    not_keys: tuple[str, ...]  # any of them excludes the dialect
    need_keys: tuple[str, ...]  # none of them excludes it
    all_keys: tuple[str, ...]  # count only together
    config: tuple[str, ...]
    text: tuple[str, ...]


class PhaseRules(NamedTuple):
    """Phase -> its keys (an alias starting with "re:" is a regex). `outside`: by version, phases that run beside the
    step; `nested`: phases inside another one; `sum`: there is no key of the whole step, it is the sum of its phases."""

    keys: dict[str, tuple[str, ...]]
    outside: tuple[tuple[str, tuple[str, ...]], ...]
    nested: dict[str, str]
    sum: bool
    note: str


class Trap(NamedTuple):
    """What is easily misread about a metric in this framework: from a version on, before a version (None: any)."""

    metric: str
    text: str
    since: str | None = None
    before: str | None = None


class CheckpointRules(NamedTuple):
    """How checkpoint directories are called (regex, group 1 the step), and those that are still being written."""

    dirs: tuple[re.Pattern[str], ...] = ()
    partial: tuple[re.Pattern[str], ...] = ()


class InactiveRule(NamedTuple):
    """The config value `config` has no effect while `when` holds one of `values` (None: not set; `negate`: none of
    them)."""

    config: str
    when: str
    values: tuple[object, ...]
    note: str
    negate: bool = False


class Support(NamedTuple):
    """How well one part of a framework's runs is read, and what that was shown on: a real log, output of the
    framework's own writer, or lines built to its format string."""

    state: str  # "yes" | "partly" | "no"
    shown: str = ""  # "real" | "writer" | "built"
    note: str = ""


class Dialect:
    """All names of one framework, those of the dialect that it extends included."""

    def __init__(self, name: str, data: dict[str, Any], base: Dialect | None) -> None:
        self._data = data
        self._base = base
        self.name = name
        self.title: str = data["title"]
        self.label: str = data.get("label", data["title"])  # with what tells it from others of the framework
        self.framework: str = data["framework"]
        self.family: str = data["family"]
        self.bases: tuple[str, ...] = (base.name, *base.bases) if base else ()
        self.algorithm: str | None = data.get("algorithm")  # what it trains with, where it knows one algorithm only

    @cached_property
    def prefixes(self) -> tuple[tuple[str, str], ...]:
        if "prefixes" in self._data:
            return tuple((p[0], p[1]) for p in self._data["prefixes"])
        return self._base.prefixes if self._base else ()

    @cached_property
    def signs(self) -> Signs:
        return Signs(*(tuple(self._data.get("detect", {}).get(part, ())) for part in Signs._fields))

    @cached_property
    def versions(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Versions, and the keys (regexes) that tell them; of another framework that this one builds on with its name
        before them."""
        own = tuple((entry["version"], tuple(entry["keys"])) for entry in self._data.get("versions", []))
        if self._base is None:
            return own
        of = "" if self._base.framework == self.framework else f"{self._base.title} "
        return own + tuple((of + version, keys) for version, keys in self._base.versions)

    @cached_property
    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Canonical -> keys, the preferred one first."""
        order = {metric: i for i, metric in enumerate(metrics())}
        merged = _merge(self._data["metrics"], self._base.aliases if self._base else {})
        return dict(sorted(merged.items(), key=lambda item: order[item[0]]))

    @cached_property
    def exact(self) -> dict[str, str]:
        """Key -> canonical."""
        return _exact(self.aliases)

    @cached_property
    def patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """(canonical, regex), in order of preference."""
        return _patterns(self.aliases)

    @cached_property
    def convert(self) -> dict[str, tuple[float, float]]:
        """Key -> (a, b): canonical value = a * value + b."""
        own = {key: (v[0], v[1]) for key, v in self._data.get("convert", {}).items()}
        return {**(self._base.convert if self._base else {}), **own}

    @cached_property
    def phases(self) -> PhaseRules:
        timing = self._data.get("phases", {})
        base = self._base.phases if self._base else PhaseRules({}, (), {}, False, "")
        outside = timing.get("outside")
        return PhaseRules(
            keys=_merge(timing.get("keys", {}), base.keys),
            outside=base.outside
            if outside is None
            else tuple((entry["version"], tuple(entry["phases"])) for entry in outside),
            nested=dict(timing.get("nested", base.nested)),
            sum=timing.get("sum", False),
            note=timing.get("note", base.note),
        )

    @cached_property
    def phase_exact(self) -> dict[str, str]:
        return _exact(self.phases.keys)

    @cached_property
    def phase_patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return _patterns(self.phases.keys)

    @cached_property
    def config(self) -> dict[str, tuple[str, ...]]:
        own = {key: tuple(names) for key, names in self._data.get("config", {}).items()}
        return {**(self._base.config if self._base else {}), **own}

    @cached_property
    def inactive(self) -> tuple[InactiveRule, ...]:
        if "inactive" in self._data:
            return tuple(_inactive(rule) for rule in self._data["inactive"])
        return self._base.inactive if self._base else ()

    @cached_property
    def checkpoints(self) -> CheckpointRules:
        saved = self._data.get("checkpoints")
        if saved:
            return CheckpointRules(_regexes(saved["dirs"]), _regexes(saved.get("partial", [])))
        return self._base.checkpoints if self._base else CheckpointRules()

    @cached_property
    def groups(self) -> dict[str, str]:
        """First part of a key -> group, where it differs from what it is elsewhere."""
        return {**(self._base.groups if self._base else {}), **self._data.get("groups", {})}

    @cached_property
    def traps(self) -> tuple[Trap, ...]:
        own = [Trap(t["metric"], t["text"], t.get("from"), t.get("before")) for t in self._data.get("traps", [])]
        return (*own, *(self._base.traps if self._base else ()))

    @cached_property
    def samples(self) -> tuple[re.Pattern[str], ...]:
        """Paths of the files that hold prompts and completions."""
        if "samples" in self._data:
            return _regexes(self._data["samples"])
        return self._base.samples if self._base else ()

    @cached_property
    def support(self) -> dict[str, Support]:
        """Part of a run -> how well it is read; of the framework's own file only."""
        return {part: Support(*said) for part, said in self._data.get("support", {}).items()}


def _json(*path: str) -> Any:
    return orjson.loads(_DATA.joinpath(*path).read_bytes())


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


class Algorithms(NamedTuple):
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


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A regex, once it is needed."""
    return re.compile(pattern)


def _regexes(items: list[str]) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(item) for item in items)


def _is_regex(alias: str) -> bool:
    return alias.startswith("re:")


def _exact(aliases: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """Key -> name. A key that several names list belongs to the one that lists it first of all."""
    rank: dict[str, int] = {}
    exact: dict[str, str] = {}
    for name, keys in aliases.items():
        for position, key in enumerate(keys):
            if not _is_regex(key) and (key not in rank or position < rank[key]):
                rank[key], exact[key] = position, name
    return exact


def _patterns(aliases: dict[str, tuple[str, ...]]) -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(key[3:])) for name, keys in aliases.items() for key in keys if _is_regex(key))


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
    return Dialect(name, data, dialect(data["extends"]) if "extends" in data else None)

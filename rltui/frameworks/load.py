"""The data files, each read once: metrics, phases, config keys, algorithms, and one file for each framework.

The first values on the screen wait until the framework is known, so each file is read and checked only when it is
needed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from rltui.data_files import Key, decode, read, wrong
from rltui.frameworks.dialect import Dialect
from rltui.frameworks.schema import GENERIC, PHASE, REGEX, Algorithms, Framework, Group, Metric, Phase
from rltui.frameworks.spelling import spellings

Wrong = tuple[list[Key], str]
"""A place in a file (keys and indices from the top), and what is wrong there."""


Kind = Literal["metric", "phase", "setting", "lever", "framework"]


def misnamed(said: Framework, known: Mapping[Kind, Collection[str]]) -> Iterator[Wrong]:
    """Yields errors for names that the other data files do not hold. `known`: the names that they hold."""
    for kind, name, place in _names(said):
        if name not in known[kind]:
            yield list(place), f"no {kind} is called {name!r}"


def _names(said: Framework) -> Iterator[tuple[Kind, str, tuple[Key, ...]]]:
    for field, other in (("extends", said.extends), ("framework", said.framework), ("family", said.family)):
        if other is not None:
            yield "framework", other, (field,)
    for name in said.metrics:
        yield "metric", name, ("metrics", name)
    for name in said.config:
        yield "setting", name, ("config", name)
    for name in said.phases.keys:
        yield "phase", name, ("phases", "keys", name)
    for inner, outer in (said.phases.nested or {}).items():
        yield "phase", inner, ("phases", "nested", inner)
        yield "phase", outer, ("phases", "nested", inner)
    for i, outside in enumerate(said.phases.outside or ()):
        for j, name in enumerate(outside.phases):
            yield "phase", name, ("phases", "outside", i, "phases", j)
    for i, trap in enumerate(said.traps):
        yield "metric", trap.metric, ("traps", i, "metric")
    for i, rule in enumerate(said.inactive or ()):
        yield "setting", rule.config, ("inactive", i, "config")
        yield "setting", rule.when, ("inactive", i, "when")
    for name in said.levers:
        yield "lever", name, ("levers", name)
    for name in said.enable:
        kind: Kind = "phase" if name.startswith(PHASE) else "metric"
        yield kind, name.removeprefix(PHASE), ("enable", name)


def no_regexes(said: Framework) -> Iterator[Wrong]:
    """Yields errors for texts that are not valid regexes."""
    for place, pattern in _regexes(said):
        try:
            re.compile(pattern)
        except re.error as error:
            yield place, f"no regex: {error}"


def _regexes(said: Framework) -> Iterator[tuple[list[Key], str]]:
    for field in ("keys", "not_keys", "need_keys", "all_keys", "config"):
        yield from _each(["detect", field], getattr(said.detect, field))
    for i, version in enumerate(said.versions):
        yield from _each(["versions", i, "keys"], version.keys)
    for place, names in ((["metrics"], said.metrics), (["phases", "keys"], said.phases.keys)):
        for canonical, keys in names.items():
            for i, key in enumerate(keys):
                if key.startswith(REGEX):
                    yield [*place, canonical, i], key[len(REGEX) :]
    if said.checkpoints is not None:
        yield from _each(["checkpoints", "dirs"], said.checkpoints.dirs)
        yield from _each(["checkpoints", "partial"], said.checkpoints.partial)
    yield from _each(["samples"], said.samples or ())


def _each(place: list[Key], patterns: Iterable[str]) -> Iterator[tuple[list[Key], str]]:
    return (([*place, i], pattern) for i, pattern in enumerate(patterns))


_DATA = Path(__file__).with_name("data")


@cache
def metrics() -> dict[str, Metric]:
    """Canonical name -> metric, in the order in which a tie between two of them is decided."""
    found = read(_DATA / "metrics.json", dict[str, Metric])
    return {name: replace(metric, name=name) for name, metric in found.items()}


@cache
def phases() -> dict[str, Phase]:
    """Name -> part of a training step, in the order in which a step runs the parts."""
    found = read(_DATA / "phases.json", dict[str, Phase])
    return {name: replace(phase, name=name) for name, phase in found.items()}


@cache
def config_meanings() -> dict[str, str]:
    """Canonical config key -> meaning."""
    return read(_DATA / "config.json", dict[str, str])


@cache
def levers() -> dict[str, str]:
    """Name -> meaning of what a remedy may change. Each framework has its own settings for it (`Framework.levers`)."""
    return read(_DATA / "levers.json", dict[str, str])


def first_key(settings: str | None) -> str:
    """The first key of the settings of a lever: `a.b` for `a.b, a.c=False`; empty if there are none."""
    return re.split(r",? |=", settings or "", maxsplit=1)[0]


def lever(name: str) -> str:
    """Returns the name of a lever unchanged. Raises ValueError if no lever has this name."""
    if name and name not in levers():
        raise ValueError(f"no lever is called {name!r}")
    return name


def settings_by_framework(name: str) -> dict[str, str]:
    """Framework -> its settings for a lever, for frameworks whose own file states them."""
    said = {framework: _framework(framework).levers.get(name) for framework in dialect_names()}
    return {framework: settings for framework, settings in said.items() if settings}


@cache
def algorithms() -> Algorithms:
    """How an algorithm is recognised."""
    return read(_DATA / "algorithms.json", Algorithms)


@cache
def prefix_groups() -> dict[str, Group]:
    """First part or parts of a key -> group, for keys that no dialect knows."""
    return read(_DATA / "groups.json", dict[str, Group])


@cache
def dialect_names() -> tuple[str, ...]:
    """The names of all framework files, sorted."""
    names = (entry.name for entry in (_DATA / "frameworks").iterdir())
    return tuple(sorted(name[:-5] for name in names if name.endswith(".json")))


@cache
def dialect(name: str | None) -> Dialect:
    """The dialect of this name; the generic one for None and for a name without a file. Raises DataError."""
    if name not in dialect_names() or name is None:
        return dialect(GENERIC)
    said = _framework(name)
    _no_circle(name)
    return Dialect(name, said, dialect(said.extends) if said.extends else None, tuple(metrics()))


def check() -> int:
    """Reads and checks every data file. Returns the number of files. Raises DataError."""
    whole = (metrics, phases, config_meanings, levers, algorithms, prefix_groups, spellings)
    for read_it in whole:
        read_it()
    for name in dialect_names():
        dialect(name)
        for keys, problem in no_regexes(_framework(name)):
            raise wrong(_file(name).read_bytes(), str(_file(name)), keys, problem)
    return len(whole) + len(dialect_names())


def _file(name: str) -> Path:
    return _DATA / "frameworks" / f"{name}.json"


@cache
def _framework(name: str) -> Framework:
    text = _file(name).read_bytes()
    said = decode(text, Framework, str(_file(name)))
    known: dict[Kind, Collection[str]] = {
        "metric": metrics(),
        "phase": phases(),
        "setting": config_meanings(),
        "lever": levers(),
        "framework": dialect_names(),
    }
    for keys, problem in misnamed(said, known):
        raise wrong(text, str(_file(name)), keys, problem)
    return said


def _no_circle(name: str) -> None:
    seen = [name]
    while (other := _framework(seen[-1]).extends) is not None:
        if other in seen:
            raise wrong(_file(name).read_bytes(), str(_file(name)), ["extends"], f"a circle: {', '.join(seen)}")
        seen.append(other)


def enable(metric: str, name: str | None) -> str:
    """How to make the framework log a metric, in words or config keys. `name`: the dialect."""
    return dialect(name).enable.get(metric) or dialect(GENERIC).enable.get(
        metric, f"log {metric} from the training loop"
    )


def keep_samples(name: str | None) -> str:
    """How to make the framework write prompts and completions."""
    return dialect(name).keep_samples or dialect(GENERIC).keep_samples

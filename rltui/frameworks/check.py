"""What the types cannot say of a framework's file: its names are those of the other files, its regexes are some."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Literal

from rltui.data_files import Key
from rltui.frameworks.schema import PHASE, REGEX, Framework

Wrong = tuple[list[Key], str]
"""Where in the file (names and indices from the top), and what is wrong there."""


Kind = Literal["metric", "phase", "setting", "framework"]


def misnamed(said: Framework, known: Mapping[Kind, Collection[str]]) -> Iterator[Wrong]:
    """Names that no other data file holds. `known`: those that they do."""
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
    for name in said.enable:
        kind: Kind = "phase" if name.startswith(PHASE) else "metric"
        yield kind, name.removeprefix(PHASE), ("enable", name)


def no_regexes(said: Framework) -> Iterator[Wrong]:
    """Regexes that are none."""
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

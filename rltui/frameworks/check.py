"""What the types cannot say of a framework's file: its names are those of the other files, its regexes are some."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from rltui.data_files import Key
from rltui.frameworks.schema import PHASE, REGEX, Framework

Wrong = tuple[list[Key], str]
"""Where in the file (names and indices from the top), and what is wrong there."""


class Known(NamedTuple):
    """The names that the other data files hold."""

    metrics: Collection[str]
    phases: Collection[str]
    settings: Collection[str]
    frameworks: Collection[str]


def misnamed(said: Framework, known: Known) -> Iterator[Wrong]:
    """Names that no other data file holds."""
    for field, other in (("extends", said.extends), ("framework", said.framework), ("family", said.family)):
        if other is not None:
            yield from _not_in(known.frameworks, [([field], other)], "framework")
    timed = {metric: metric.removeprefix(PHASE) for metric in said.enable if metric.startswith(PHASE)}
    yield from _not_in(known.metrics, [(["metrics", name], name) for name in said.metrics], "metric")
    yield from _not_in(known.metrics, [(["traps", i, "metric"], t.metric) for i, t in enumerate(said.traps)], "metric")
    yield from _not_in(known.metrics, [(["enable", n], n) for n in said.enable if n not in timed], "metric")
    yield from _not_in(known.phases, [(["enable", name], phase) for name, phase in timed.items()], "phase")
    yield from _not_in(known.phases, [(["phases", "keys", name], name) for name in said.phases.keys], "phase")
    for inner, outer in (said.phases.nested or {}).items():
        yield from _not_in(known.phases, [(["phases", "nested", inner], name) for name in (inner, outer)], "phase")
    for i, outside in enumerate(said.phases.outside or ()):
        place: list[Key] = ["phases", "outside", i, "phases"]
        yield from _not_in(known.phases, [([*place, j], name) for j, name in enumerate(outside.phases)], "phase")
    yield from _not_in(known.settings, [(["config", name], name) for name in said.config], "setting")
    for i, rule in enumerate(said.inactive or ()):
        for field, name in (("config", rule.config), ("when", rule.when)):
            yield from _not_in(known.settings, [(["inactive", i, field], name)], "setting")


def _not_in(known: Collection[str], names: Iterable[tuple[list[Key], str]], what: str) -> Iterator[Wrong]:
    return ((place, f"no {what} is called {name!r}") for place, name in names if name not in known)


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

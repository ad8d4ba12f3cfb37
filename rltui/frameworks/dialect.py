"""One framework with all that it inherits from those that it extends. Each field is computed on first use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

from msgspec import structs

from rltui.frameworks.schema import (
    GENERIC,
    REGEX,
    Checkpoints,
    Conventions,
    Framework,
    Group,
    Inactive,
    Names,
    Ran,
    Signs,
    Support,
    Timers,
    Topic,
    Trap,
    Version,
    WaitKeys,
)
from rltui.records import cached


class Dialect:
    """All names of one framework, including those of the dialect that it extends. See `Framework` for the fields."""

    def __init__(self, name: str, said: Framework, base: Dialect | None, order: Sequence[str]) -> None:
        """`order`: all metrics, in the order in which a tie between two of them is decided."""
        self._said = said
        self._base = base
        self._order = order
        self.name = name
        self.title = said.title
        self.label = said.label or said.title
        self.framework = said.framework or name
        self.family = said.family or self.framework
        self.bases: tuple[str, ...] = (base.name, *base.bases) if base else ()
        self.algorithm = said.algorithm
        self.signs: Signs = said.detect
        self.widely_used = said.widely_used
        self.processes = said.processes  # its own only

    @cached
    def prefixes(self) -> tuple[tuple[str, str], ...]:
        own = self._said.prefixes
        return own if own is not None else self._base.prefixes if self._base else ()

    @cached
    def versions(self) -> tuple[Version, ...]:
        """The versions, own ones first. Versions of another framework that this one extends get its title as prefix."""
        if self._base is None:
            return self._said.versions
        of = "" if self._base.framework == self.framework else f"{self._base.title} "
        return (*self._said.versions, *(Version(of + v.version, v.keys) for v in self._base.versions))

    @cached
    def aliases(self) -> Names:
        """Canonical -> keys, the preferred one first."""
        merged = _merge(self._said.metrics, self._base.aliases if self._base else {})
        return {metric: merged[metric] for metric in self._order if metric in merged}

    @cached
    def exact(self) -> dict[str, str]:
        """Key -> canonical."""
        return _exact(self.aliases)

    @cached
    def patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        """(canonical, regex), the preferred one first."""
        return _patterns(self.aliases)

    @cached
    def convert(self) -> dict[str, tuple[float, float]]:
        return {**(self._base.convert if self._base else {}), **self._said.convert}

    @cached
    def phases(self) -> Timers:
        own, base = self._said.phases, self._base.phases if self._base else Timers()
        return Timers(
            keys=_merge(own.keys, base.keys),
            outside=base.outside if own.outside is None else own.outside,
            nested=base.nested if own.nested is None else own.nested,
            sum=own.sum,
            note=base.note if own.note is None else own.note,
        )

    @cached
    def phase_exact(self) -> dict[str, str]:
        return _exact(self.phases.keys)

    @cached
    def phase_patterns(self) -> tuple[tuple[str, re.Pattern[str]], ...]:
        return _patterns(self.phases.keys)

    @cached
    def config(self) -> Names:
        return {**(self._base.config if self._base else {}), **self._said.config}

    @cached
    def inactive(self) -> tuple[Inactive, ...]:
        own = self._said.inactive
        return own if own is not None else self._base.inactive if self._base else ()

    @cached
    def conventions(self) -> Conventions:
        own = {name: value for name, value in structs.asdict(self._said.conventions).items() if value is not None}
        return structs.replace(self._base.conventions if self._base else Conventions(), **own)

    @cached
    def checkpoints(self) -> Checkpoints:
        own = self._said.checkpoints
        return own if own is not None else self._base.checkpoints if self._base else Checkpoints()

    @cached
    def groups(self) -> dict[str, Group]:
        return {**(self._base.groups if self._base else {}), **self._said.groups}

    @cached
    def traps(self) -> tuple[Trap, ...]:
        return (*self._said.traps, *(self._base.traps if self._base else ()))

    @cached
    def samples(self) -> tuple[re.Pattern[str], ...]:
        own = self._said.samples
        if own is None:
            return self._base.samples if self._base else ()
        return tuple(compiled(pattern) for pattern in own)

    @cached
    def keep_samples(self) -> str:
        """How to make the framework write prompts and completions; empty if unknown."""
        own = self._said.keep_samples
        return own if own is not None else self._base.keep_samples if self._base else ""

    @cached
    def _kin(self) -> Dialect | None:
        """The dialect that it extends, if both are of one family."""
        return self._base if self._base is not None and self._base.family == self.family else None

    @cached
    def enable(self) -> dict[str, str]:
        return {**(self._kin.enable if self._kin else {}), **self._said.enable}

    @cached
    def levers(self) -> dict[str, str]:
        """What a remedy changes -> the settings that change it."""
        return {**(self._kin.levers if self._kin else {}), **self._said.levers}

    def settings_of(self, lever: str, setting: str = "") -> str | None:
        """The settings of a lever, else the key of its canonical `setting`. None if neither is known: a home-made loop
        may give it any name."""
        if lever in self.levers:
            return self.levers[lever]
        known = () if self.name == GENERIC else self.config.get(setting, ())
        return known[0] if known else None

    @cached
    def waits(self) -> WaitKeys:
        own, base = self._said.waits, self._base.waits if self._base else WaitKeys()
        return WaitKeys(own.trainer + base.trainer, own.sampler + base.sampler)

    @cached
    def _code(self) -> Mapping[Topic, tuple[str, ...]]:
        own = self._said.code
        return own if own is not None else self._base._code if self._base else {}

    @cached
    def _trainers(self) -> tuple[str, ...]:
        own = self._said.trainers
        return own if own is not None else self._base._trainers if self._base else ()

    def code(self, topic: Topic, algorithm: str | None) -> tuple[str, ...]:
        """Files or folders of a topic in the framework's code; empty if unknown."""
        asked = (algorithm or "").lower().replace("-", "_").replace(" ", "_")
        trainer = asked if asked in self._trainers else next(iter(self._trainers), "")
        return tuple(path.replace("{trainer}", trainer) for path in self._code.get(topic, ()))

    @property
    def ran(self) -> Ran | None:
        return self._said.ran

    @property
    def support(self) -> dict[str, Support]:
        """Part of a run -> how well it is read; only from the framework's own file."""
        return structs.asdict(self._said.support)


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled regex, cached."""
    return re.compile(pattern)


def _exact(aliases: Names) -> dict[str, str]:
    """Key -> name. If several names list a key, it belongs to the name that lists it nearest to the front."""
    rank: dict[str, int] = {}
    exact: dict[str, str] = {}
    for name, keys in aliases.items():
        for position, key in enumerate(keys):
            if not key.startswith(REGEX) and (key not in rank or position < rank[key]):
                rank[key], exact[key] = position, name
    return exact


def _patterns(aliases: Names) -> tuple[tuple[str, re.Pattern[str]], ...]:
    regexes = ((name, key) for name, keys in aliases.items() for key in keys if key.startswith(REGEX))
    return tuple((name, compiled(key[len(REGEX) :])) for name, key in regexes)


def _merge(own: Names, base: Names) -> Names:
    """Merges aliases, own ones before inherited ones. A key that the dialect lists itself is dropped from the names
    under which the base lists it."""
    taken = {key for keys in own.values() for key in keys}
    out = {}
    for name in [*own, *(n for n in base if n not in own)]:
        inherited = (key for key in base.get(name, ()) if key not in taken)
        keys = tuple(dict.fromkeys([*own.get(name, ()), *inherited]))
        if keys:
            out[name] = keys
    return out

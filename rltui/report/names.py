"""The names of a run's raw keys in its report, and the newest values under these names before there is a report. The
imports are light, because the first values on the screen wait for them."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from rltui.discovery.found import Found


class Named(Protocol):
    """What must be known about a key's name: see `rltui.run.names.MetricName`."""

    @property
    def canonical(self) -> str | None: ...

    @property
    def member(self) -> str: ...


def report_names(
    names: Mapping[str, Named], keys: Collection[str], judged: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Raw key -> name in the report, for every key; names are unique. A known key has its canonical name. If several
    keys of the run share one, the key that the diagnosis uses keeps it (`judged`: canonical name -> key), else the
    first one without a member; the others are `canonical:member` (validation sets, reward functions), or the raw key if
    there is no member. An unknown key keeps its own name."""
    out: dict[str, str] = {}
    taken: set[str] = set()
    for key, best in _wanted(names, keys).items():
        name = names.get(key)
        choices = [key] if name is None or name.canonical is None else [best, key, f"{name.canonical}:{key}"]
        if len(choices) > 1 and (judged or {}).get(best, key) != key:
            del choices[0]
        out[key] = next((choice for choice in choices if choice not in taken), f"{key} ({len(out)})")
        taken.add(out[key])
    return out


def sharing(
    names: Mapping[str, Named], keys: Collection[str], sources: Callable[[str], list[str]]
) -> dict[str, list[str]]:
    """The names in the report that several keys want, with these keys. `sources` gives the order of the keys of a
    canonical name."""
    found: dict[str, list[str]] = {}
    for key, best in _wanted(names, keys).items():
        found.setdefault(best, []).append(key)
    shared = {best: own for best, own in found.items() if len(own) > 1}
    return {best: [key for key in sources(best) if key in own] or own for best, own in shared.items()}


def _wanted(names: Mapping[str, Named], keys: Collection[str]) -> dict[str, str]:
    """Raw key -> the name that it gets unless another key wants the same."""
    known = {key: name for key in keys if (name := names.get(key)) is not None and name.canonical is not None}
    keys_of = Counter(name.canonical for name in known.values())
    out = {key: key for key in keys}
    for key, name in known.items():
        alone = keys_of[name.canonical] == 1 or not name.member
        out[key] = str(name.canonical) if alone else f"{name.canonical}:{name.member}"
    return out


class FirstValue(NamedTuple):
    """The newest values of one metric, under its name in the report. `values`: those of the last rows, the newest last;
    NaN if one was logged as NaN or infinity."""

    key: str
    label: str
    unit: str
    group: str
    canonical: str | None
    values: array[float]

    @property
    def last_value(self) -> float | None:
        """The last logged value; None if it was not finite."""
        return self.values[-1] if self.values[-1] == self.values[-1] else None


class FirstValues(NamedTuple):
    """What the screen shows about a run before it is read whole. `first_step`, `last_step`: those of the rows at its
    end."""

    id: str
    path: str
    framework: str | None
    metrics: Mapping[str, FirstValue]
    first_step: int
    last_step: int
    bytes: int


def first_values(found: Found, key_map: Mapping[str, str]) -> FirstValues | None:
    """The first values of a run; None if `session.newest` has none."""
    from rltui.session.newest import newest

    seen = newest(found, key_map)
    if seen is None:
        return None
    names = seen.names.meanings
    shared = sharing(names, seen.values, seen.names.sources)
    judged = {name: next((key for key in own if any(seen.values[key])), own[0]) for name, own in shared.items()}
    called = report_names(names, seen.values, judged)
    return FirstValues(
        id=seen.id,
        path=seen.path,
        framework=seen.framework,
        metrics={
            called[key]: FirstValue(key, name.label, name.unit, name.group, name.canonical, values)
            for key, values in seen.values.items()
            for name in [names[key]]
        },
        first_step=seen.first_step,
        last_step=seen.last_step,
        bytes=seen.bytes,
    )

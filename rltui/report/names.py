"""How the raw keys of a run are called in its report. Light to import: the first values on the screen wait for it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Protocol


class Named(Protocol):
    """What is asked of a key's name: see `rltui.run.names.MetricName`."""

    @property
    def canonical(self) -> str | None: ...

    @property
    def member(self) -> str: ...


def report_names(
    names: Mapping[str, Named], keys: Collection[str], judged: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Raw key -> name in the report, for every key; names are unique.

    A key that the vocabulary knows goes under its canonical name. Where several keys of the run share a canonical
    name, the one that the diagnosis goes by keeps it (`judged`: canonical name -> key), else the first one without a
    member; the others are `canonical:member` (validation sets, reward functions), or the raw key where there is no
    member. A key that the vocabulary does not know keeps its own name.
    """
    keys_of: dict[str, int] = {}
    for key in keys:
        name = names.get(key)
        if name is not None and name.canonical is not None:
            keys_of[name.canonical] = keys_of.get(name.canonical, 0) + 1
    out: dict[str, str] = {}
    taken: set[str] = set()
    for key in keys:
        name = names.get(key)
        choices = [key]
        if name is not None and name.canonical is not None:
            alone = keys_of[name.canonical] == 1
            best = name.canonical if alone or not name.member else f"{name.canonical}:{name.member}"
            choices = [best, key, f"{name.canonical}:{key}"]
            if best == name.canonical and (judged or {}).get(best, key) != key:
                del choices[0]
        out[key] = next((choice for choice in choices if choice not in taken), f"{key} ({len(out)})")
        taken.add(out[key])
    return out


def sharing(
    names: Mapping[str, Named], keys: Collection[str], sources: Callable[[str], list[str]]
) -> dict[str, list[str]]:
    """Canonical names that several keys without a member share, with these keys in the order of `sources`."""
    found: dict[str, set[str]] = {}
    for key in keys:
        name = names.get(key)
        if name is not None and name.canonical is not None and not name.member:
            found.setdefault(name.canonical, set()).add(key)
    shared = {name: [key for key in sources(name) if key in own] for name, own in found.items() if len(own) > 1}
    return {name: own for name, own in shared.items() if own}

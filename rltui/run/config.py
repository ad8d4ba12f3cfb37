"""The run's config: every key as its container has it, and the canonical keys with their names in this framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rltui.frameworks.dialect import Dialect
from rltui.frameworks.load import dialect
from rltui.frameworks.schema import GENERIC, Inactive
from rltui.frameworks.spelling import spellings
from rltui.run.changed import Changed
from rltui.text import clean, redact_value

_TEXT_LIMIT = 500


class ConfigValue(Struct, frozen=True):
    """A config value. `key` is as the user wrote it; `active` is false if the value has no effect (a KL
    coefficient while the KL loss is off), and `note` says why."""

    value: object
    key: str
    source: str
    active: bool = True
    note: str = ""


_Known = tuple[dict[str, ConfigValue], dict[str, ConfigValue]]


class Config:
    """The values of all sources. A later source wins, but an empty value (None) never hides another."""

    def __init__(self) -> None:
        self.raw: dict[str, ConfigValue] = {}
        self._steps: list[ConfigValue] = []
        self._leaves: tuple[object, dict[str, list[tuple[str, ConfigValue]]]] | None = None
        self._asked: tuple[object, dict[str, _Known]] | None = None

    def add(self, values: Mapping[str, object], source: str) -> None:
        """Takes flat dotted keys. Secrets and control characters are removed."""
        merged = dict(self.raw)
        for key, value in values.items():
            name = clean(str(key), _TEXT_LIMIT)
            entry = ConfigValue(_safe(name, value), name, source)
            if entry.value is not None or name not in merged:
                merged[name] = entry
            if entry.value is not None:
                self._steps.append(entry)
        self._steps = [e for e in self._steps if isinstance(e.value, int | float)][-4096:]
        self.raw = merged

    def resolved(self, name: str) -> dict[str, ConfigValue]:
        """Canonical key -> value, for the dialect of that name. Settings that are not found under the dialect's names
        are looked for under plain ones: a loop that logs in a framework's words may have its own names for its
        settings."""
        if not self.raw:
            return {}
        known, plain = self._of(name)
        if not known and name != GENERIC:
            return self.resolved(GENERIC)
        out, names = known | plain, dialect(name)
        return {canonical: _judged(canonical, entry, out, names) for canonical, entry in out.items()}

    def _of(self, name: str) -> _Known:
        """The settings that this dialect knows under its own names, and those under plain names. Kept, as every row
        asks for them."""
        if self._asked is None or self._asked[0] is not self.raw:
            self._asked = self.raw, {}
        asked = self._asked[1]
        if name not in asked:
            known = self._known_to(name)
            asked[name] = known, {} if name == GENERIC else self._plain(name, known)
        return asked[name]

    def _known_to(self, name: str) -> dict[str, ConfigValue]:
        """Canonical key -> value, for the keys that this dialect knows."""
        if not self.raw:
            return {}
        by_name = {normalized(key): key for key in self.raw}
        out: dict[str, ConfigValue] = {}
        for canonical, spelt in _spelt(name).items():
            held = [self.raw[by_name[key]] for key in spelt.keys if key in by_name]
            held = held or self._nested(spelt.keys)
            held = held or [self.raw[by_name[end]] for end in spelt.ends if end in by_name][:1]
            said = [entry for entry in held if entry.value is not None]
            if said or held:
                out[canonical] = (said or held)[0]
        return out

    def _plain(self, name: str, found: Mapping[str, ConfigValue]) -> dict[str, ConfigValue]:
        """Settings of the dialect for which this config has none of the dialect's names, but a plain top-level name
        that means nothing else in the dialect."""
        own = _spelt(name)
        theirs = {key for spelt in own.values() for key in spelt.keys}
        taken = {entry.key for entry in found.values()}
        by_name = {normalized(key): key for key in self.raw if key not in taken and normalized(key) not in theirs}
        out = {}
        for canonical, spelt in _spelt(GENERIC).items():
            held = [self.raw[by_name[key]] for key in spelt.keys if key in by_name]
            said = [entry for entry in held if entry.value is not None]
            if said and canonical in own and canonical not in found:
                out[canonical] = said[0]
        return out

    def _strange_to(self, name: str) -> bool:
        """Whether this dialect knows none of the keys, so that the generic dialect is used."""
        return name != GENERIC and bool(self.raw) and not self._of(name)[0]

    def _nested(self, keys: Iterable[str]) -> list[ConfigValue]:
        """The value of a key below other names (`optim.lr`); empty if those names belong to another model or several
        values differ."""
        below = self._below()
        for key in keys if below else ():
            held = [e for name, e in below.get(key.rpartition(".")[2], ()) if name.endswith(f".{key}")]
            said = [entry for entry in held if entry.value is not None]
            if said and all(entry.value == said[0].value for entry in said):
                return said[-1:]
        return []

    def _below(self) -> Mapping[str, list[tuple[str, ConfigValue]]]:
        """Last part of a dotted key -> the keys with this last part, and their values."""
        if self._leaves is None or self._leaves[0] is not self.raw:
            leaves: dict[str, list[tuple[str, ConfigValue]]] = {}
            for name, entry in self.raw.items():
                *above, leaf = normalized(name).split(".")
                if above and not spellings().other_parts.intersection(
                    word for part in above for word in part.split("_")
                ):
                    leaves.setdefault(leaf, []).append((f".{normalized(name)}", entry))
            self._leaves = self.raw, leaves
        return self._leaves[1]

    def before(self, changes: Iterable[Changed]) -> Config:
        """The config before these changes (newest first). A change that another source overrode is left out."""
        raw = dict(self.raw)
        for one in changes:
            entry = raw.get(one.key)
            if entry is None or _safe(one.key, one.now) != entry.value:
                continue
            if one.before is None:
                del raw[one.key]
            else:
                raw[one.key] = replace(entry, value=_safe(one.key, one.before))
        earlier = Config()
        earlier.raw = raw
        return earlier

    def positive(self, name: str, canonical: str) -> float | None:
        """The positive number that was added last for a canonical key. Sources may differ: a launch sets `max_steps` to
        -1, and the trainer's state file records the number that it computed."""
        name = GENERIC if self._strange_to(name) else name
        spelt = _spelt(name).get(canonical)
        keys = set(spelt.keys) if spelt is not None else set()
        if (plain := self._of(name)[1].get(canonical)) is not None:
            keys = {normalized(plain.key)}
        keyed = ((normalized(e.key), e.value) for e in reversed(self._steps))
        values = (value for key, value in keyed if key in keys or _of_training(key) in keys)
        return next((v for v in values if isinstance(v, int | float) and not isinstance(v, bool) and v > 0), None)


def normalized(key: str) -> str:
    """One spelling for `--eps-clip` and `eps_clip`."""
    return key.lstrip("-").replace("-", "_")


class _Spelt(NamedTuple):
    """The keys of a setting in one spelling, and the ends of their paths (`actor.optim.lr` without its outermost parts)
    that no other setting shares."""

    keys: tuple[str, ...]
    ends: tuple[str, ...]


@lru_cache(maxsize=64)
def _spelt(name: str) -> Mapping[str, _Spelt]:
    """The settings of a dialect. Cached, because the runs of a sweep ask for the same ones."""
    keys = {canonical: tuple(map(normalized, of)) for canonical, of in dialect(name).config.items()}
    ends = {canonical: [end for key in of for end in _ends(key)] for canonical, of in keys.items()}
    return {
        canonical: _Spelt(of, tuple(end for end in ends[canonical] if not _ends_another(end, canonical, keys)))
        for canonical, of in keys.items()
    }


def _ends(key: str) -> list[str]:
    parts = key.split(".")
    return [".".join(parts[i:]) for i in range(1, len(parts) - 1)]


def _ends_another(end: str, canonical: str, known: Mapping[str, tuple[str, ...]]) -> bool:
    return any(key.endswith(f".{end}") for name, keys in known.items() if name != canonical for key in keys)


def _of_training(key: str) -> str:
    """The key without its first parts, if they only name the training or its settings: `max_steps` for
    `config.training.max_steps`."""
    above, dot, leaf = key.partition(".")
    return _of_training(leaf) if dot and above in spellings().own_parts else key


def _safe(key: str, value: object) -> object:
    value = redact_value(key, value)
    return clean(value, _TEXT_LIMIT) if isinstance(value, str) else value


def _judged(canonical: str, entry: ConfigValue, all_of: Mapping[str, ConfigValue], names: Dialect) -> ConfigValue:
    for rule in names.inactive:
        if rule.config == canonical and _holds(rule, all_of):
            return replace(entry, active=False, note=rule.note)
    return entry


def _holds(rule: Inactive, config: Mapping[str, ConfigValue]) -> bool:
    entry = config.get(rule.when)
    value = entry.value if entry else None
    among = rule.holds if rule.holds is not None else rule.holds_not or ()
    inside = any(value == wanted and (value is None) == (wanted is None) for wanted in among)
    return inside == (rule.holds is not None)

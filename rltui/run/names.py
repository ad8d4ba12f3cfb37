"""The names of a run's raw keys, and which keys stand for a canonical metric."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from rltui.frameworks.load import dialect as dialect_of
from rltui.frameworks.load import metrics, phases
from rltui.frameworks.parts import SCORE, task_first
from rltui.frameworks.resolve import (
    DETAIL,
    PERCENT,
    SCORES,
    VAL_SCORE,
    VALIDATION,
    Meaning,
    bare_key,
    is_bare_clip,
    is_fraction,
    is_of_dead_groups,
    keys_for,
    meant_as,
    own_trap,
    resolve,
    trap,
)
from rltui.frameworks.schema import GENERIC, PHASE
from rltui.frameworks.spelling import Words, readings
from rltui.readers.name_words import words
from rltui.settings import Settings, load, near

if TYPE_CHECKING:
    from rltui.run.table import Series


class MetricName(Struct, frozen=True):
    """What a raw key is called. `canonical`: None for a key that the vocabulary does not know (shown under its prefix).

    `label` is the short name for the screen ("KL to reference"), `group` one of reward, validation, drift, policy,
    length, speed, memory, mismatch, critic, tools, off-policy, preference, progress, other; `member` distinguishes
    several keys of one canonical metric (reward function, data set). `direction`: which way is good ("up", "down",
    "none").
    """

    key: str
    canonical: str | None
    label: str
    unit: str
    group: str
    member: str = ""
    meaning: str = ""
    trap: str = ""
    own_trap: str = ""  # the part of `trap` that belongs to this framework and version
    direction: str = "none"


def named(m: Meaning, dialect: str, version: str | None) -> MetricName:
    """The name of a key, with a warning about how it is easily misread in this framework and version."""
    told, own = trap(m.canonical, dialect, version), own_trap(m.canonical, dialect, version)
    told, own = (". ".join(text for text in (m.told, said) if text) for said in (told, own))
    return MetricName(m.key, m.canonical, m.label, m.unit, m.group, m.member, m.meaning, told, own, m.direction)


RARE = 3
"""A score that comes in at most one of this many rows belongs to an evaluation: training batches draw on all sets of
their mix."""
_SCORE_OF_STEP, _REWARD = SCORES
"""A bare `accuracy` is that of a step's answers, or of an evaluation if it comes only now and then beside a reward."""
SEEN_NOW_AND_THEN = "logged now and then, beside the reward of each step: it is taken for that of an evaluation"
_SO_FAR = ("time_per_step_s", PHASE + "step", "total_tokens_seen")
"""Metrics that may count one step or the whole run so far."""


def told_apart(meanings: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Gives keys with the same label different labels: adds the last part of the key to each later label, or the whole
    key if that part is taken."""
    ends: dict[str, set[str]] = {}  # label -> last parts of the keys that have it
    out: dict[str, Meaning] = {}
    for key, meaning in meanings.items():
        others, own = ends.setdefault(meaning.label, set()), key.rpartition("/")[2]
        if others:
            meaning = replace(meaning, label=f"{meaning.label} ({key if own in others else own})")
        others.add(own)
        out[key] = meaning
    return out


def _is_open(meaning: Meaning, dialect: str) -> bool:
    """Whether the values of a key may decide what it means. False if its framework is known to log this key."""
    if dialect != GENERIC and meaning.key in dialect_of(dialect).exact:
        return False
    if meaning.canonical == "entropy":
        return any("loss" in spelt.words for spelt in readings(meaning.key))
    if meaning.scale == PERCENT and meaning.canonical is not None:
        return metrics()[meaning.canonical].direction == "up"  # if a value should be low, a few in a hundred are usual
    if is_fraction(meaning):
        return True
    if meaning.canonical is None and (
        is_bare_clip(meaning.key) or is_of_dead_groups(meaning.key) or of_problem_set(meaning.key) is not None
    ):
        return True
    return meaning.canonical in (*_SO_FAR, _SCORE_OF_STEP) or meaning.key.lower() == _LETTER


@lru_cache(maxsize=1024)
def of_problem_set(key: str) -> Meaning | None:
    """The meaning of a score on a problem set that people also train on (`gsm8k acc`), as an evaluation score; None if
    the key names no such set, or a reward, which belongs to training."""
    name, _, score = key.replace("_", " ").replace("/", " ").replace(":", " ").partition(" ")
    if name.lower() not in words().problem_sets:
        return None
    score = score.strip().replace(" ", "_")
    held_out = resolve(f"val/{name}/{score}", GENERIC)
    if held_out.canonical != VAL_SCORE or not held_out.member or "reward" in score:
        return None
    return replace(held_out, key=key, member=name if held_out.member == f"{name}/{score}" else held_out.member)


_LETTER = "l"
"""A loss, or a length."""

_PREFERENCE = frozenset(("dpo_reward_chosen", "dpo_reward_rejected"))
_OF_PAIRS = {"accuracy": "dpo_accuracy", "acc": "dpo_accuracy", "margin": "dpo_reward_margin"}
"""Single words that mean something else if the rewards of chosen and rejected answers are logged too."""

_DRIFT, _ENTROPY = frozenset(("kl_ref", "ppo_kl")), ("H", "train/H")
"""A key `H` is the entropy if a KL is logged too."""


def _words(key: str) -> Words:
    """The words of a key without the first parts that only group keys; empty for a key in another script."""
    return next((spelt.words for spelt in reversed(readings(key))), ())


def _beside_others(meanings: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """The keys of a home-made loop whose meaning depends on the keys beside them -> that meaning."""
    canonical = {meaning.canonical for meaning in meanings.values()}
    found: dict[str, str] = {}
    if canonical >= _PREFERENCE:
        words = {key: _words(key) for key in meanings}
        found = {key: _OF_PAIRS[said[0]] for key, said in words.items() if len(said) == 1 and said[0] in _OF_PAIRS}
    if not canonical.isdisjoint(_DRIFT) and "entropy" not in canonical:
        found |= {key: "entropy" for key in meanings if key in _ENTROPY}
    if "pg_loss" in canonical and "vf_loss" not in canonical:
        held_out = [key for key, meaning in meanings.items() if meaning.group == VALIDATION]
        if [_words(key) for key in held_out] == [("loss", "val")]:  # no other validation key: it is the critic's loss
            found[held_out[0]] = "vf_loss"
    return {key: meant_as(name, meanings[key]) for key, name in found.items()}


def is_canonical(name: str) -> bool:
    """Whether a name is one of the vocabulary's own (phase times included)."""
    return name in metrics() or name.startswith(PHASE)


def unknown_metric(name: str) -> str:
    """Why a canonical name given by the user is wrong, with the nearest known names; empty for a known name."""
    known = [*metrics(), *(PHASE + phase for phase in phases())]
    if name in known:
        return ""
    held = [other for other in known if name in re.split(r"[_:]", other)]
    alike = held or get_close_matches(name, known, 5, 0.45)
    if alike:
        nearest = f"nearest: {', '.join(alike[:5])}"
        return f"no such metric, {nearest if held else near(name, known, nearest)}"
    of_each_group: dict[str, str] = {}
    for metric in metrics().values():
        of_each_group.setdefault(metric.group, metric.name)
    more = len(known) - len(of_each_group)
    return f"no such metric. Known ones are {', '.join(of_each_group.values())}, and {more} more"


def own_aliases(settings: Settings) -> Mapping[str, tuple[str, ...]]:
    """Canonical metric -> raw keys, from the user's settings. Raises `SettingsError` for an unknown metric."""
    for name in settings.aliases:
        if problem := unknown_metric(name):
            raise settings.wrong(f"aliases.{name}", problem)
    return settings.aliases


class Names:
    """The meanings of the columns of one run, resolved once for each key. `forced`: canonical -> the raw key that the
    user named for this run. `aliases`: canonical -> the raw keys in the user's settings; the first one that this run
    logs counts."""

    def __init__(self) -> None:
        self.dialect = GENERIC
        self.forced: dict[str, str] = {}
        self.aliases = own_aliases(load())
        self._columns: Collection[str] = ()
        self._count = 0
        self._keys: tuple[str, ...] = ()
        self._meanings: Mapping[str, Meaning] = {}
        self.open: dict[str, Meaning] = {}  # keys whose values may change their meaning -> meaning by name
        self._beside: dict[str, Meaning] = {}  # keys whose meaning depends on the keys beside them
        self._told: dict[str, Meaning] = {}  # `_beside`, and the meanings by the values of open keys
        self._sources: dict[str, list[str]] = {}
        self._only: dict[str, str | None] = {}
        self._alike: list[list[str]] | None = None
        self._converting: list[str] | None = None
        self._unlogged: list[str] | None = None

    def refresh(self, columns: Collection[str], dialect: str) -> bool:
        """Takes new columns or another dialect; True if anything changed. Cheap if `columns` is the same object with as
        many keys as before, because keys are only ever added to it."""
        if columns is self._columns and len(columns) == self._count and dialect == self.dialect:
            return False
        self._columns, self._count = columns, len(columns)
        keys = list(columns)
        if dialect == self.dialect and len(keys) == len(self._meanings) and all(k in self._meanings for k in keys):
            return False
        self.dialect = dialect
        self._keys = tuple(keys)
        self._beside, unsure = _by_themselves(dialect, self._keys)
        self._told = self._beside
        forced = self._call()
        self.open = {key: own for key, own in unsure.items() if key not in forced}
        return True

    def listen(self, values: Callable[[str], Series | None]) -> bool:
        """Takes what the values of open keys show; True if anything changed."""
        from rltui.run.by_values import by_values  # imports numpy: it is loaded, as there are series

        every = {key: points for key in self.open if (points := values(key)) is not None}
        sets = {key: own for key in every if (own := of_problem_set(key)) is not None}
        asked = ((by_values(self.open[key], points.finite()), key) for key, points in every.items() if key not in sets)
        told = self._beside | {key: own for own, key in asked if own is not None}
        for key in self._now_and_then(every, values):
            told[key] = replace(meant_as(VAL_SCORE, told.get(key, self.open[key])), told=SEEN_NOW_AND_THEN)
        most = max((len(s.steps) for key in self._keys if (s := values(key)) is not None), default=0) if sets else 0
        told |= {key: own for key, own in sets.items() if RARE * len(every[key].steps) <= most}
        if told == self._told:
            return False
        self._told = told
        self._call()
        return True

    def _now_and_then(self, every: Mapping[str, Series], values: Callable[[str], Series | None]) -> Iterator[str]:
        """The open scores that are in few of the rows with a reward, counted from the score's first row."""
        scores = [key for key in every if self.open[key].canonical == _SCORE_OF_STEP and len(every[key].rows)]
        rewards = [key for key in self._keys if scores and resolve(key, self.dialect).canonical == _REWARD]
        rows = max((s.rows for key in rewards if (s := values(key)) is not None), key=len, default=())
        for key in scores:
            begun = every[key].rows
            if RARE * len(begun) <= len(rows) - bisect_left(rows, int(begun[0])):
                yield key

    def _call(self) -> Collection[str]:
        """Gives all keys their meanings again. Returns the keys that the user named."""
        columns, told = self._columns, self._told
        by_user = [*self._aliased(columns).items(), *((name, self._column(raw)) for name, raw in self.forced.items())]
        forced = {raw: canonical for canonical, raw in by_user}
        if forced or told:
            by_name = {key: self._meaning(key, forced.get(key)) for key in self._keys}
            own = by_name | {key: meaning for key, meaning in told.items() if key not in forced}
            self._meanings = told_apart(own if SCORE in forced.values() else task_first(own))
        else:
            self._meanings = _usual_meanings(self.dialect, self._keys)
        self._sources, self._only = {}, {}
        self._unlogged = self._alike = self._converting = None
        return forced

    def _meaning(self, key: str, forced: str | None) -> Meaning:
        own = resolve(key, self.dialect)
        if forced is None:
            return own
        if forced not in metrics():
            return Meaning(key, forced, forced, own.unit, own.group)
        metric = metrics()[forced]
        return Meaning(key, forced, metric.label, metric.unit, metric.group, "", metric.meaning, metric.direction)

    def _aliased(self, keys: Collection[str]) -> dict[str, str]:
        """Canonical -> its alias among these keys."""
        found = {
            name: next((k for k in map(self._column, own) if k in keys), None) for name, own in self.aliases.items()
        }
        return {name: key for name, key in found.items() if key is not None}

    def _column(self, key: str) -> str:
        """The column of a key that the user wrote. The key may have a container's prefix that the column lacks."""
        return key if key in self._columns else bare_key(key, self.dialect)

    def unlogged(self) -> list[str]:
        """A message for each key that the user named for this run and that the run does not log."""
        if self._unlogged is None:
            wrong = [
                item for item in self.forced.items() if self._columns and self._column(item[1]) not in self._columns
            ]
            alike = {raw: ", ".join(get_close_matches(raw, self._columns, 3, 0.5)) for _, raw in wrong}
            nearest = {raw: f", nearest: {names}" if names else "" for raw, names in alike.items()}
            self._unlogged = [f"{name}={raw}: this run logs no such key so far{nearest[raw]}" for name, raw in wrong]
        return self._unlogged

    def is_turned(self, key: str) -> bool:
        """Whether the values of a key showed that its sign is flipped."""
        return key in self._told and self._told[key].scale < 0

    @property
    def meanings(self) -> Mapping[str, Meaning]:
        return self._meanings

    @property
    def alike(self) -> list[list[str]]:
        """The keys that mean the same member of one canonical metric, if there are several."""
        if self._alike is None:
            found: dict[tuple[str, str], list[str]] = {}
            for key, meaning in self._meanings.items():
                if meaning.canonical is not None:
                    found.setdefault((meaning.canonical, meaning.member), []).append(key)
            self._alike = [keys for keys in found.values() if len(keys) > 1]
        return self._alike

    @property
    def converting(self) -> list[str]:
        """The keys that are logged in another unit than the canonical one."""
        if self._converting is None:
            self._converting = [key for key, meaning in self._meanings.items() if converts(meaning)]
        return self._converting

    def sources(self, canonical: str) -> list[str]:
        """The columns that may stand for a canonical name, the preferred one first."""
        found = self._sources.get(canonical)
        if found is None:
            if canonical in self.forced:
                found = [self._column(self.forced[canonical])]
            elif self.aliases and canonical in (own := self._aliased(self._meanings)):
                found = [own[canonical]]
            else:
                found = list(_standing_for(canonical, self.dialect, self._keys))
                if canonical in (SCORE, DETAIL) and SCORE not in self.forced:
                    found = [key for key, meaning in self._meanings.items() if meaning.canonical == canonical] or found
                elif told := self._told:
                    found = [key for key in found if key not in told or told[key].canonical == canonical]
                    found += [key for key in told if key not in found and told[key].canonical == canonical]
            self._sources[canonical] = found
        return found

    def only(self, canonical: str) -> str | None:
        """The only column for a canonical name, if its numbers need no conversion; else None. Cached, as it is called
        for every metric on every row."""
        if canonical not in self._only:
            known = is_canonical(canonical) or canonical in self.forced
            keys = self.sources(canonical) if known else []
            as_logged = len(keys) == 1 and keys[0] in self._meanings and not converts(self._meanings[keys[0]])
            self._only[canonical] = keys[0] if as_logged else None
        return self._only[canonical]


@lru_cache(maxsize=256)
def _by_themselves(dialect: str, keys: tuple[str, ...]) -> tuple[dict[str, Meaning], Mapping[str, Meaning]]:
    """What keys mean beside each other, and the keys whose meaning only their values show. Cached, as the runs of a
    sweep log the same keys."""
    plain = {key: resolve(key, dialect) for key in keys}
    rewarded = any(own.canonical == _REWARD for own in plain.values())
    unsure = {
        key: own
        for key, own in plain.items()
        if _is_open(own, dialect) and (rewarded or own.canonical != _SCORE_OF_STEP or own.scale == PERCENT)
    }
    return _beside_others(plain) if dialect == GENERIC else {}, unsure


@lru_cache(maxsize=256)
def _usual_meanings(dialect: str, keys: tuple[str, ...]) -> Mapping[str, Meaning]:
    """The meanings of keys by their names alone. Cached, as the runs of a sweep log the same keys."""
    return told_apart(task_first({key: resolve(key, dialect) for key in keys}))


@lru_cache(maxsize=2048)
def _standing_for(canonical: str, dialect: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """The keys that may stand for a canonical name. Cached, as the runs of a sweep log the same keys."""
    return tuple(keys_for(canonical, dialect, keys))


def read_otherwise(before: Mapping[str, Meaning], now: Mapping[str, Meaning]) -> bool:
    """Whether a key that had a meaning now has another meaning or unit."""

    def reading(meaning: Meaning | None) -> tuple[object, ...]:
        return () if meaning is None else (meaning.canonical, meaning.member, meaning.scale, meaning.shift)

    return any(reading(now.get(key)) != reading(own) for key, own in before.items())


def converts(meaning: Meaning) -> bool:
    """Whether a key is logged in another unit than the canonical one."""
    return meaning.scale != 1.0 or meaning.shift != 0.0

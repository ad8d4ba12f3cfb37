"""Finds the framework that wrote a set of keys, by the signs in the frameworks' files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from msgspec import Struct

from rltui.frameworks.dialect import Dialect, compiled
from rltui.frameworks.load import dialect, dialect_names
from rltui.frameworks.resolve import SCORES, bare_key, resolve

_KEY_WEIGHT, _CONFIG_WEIGHT, _TEXT_WEIGHT = 2, 3, 3
_MODULE_WEIGHT = 12
"""If a framework's module writes to the log, this counts more than names of metrics, which other loops may use too."""
MODULE = "logger "
"""A hint that begins with this is the name of the module that wrote a line."""


class Detected(Struct, frozen=True):
    """A dialect, and the version that its keys hint at (">=0.6"); None if they hint at none."""

    dialect: str
    version: str | None


def detect_dialect(
    keys: Iterable[str], config_keys: Iterable[str] = (), text_hints: Iterable[str] = ()
) -> Detected | None:
    """The dialect whose signs fit best; None if there is no sign of any framework.

    For a dialect that extends another one, the other's signs count too, but only if it shows a sign of its own.
    """
    hints = tuple(text_hints)
    modules = [hint.removeprefix(MODULE) for hint in hints if hint.startswith(MODULE)]
    text = "\n".join(hints)
    named = {name: _TEXT_WEIGHT for name in dialect_names() if any(sign in text for sign in dialect(name).signs.text)}
    for name in named:
        if any(module.startswith(sign) for module in modules for sign in dialect(name).signs.text):
            named[name] = _MODULE_WEIGHT
    return _detected(tuple(keys), tuple(config_keys), frozenset(named.items()))


@lru_cache(maxsize=64)
def _detected(keys: tuple[str, ...], config: tuple[str, ...], named: frozenset[tuple[str, int]]) -> Detected | None:
    """`named`: (dialect that the text names, weight of this). Cached because the runs of a sweep log the same keys."""
    weight = dict(named)
    own = {name: _own_score(dialect(name), keys, config, weight.get(name, 0)) for name in dialect_names()}
    best, best_score = None, 0
    for name in dialect_names():
        if own[name] <= 0:
            continue
        score = own[name] + sum(max(0, own[base]) for base in dialect(name).bases)
        if score > best_score:
            best, best_score = name, score
    if best is None:
        return None
    version = next((v.version for v in dialect(best).versions if _any(v.keys, keys)), None)
    return Detected(best, version)


def _any(patterns: Sequence[str], keys: Sequence[str]) -> bool:
    return any(compiled(one).search(key) for one in patterns for key in keys if key.startswith(_beginning(one)))


@cache
def _beginning(pattern: str) -> str:
    """The plain text with which each match begins; empty if there is none. It rules out most signs of the other
    frameworks, so that their regexes need not be compiled."""
    plain = _PLAIN.match(pattern)
    return plain[1].replace("\\", "") if plain is not None and "|" not in _GROUPS.sub("", pattern) else ""


_PLAIN = re.compile(r"\^((?:[\w/ -]|\\[._()])*)(?![?*+{])(?=[$(\[\\.]|$)")
_GROUPS = re.compile(r"\([^()]*\)")


def _own_score(candidate: Dialect, keys: Sequence[str], config: Sequence[str], named: int) -> int:
    """Total weight of a dialect's own signs; `named`: the weight of the text. Negative if a sign excludes the
    dialect."""
    signs = candidate.signs
    if _any(signs.not_keys, keys) or (signs.need_keys and not _any(signs.need_keys, keys)):
        return -1
    of_keys = sum(1 for p in signs.keys if _any((p,), keys))
    of_config = sum(1 for p in signs.config if _any((p,), config))
    score = _KEY_WEIGHT * of_keys + _CONFIG_WEIGHT * of_config
    if signs.all_keys and all(_any((p,), keys) for p in signs.all_keys):
        of_keys += SURE  # all these keys together are a sure sign
        score += _KEY_WEIGHT * len(signs.all_keys)
    weak = sum(1 for p in signs.weak if _any((p,), (*keys, *config)))
    if not score and not named:
        return _KEY_WEIGHT * weak if weak > 1 and _of_it(candidate, keys) >= MOSTLY else 0
    unsure = not named and of_keys + of_config < SURE
    if unsure and (_of_it(candidate, keys) < BORROWED or _rewarded_otherwise(candidate, keys)):
        return 0
    return score + named + _KEY_WEIGHT * weak


SURE = 3
"""No home-made loop has this many signs by accident."""
BORROWED, MOSTLY = 0.3, 0.5
"""The smallest share of keys that the framework must know: if it shows one or two signs, and if all signs are weak."""


def _rewarded_otherwise(candidate: Dialect, keys: Sequence[str]) -> bool:
    """Whether the keys name a reward as home-made loops do, and none as the framework does."""
    own = {key: resolve(key, candidate.name).canonical for key in keys}
    others = (key for key, canonical in own.items() if canonical is None)
    return not any(c in SCORES for c in own.values()) and any(resolve(k, None).canonical in SCORES for k in others)


def _of_it(candidate: Dialect, keys: Sequence[str]) -> float:
    """The share of the keys that the dialect knows; 1 if there are no keys yet. A home-made loop borrows only some."""
    signs, timers = candidate.signs, candidate.phase_patterns
    patterns = [*(p for _, p in (*candidate.patterns, *timers)), *map(compiled, (*signs.keys, *signs.all_keys))]
    bare = {key: bare_key(key, candidate.name) for key in keys}
    known = sum(
        name in candidate.exact
        or name in candidate.phase_exact
        or any(p.search(name) or p.search(key) for p in patterns)
        for key, name in bare.items()
    )
    return known / len(keys) if keys else 1.0

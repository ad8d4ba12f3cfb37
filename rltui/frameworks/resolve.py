"""From a raw key to what it means, and from a set of keys to the framework that wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rltui.frameworks.load import (
    GENERIC,
    Dialect,
    Metric,
    Trap,
    compiled,
    dialect,
    dialect_names,
    metrics,
    phases,
    prefix_groups,
)

Number = tuple[int, ...]


@lru_cache(maxsize=256)
def version_number(version: str | None) -> Number:
    """The lowest version that a hint allows, comparable: ">=0.6" -> (0, 6); nothing known -> ()."""
    match = re.search(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def may_be_in(version: str | None, since: str | None, before: str | None) -> bool:
    """Whether a run of this version can lie from `since` on and before `before`. What is not known may be."""
    have = version_number(version)
    if not have:
        return True
    if before is not None and have >= version_number(before):
        return False
    open_above = ">=" in (version or "")
    return since is None or open_above or have >= version_number(since)


PHASE = "phase:"
"""Prefix of the canonical names of phase times (`phase:rollout`)."""

_KEY_WEIGHT, _CONFIG_WEIGHT, _TEXT_WEIGHT = 2, 3, 3


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a raw key stands for. `canonical` is None for a key that no dialect knows: it keeps its own name.

    `member` tells several keys of one canonical metric apart (a reward function, a data set). Units are canonical
    ones: a value of the key becomes a canonical value by `scale * value + shift`.
    """

    key: str
    canonical: str | None
    label: str
    unit: str
    group: str
    member: str = ""
    meaning: str = ""
    direction: str = "none"
    scale: float = 1.0
    shift: float = 0.0


@dataclass(frozen=True, slots=True)
class Detected:
    """A dialect and the version that its keys hint at (">=0.6"), None where they hint at none."""

    dialect: str
    version: str | None


def detect_dialect(
    keys: Iterable[str], config_keys: Iterable[str] = (), text_hints: Iterable[str] = ()
) -> Detected | None:
    """The dialect whose signs fit best, None where no sign of any framework is there.

    A dialect that extends another one counts the other's signs too, but only when it shows a sign of its own.
    """
    text = "\n".join(text_hints)
    named = frozenset(name for name in dialect_names() if any(sign in text for sign in dialect(name).signs.text))
    return _detected(tuple(keys), tuple(config_keys), named)


@lru_cache(maxsize=64)
def _detected(keys: tuple[str, ...], config: tuple[str, ...], named: frozenset[str]) -> Detected | None:
    """`named`: dialects that the text speaks of. Remembered: the runs of a sweep log the same keys."""
    own = {name: _own_score(dialect(name), keys, config, name in named) for name in dialect_names()}
    best, best_score = None, 0
    for name in dialect_names():
        if own[name] <= 0:
            continue
        score = own[name] + sum(max(0, own[base]) for base in dialect(name).bases)
        if score > best_score:
            best, best_score = name, score
    if best is None:
        return None
    version = next((v for v, signs in dialect(best).versions if _any(signs, keys)), None)
    return Detected(best, version)


def detect_framework(
    keys: Iterable[str], config_keys: Iterable[str] = (), text_hints: Iterable[str] = ()
) -> tuple[str | None, str | None]:
    """Framework and version hint, each None where nothing tells."""
    found = detect_dialect(keys, config_keys, text_hints)
    return (dialect(found.dialect).framework, found.version) if found else (None, None)


def _any(patterns: Sequence[str], keys: Sequence[str]) -> bool:
    return any(compiled(pattern).search(key) for pattern in patterns for key in keys)


def _own_score(candidate: Dialect, keys: Sequence[str], config: Sequence[str], is_named: bool) -> int:
    """Weight of a dialect's own signs; negative where one of them excludes it."""
    signs = candidate.signs
    if _any(signs.not_keys, keys) or (signs.need_keys and not _any(signs.need_keys, keys)):
        return -1
    score = _KEY_WEIGHT * sum(1 for p in signs.keys if _any((p,), keys))
    score += _CONFIG_WEIGHT * sum(1 for p in signs.config if _any((p,), config))
    if signs.all_keys and all(_any((p,), keys) for p in signs.all_keys):
        score += _KEY_WEIGHT * len(signs.all_keys)
    if is_named:
        score += _TEXT_WEIGHT
    return score


@lru_cache(maxsize=16384)
def bare_key(raw: str, framework: str | None) -> str:
    """The key without the prefix that a container adds (`train/kl` -> `kl`, `eval/reward` -> `eval_reward`), so that
    two containers of one run agree. Keys of frameworks whose prefixes are their own stay as they are."""
    if framework is None:
        return raw
    for prefix, instead in dialect(framework).prefixes:
        if raw.startswith(prefix) and len(raw) > len(prefix):
            return instead + raw[len(prefix) :]
    return raw


@lru_cache(maxsize=16384)
def resolve(raw: str, framework: str | None) -> Meaning:
    """What a key means in a framework (or dialect; None: a home-made loop). Never fails: an unknown key keeps its
    name."""
    names = dialect(framework or GENERIC)
    key = bare_key(raw, names.name)
    canonical, groups = _lookup(key, names)
    if canonical is None:
        return Meaning(raw, None, key, "", _group_of(key, names))
    scale, shift = names.convert.get(key, (1.0, 0.0))
    if canonical.startswith(PHASE):
        phase = phases()[canonical[len(PHASE) :]]
        return Meaning(raw, canonical, f"{phase.label} time", "s", "speed", meaning=phase.meaning, direction="down")
    metric = metrics()[canonical]
    if metric.many and not groups:
        groups = (key,)
    return Meaning(
        key=raw,
        canonical=canonical,
        label=_label(metric, groups),
        unit=metric.unit,
        group=metric.group,
        member="/".join(groups),
        meaning=metric.meaning,
        direction=metric.direction,
        scale=scale,
        shift=shift,
    )


def trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """What is easily misread about a metric: in general, and in this framework as far as its version may be it."""
    metric = metrics().get(canonical or "")
    own = own_trap(canonical, framework, version)
    return "; ".join(text for text in (metric.trap if metric else "", own) if text)


def own_trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """The part of it that is this framework's."""
    if canonical not in metrics():
        return ""
    names = dialect(framework or GENERIC)
    own = [t for t in names.traps if t.metric == canonical and may_be_in(version, t.since, t.before)]
    return "; ".join(f"{names.title}{_span(t)}: {t.text}" for t in own)


def _span(trap: Trap) -> str:
    since = f" from {trap.since} on" if trap.since else ""
    return since + (f" before {trap.before}" if trap.before else "")


def _lookup(key: str, names: Dialect) -> tuple[str | None, tuple[str, ...]]:
    """Canonical name and what the regex captured. Own names first, then those of phases, then everybody's."""
    if key in names.exact:
        return names.exact[key], ()
    if key in names.phase_exact:
        return PHASE + names.phase_exact[key], ()
    for canonical, pattern in names.patterns:
        match = pattern.search(key)
        if match:
            return canonical, tuple(part for part in match.groups() if part)
    for phase, pattern in names.phase_patterns:
        if pattern.search(key):
            return PHASE + phase, ()
    if names.name == GENERIC:
        words = key.lower().replace(" ", "_")  # "Mean Reward" as people print it
        return (_everybodys().get(key), ()) if words == key or key in _everybodys() else _lookup(words, names)
    return dialect(GENERIC).exact.get(key), ()


@lru_cache(maxsize=1)
def _everybodys() -> dict[str, str]:
    """The exact aliases of all frameworks; where they disagree, the key belongs to none."""
    out: dict[str, str] = {}
    disputed = set()
    for name in dialect_names():
        for key, canonical in dialect(name).exact.items():
            if out.setdefault(key, canonical) != canonical:
                disputed.add(key)
    return {key: canonical for key, canonical in out.items() if key not in disputed}


def _label(metric: Metric, groups: tuple[str, ...]) -> str:
    """`openai/gsm8k`, `acc`, `mean@1` -> "gsm8k acc"; a lone member is shown whole."""
    if not groups:
        return metric.label
    if len(groups) > 1:
        words = [groups[0].rsplit("/", 1)[-1], *(word for word in groups[1:] if word != "mean@1")]
        member = " ".join(words)
    else:
        member = groups[0]
    return (metric.member_label or "{}").replace("{}", member)


def _group_of(key: str, names: Dialect) -> str:
    parts = key.split("/")
    known = {**prefix_groups(), **names.groups}
    if len(parts) > 2 and "/".join(parts[:2]) in known:
        return known["/".join(parts[:2])]
    if parts[0] in known:
        return known[parts[0]]
    return "validation" if key.startswith("eval_") else "other"


def keys_for(canonical: str, framework: str | None, keys: Iterable[str]) -> list[str]:
    """Those of `keys` that may stand for a canonical name, the preferred one first. A key may stand for two names (the
    only loss of a trainer is its policy loss too), so this is wider than turning `resolve` round."""
    names = dialect(framework or GENERIC)
    if canonical.startswith(PHASE):
        wanted = names.phases.keys.get(canonical[len(PHASE) :], ())
    else:
        wanted = names.aliases.get(canonical, ())
    by_bare = {bare_key(key, names.name): key for key in keys}
    out: dict[str, None] = {}
    for alias in wanted:
        if alias.startswith("re:"):
            pattern = re.compile(alias[3:])
            hits = (raw for bare, raw in by_bare.items() if pattern.search(bare) and _owns(bare, names, canonical))
            out.update(dict.fromkeys(hits))
        elif alias in by_bare:
            out[by_bare[alias]] = None
    if not out:
        out.update(dict.fromkeys(raw for raw in by_bare.values() if resolve(raw, framework).canonical == canonical))
    return list(out)


def _owns(bare: str, names: Dialect, canonical: str) -> bool:
    """A regex takes no key that another name lists word for word, or that an earlier regex takes."""
    return _lookup(bare, names)[0] == canonical

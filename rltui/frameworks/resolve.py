"""What a raw key means, and how it is easily misread: in general, and in some versions of a framework."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from rltui.frameworks.dialect import Dialect
from rltui.frameworks.load import dialect, dialect_names, metrics, phases, prefix_groups
from rltui.frameworks.schema import GENERIC, PHASE, REGEX, Metric, Trap
from rltui.frameworks.spelling import by_words, readings, scale_fits, spellings
from rltui.lazy_regex import lazy

VALIDATION = "validation"
DETAIL = "val_aux"
"""The canonical name of a number from validation data that is not a score to judge by."""
_PART = "reward_component_mean"
STEP_TIME = "time_per_step_s"
PERCENT = 0.01
"""The scale of a key whose name says percentage."""
SPEED, PROGRESS = "speed", "progress"
TRAIN, TIME = "train/", "time/"
VAL_SCORE, SCORES = "val_score", ("score_mean", "reward_mean")
_OF_SET = lazy(r"(?:eval|evaluation|val|validation|test|dev)[ _/]+(?:set[ _/]+)?([^/]+)$", re.IGNORECASE)
_MEAN = lazy(r"[/.](?:mean|avg|average)$")
_MILLI = lazy(r"([_/ ])(?:ms|msecs?|millis|milliseconds)$")
_SAID = lazy(r"eval|val|test", re.IGNORECASE)
_DEAD = frozenset(
    (
        *("zero_std", "zero_var", "zero_variance", "zero_adv", "zero_std_groups", "zero_var_groups"),
        *("dead_groups", "degenerate", "degenerate_groups", "no_signal_groups", "all_same", "uniform_groups"),
    )
)
"""Names for groups whose responses all got the same reward. Only the values show whether it is a share or a count."""
Number = tuple[int, ...]


class Meaning(Struct, frozen=True):
    """What a raw key stands for. `canonical` is None for a key that no dialect knows: it keeps its own name.

    `member` distinguishes several keys of one canonical metric (a reward function, a data set). `unit` is the canonical
    unit: the canonical value is `scale * value + shift`. `told`: what the values showed that the name does not.
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
    told: str = ""


@lru_cache(maxsize=16384)
def bare_key(raw: str, framework: str | None) -> str:
    """The key without the prefix that a container adds (`train/kl` -> `kl`, `eval/reward` -> `eval_reward`), so that
    two containers of one run agree. Prefixes that the framework itself uses stay."""
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
    names = dialect(framework)
    key = bare_key(raw, names.name)
    canonical, groups = _lookup(key, names)
    if canonical is None or (canonical == _PART and is_of_dead_groups(key)):
        return Meaning(raw, None, key, "", _group_of(key, names))
    scale, shift = names.convert.get(key, (1.0 if key in names.exact else _scale(key, canonical), 0.0))
    if canonical.startswith(PHASE):
        phase = phases()[canonical[len(PHASE) :]]
        label, scale = f"{phase.label} time", 0.001 if _MILLI.search(key) else 1.0
        return Meaning(raw, canonical, label, "s", SPEED, meaning=phase.meaning, direction="down", scale=scale)
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


def is_of_dead_groups(key: str) -> bool:
    """Whether a key counts groups without signal, whatever prefixes a home-made loop puts before its name."""
    return _last_part(key).replace("-", "_") in _DEAD


def is_bare_clip(key: str) -> bool:
    """Whether a key says no more than `clip`. It may be the share of tokens that were clipped, or the range that clips
    them, which is the same in every row."""
    return _last_part(key) == "clip"


def _last_part(key: str) -> str:
    """The name that a home-made loop uses, without the prefixes that it puts before."""
    return key.rpartition("/")[2].lower()


def is_fraction(meaning: Meaning) -> bool:
    """Whether a key stands for a metric that is between 0 and 1 by definition."""
    metric = None if meaning.canonical is None or meaning.scale != 1 else metrics().get(meaning.canonical)
    return metric is not None and metric.unit == "fraction" and metric.range.startswith("0..1")


def meant_as(canonical: str, key: Meaning) -> Meaning:
    """The meaning that a key has if it stands for this metric."""
    m = metrics()[canonical]
    return Meaning(key.key, canonical, m.label, m.unit, m.group, "", m.meaning, m.direction, key.scale, key.shift)


def _lookup(key: str, names: Dialect) -> tuple[str | None, tuple[str, ...]]:
    """The canonical name, and what the regex captured. A mean without a meaning of its own (`staleness/mean`) means the
    same as the name without that word."""
    found = _as_named(key, names)
    if found[0] is None and (stem := _MEAN.sub("", key)) != key:
        of_stem = _as_named(stem, names)
        known = of_stem[0] in metrics() and metrics()[of_stem[0]].group != VALIDATION
        found = of_stem if known else found
    return found


def _as_named(key: str, names: Dialect) -> tuple[str | None, tuple[str, ...]]:
    """The canonical name and the captures of a key with its name unchanged. The framework's own names come first, then
    those of home-made loops, because people add their own numbers."""
    found = _known(key, names)
    if found[0] == DETAIL and names.name == GENERIC and _is_score(key):
        return VAL_SCORE, ()
    if found[0] is not None:
        return found
    if names.name != GENERIC:
        return _beside(key)
    if key.startswith(TRAIN) and (found := _known(key.removeprefix(TRAIN), names))[0] is not None:
        return found
    if (found := _with_blanks(key, names))[0] is not None:
        return found
    return _everybodys().get(key) or _as_people_write(key, _by_words()) or _timed(key, names), ()


def _is_score(key: str) -> bool:
    """Whether the rest of an evaluation key is the name of a training score: `test set accuracy`, `eval/准确率`."""
    found = _OF_SET.match(key)
    return found is not None and _lookup(found[1], dialect(GENERIC))[0] in SCORES


def _timed(key: str, names: Dialect) -> str | None:
    """The time that a key stands for, if only its prefix or unit shows that it is a time: `time/Schrittdauer`,
    `gen_ms`."""
    name = _MILLI.sub(r"\1s", key.removeprefix(TIME))
    told = None if name == key else _lookup(name, names)[0]
    return told if told is not None and (told == STEP_TIME or told.startswith(PHASE)) else None


def _with_blanks(key: str, names: Dialect) -> tuple[str | None, tuple[str, ...]]:
    """What a name of several words means if they are joined by underscores: `accuracy reward` is a part of the reward,
    `Train success rate` is a score. Not for `Reward accuracy`, which is the accuracy on preference pairs."""
    joined = "_".join(key.lower().split())
    if joined == key or len(key) == 1 or joined.startswith("reward"):
        return None, ()
    found = _known(joined, names)
    bare = joined.removeprefix("train_")
    return found if found[0] is not None or bare == joined else _known(bare, names)


def _beside(key: str) -> tuple[str | None, tuple[str, ...]]:
    """What a key means in any loop, if its framework does not know it. A framework spells its keys in one way, so words
    in other spellings can only be times. A validation number must be known word for word, because `val/` does not mean
    validation everywhere. After a first part that only sorts, a name means the same as alone."""
    names = dialect(GENERIC)
    found = _known(key, names)
    if found[0] is None and (known := _below_a_group(key, names)) is not None:
        return known, ()
    if found[0] is None and (spoken := _as_people_write(key, _by_words()[:1])) is not None:
        found = (spoken, ()) if spoken.startswith(PHASE) or metrics()[spoken].group == SPEED else found
    guess = found[0] in metrics() and metrics()[found[0]].group == VALIDATION and key not in names.exact
    return (None, ()) if guess else found


def _below_a_group(key: str, names: Dialect) -> str | None:
    """The metric whose canonical or generic name follows a first part that only sorts."""
    group, _, rest = key.partition("/")
    canonical = names.exact.get(rest) or (rest if rest in metrics() else None)
    known = canonical is not None and group.lower() in spellings().groups
    return canonical if known and metrics()[canonical or ""].group not in (VALIDATION, PROGRESS) else None


def _known(key: str, names: Dialect) -> tuple[str | None, tuple[str, ...]]:
    """What a dialect knows about a key: exact names first, then patterns of metrics, then patterns of phases."""
    if key in names.exact:
        return names.exact[key], ()
    if key in names.phase_exact:
        return PHASE + names.phase_exact[key], ()
    for canonical, pattern in names.patterns:
        match = pattern.search(key)
        if match:
            own = _held_out(key, canonical) if metrics()[canonical].group == VALIDATION else None
            return own or (canonical, _groups(match))
    for phase, pattern in names.phase_patterns:
        if pattern.search(key):
            return PHASE + phase, ()
    if key.startswith(TIME) and (phase_of := names.phase_exact.get(key.removeprefix(TIME))) is not None:
        return PHASE + phase_of, ()  # the name is that of a phase: `generation: 3.2s`
    if key.startswith(TIME) and names.exact.get(key.removeprefix(TIME)) == STEP_TIME:
        return STEP_TIME, ()
    return None, ()


def _groups(match: re.Match[str]) -> tuple[str, ...]:
    return tuple(part for part in match.groups() if part)


def _held_out(key: str, found: str) -> tuple[str, tuple[str, ...]] | None:
    """The validation score that a key means in any loop: word for word, or by a pattern if the framework knows the key
    only as a detail. Otherwise a framework's pattern for everything that it evaluates would make `eval_accuracy` a
    detail."""
    names = dialect(GENERIC)
    canonical = names.exact.get(key)
    if canonical is not None:
        return (canonical, ()) if metrics()[canonical].group == VALIDATION else None
    if found != DETAIL:
        return None
    scores = [(name, pattern) for name, pattern in names.patterns if metrics()[name].group == VALIDATION]
    own = next(((name, match) for name, pattern in scores if name != DETAIL and (match := pattern.search(key))), None)
    return None if own is None else (own[0], _groups(own[1]))


@lru_cache(maxsize=1)
def _everybodys() -> dict[str, str]:
    """The exact aliases of all frameworks, without keys about which they disagree, and without validation keys whose
    names do not show validation: such a key may be a training metric elsewhere."""
    out: dict[str, str] = {}
    disputed = set()
    for name in dialect_names():
        for key, canonical in dialect(name).exact.items():
            if out.setdefault(key, canonical) != canonical:
                disputed.add(key)
    unsaid = {
        key for key, canonical in out.items() if metrics()[canonical].group == VALIDATION and not _SAID.search(key)
    }
    return {key: canonical for key, canonical in out.items() if key not in disputed | unsaid}


@lru_cache(maxsize=1)
def _by_words() -> tuple[Mapping[tuple[str, ...], str], ...]:
    """Words -> what they stand for: first by the names of home-made loops, then by those of all frameworks."""
    return _averaged(by_words(dialect(GENERIC).exact.items())), _averaged(by_words(_everybodys().items()))


_PER_BATCH = frozenset(("fraction", "nats", "nats/sequence", "loss", "norm", "ratio", "correlation"))
"""Units of metrics that are averages over a batch, whether or not their names say so."""
_STATISTICS = frozenset(("mean", "max", "min", "std", "median", "sum", "total", "last", "best"))


def _averaged(known: Mapping[tuple[str, ...], str]) -> Mapping[tuple[str, ...], str]:
    """The mapping, extended by entries with `mean` among the words: `avg_clip_frac` is `clip_frac`."""
    of_batch = {
        tuple(sorted((*words, "mean"))): canonical
        for words, canonical in known.items()
        if metrics()[canonical].unit in _PER_BATCH and _STATISTICS.isdisjoint(words)
    }
    return of_batch | dict(known)


def _as_people_write(key: str, words_of: Iterable[Mapping[tuple[str, ...], str]]) -> str | None:
    """What the words of a key stand for, in any order and spelling; None if they stand for nothing or for several
    things."""
    for known in words_of:
        for words, scale in readings(key):
            canonical = known.get(words)
            if canonical is not None and scale_fits(scale, metrics()[canonical].unit):
                return canonical
    return None


def _scale(key: str, canonical: str) -> float:
    """The factor that converts the unit named in a key to the unit of the metric."""
    unit = metrics()[canonical].unit if canonical in metrics() else ""
    return next((scale for _, scale in readings(key) if scale_fits(scale, unit)), 1.0)


def _label(metric: Metric, groups: tuple[str, ...]) -> str:
    """`openai/gsm8k`, `acc`, `mean@1` -> "gsm8k acc"; a single member is shown whole."""
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
    return VALIDATION if key.startswith("eval_") else "other"


def keys_for(canonical: str, framework: str | None, keys: Iterable[str]) -> list[str]:
    """The keys among `keys` that may stand for a canonical name, the preferred one first. A key may stand for two names
    (the only loss of a trainer is also its policy loss), so this finds more than `resolve`."""
    names = dialect(framework)
    if canonical.startswith(PHASE):
        wanted = names.phases.keys.get(canonical[len(PHASE) :], ())
    else:
        wanted = names.aliases.get(canonical, ())
    by_bare = {bare_key(key, names.name): key for key in keys}
    out: dict[str, None] = {}
    for alias in wanted:
        if alias.startswith(REGEX):
            pattern = re.compile(alias[len(REGEX) :])
            hits = (raw for bare, raw in by_bare.items() if pattern.search(bare) and _owns(bare, names, canonical))
            out.update(dict.fromkeys(hits))
        elif alias in by_bare:
            out[by_bare[alias]] = None
    if not out:
        out.update(dict.fromkeys(raw for raw in by_bare.values() if resolve(raw, framework).canonical == canonical))
    return list(out)


def _owns(bare: str, names: Dialect, canonical: str) -> bool:
    """Whether a regex may take a key. It may not if another name lists the key word for word, or if an earlier regex
    takes it."""
    return _lookup(bare, names)[0] == canonical


@lru_cache(maxsize=256)
def version_number(version: str | None) -> Number:
    """The lowest version that a hint allows, for comparison: ">=0.6" -> (0, 6); unknown -> ()."""
    match = re.search(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def may_be_in(version: str | None, since: str | None, before: str | None) -> bool:
    """Whether this version may be in the range from `since` on and before `before`. True if the version is unknown."""
    have = version_number(version)
    if not have:
        return True
    if before is not None and have >= version_number(before):
        return False
    open_above = ">=" in (version or "")
    return since is None or open_above or have >= version_number(since)


def trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """How a metric is easily misread: in general, and in this framework, for traps that its version may have."""
    metric = metrics().get(canonical or "")
    own = own_trap(canonical, framework, version)
    return ". ".join(text for text in (metric.trap if metric else "", own) if text)


def own_trap(canonical: str | None, framework: str | None, version: str | None = None) -> str:
    """The part of `trap` that belongs to this framework."""
    if canonical not in metrics():
        return ""
    names = dialect(framework)
    own = [t for t in names.traps if t.metric == canonical and may_be_in(version, t.since, t.before)]
    return ". ".join(f"{names.title}{_versions(t)}: {t.text}" for t in own)


def _versions(trap: Trap) -> str:
    since = f" from {trap.since} on" if trap.since else ""
    return since + (f" before {trap.before}" if trap.before else "")

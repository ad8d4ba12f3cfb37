"""Runs with the same settings are replicates of one configuration: they differ only by chance. Their spread shows how
sure the order of configurations is, and which single changes go with a better metric.

The spread of replicates is pooled over all configurations that have several, because three seeds alone show little
about it. Intervals come from Student's t with the degrees of freedom of that pool. A percentile bootstrap of three
values covers the mean in only about two of three cases, whatever its stated rate.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from rltui.compare.configs import as_text
from rltui.compare.metric import Scored
from rltui.compare.model import Configuration, PairedEffect, Replicates
from rltui.compare.read import COMPONENT, ComparedRun
from rltui.compare.signals import false_discovery_rates, two_sided_t
from rltui.prose import counted

SHORT = 0.8
"""A run with fewer steps than this share of the usual number is left out: it had less time to become good."""
SURE = 0.95
WHAT = re.compile(
    r"(?i)(?:^|[._])(?:dataset|train_(?:files?|data)|task|env(?:ironment)?|reward_(?:func\w*|model|type|fn))"
)
"""Matches names of settings that state what is trained on. Other comparisons leave these out because they hold
paths."""
MOST_WORDS = 200
Settings = tuple[tuple[str, str], ...]


class _Pool(Struct, frozen=True):
    """Standard deviation of replicates and its degrees of freedom; both 0 if no configuration has replicates."""

    sd: float
    df: int

    def error(self, *counts: int) -> float:
        """Standard error of the mean of that many runs, or, for two counts, of the difference between two such
        means."""
        return self.sd * sqrt(sum(1.0 / n for n in counts))

    @property
    def half_width(self) -> float:
        """Half the width of a confidence interval at level `SURE`, in standard errors."""
        low, high = 0.0, 1000.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if two_sided_t(middle, self.df) > 1 - SURE else (low, middle)
        return high


def replicates(
    runs: Sequence[ComparedRun],
    scores: Mapping[str, Scored],
    broken: Mapping[str, str],
    hours: Mapping[str, float | None],
    higher_is_better: bool,
) -> Replicates:
    """The configurations, best first, and the effect of each change of a single setting. `broken`: id of a run -> why
    it counts in no configuration. `hours`: GPU hours of each run, or hours."""
    usual = float(np.median([run.last_step for run in runs if run.last_step])) if any(r.last_step for r in runs) else 0
    left, members = dict[str, str](), defaultdict[Settings, list[ComparedRun]](list)
    for run in runs:
        why = _left_out(run, scores, broken, usual)
        if why:
            left[run.id] = why
        else:
            members[_identity(run)].append(run)
    pool = _pool([[scores[run.id].best for run in held] for held in members.values()])
    sign = 1.0 if higher_is_better else -1.0
    ordered = sorted(members.items(), key=lambda one: -sign * _mean([scores[run.id].best for run in one[1]]))
    differing = _differing(list(members))
    lead = [scores[run.id].best for run in ordered[0][1]] if ordered else []
    out = []
    for identity, held in ordered:
        values = [scores[run.id].best for run in held]
        wide = pool.half_width * pool.error(len(values)) if pool.df else None
        mean = _mean(values)
        gap = sign * (_mean(lead) - mean)
        chance = _beaten(gap, pool, len(lead), len(values)) if pool.df and held is not ordered[0][1] else None
        out.append(
            Configuration(
                settings={key: value for key, value in identity if key in differing},
                runs=tuple(run.id for run in held),
                mean=mean,
                low=None if wide is None else mean - wide,
                high=None if wide is None else mean + wide,
                beaten=chance,
            )
        )
    effects = _effects(ordered, scores, pool) if pool.df else ()
    return Replicates(tuple(out), left, pool.sd if pool.df else None, pool.df, effects, _settled(out, pool, hours))


def _left_out(run: ComparedRun, scores: Mapping[str, Scored], broken: Mapping[str, str], usual: float) -> str:
    """Why a run counts in no configuration; empty if it counts."""
    if run.id not in scores:
        return "does not log the metric"
    if run.id in broken:
        return broken[run.id]
    if not run.settings:
        return "its settings are not known"
    if run.state == "running":
        return "still runs"
    if run.last_step is not None and run.last_step < SHORT * usual:
        return f"is short: {run.last_step} steps, {usual:.0f} are usual"
    return ""


def _identity(run: ComparedRun) -> Settings:
    """The settings, the model, the algorithm, the data and the parts of the reward. Runs that differ in any of these
    are not replicates."""
    held = {key: as_text(value) for key, value in run.settings.items()}
    for key, value in run.raw_config.items():
        if WHAT.search(key) and isinstance(value, str | int | float) and len(str(value)) <= MOST_WORDS:
            held.setdefault(key, as_text(value))
    if run.model is not None:
        held["model"] = run.model
    if run.algorithm is not None:
        held["algorithm"] = run.algorithm
    parts = sorted(name.partition(":")[2] for name in run.curves if name.startswith(f"{COMPONENT}:"))
    return tuple(sorted({**held, **({"reward parts": ", ".join(parts)} if parts else {})}.items()))


def _differing(identities: Sequence[Settings]) -> frozenset[str]:
    """The settings that are not the same in all configurations."""
    seen = defaultdict[str, set[str]](set)
    for identity in identities:
        held = dict(identity)
        for key in {key for other in identities for key, _ in other}:
            seen[key].add(held.get(key, ""))
    return frozenset(key for key, values in seen.items() if len(values) > 1)


def _mean(values: Sequence[float]) -> float:
    """The mean; for four values or more the interquartile mean, which one odd run does not move."""
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def _pool(groups: Sequence[Sequence[float]]) -> _Pool:
    squares, df = 0.0, 0
    for values in groups:
        if len(values) > 1:
            own = np.asarray(values, dtype=np.float64)
            squares += float(((own - own.mean()) ** 2).sum())
            df += len(own) - 1
    return _Pool(sqrt(squares / df) if df else 0.0, df)


def _beaten(gap: float, pool: _Pool, lead: int, own: int) -> float:
    """The probability that the leading configuration is better than one that lies `gap` behind it; 0.5 if they are
    equal."""
    error = pool.error(lead, own)
    if error <= 0.0:
        return 1.0 if gap > 0 else 0.5
    tail = two_sided_t(gap / error, pool.df) / 2
    return 1.0 - tail if gap > 0 else tail


def _effects(
    ordered: Sequence[tuple[Settings, list[ComparedRun]]], scores: Mapping[str, Scored], pool: _Pool
) -> tuple[PairedEffect, ...]:
    """For each change of one setting: the mean difference over all pairs of configurations that differ in nothing else,
    with its interval. Covers text values and numbers. p is corrected over all changes (Benjamini-Hochberg)."""
    pairs = defaultdict[tuple[str, str, str], list[tuple[float, int, int]]](list)
    for (one, own), (other, others) in combinations(ordered, 2):
        a, b = dict(one), dict(other)
        apart = [key for key in a.keys() | b.keys() if a.get(key) != b.get(key)]
        if len(apart) != 1:
            continue
        low, high = sorted((a.get(apart[0], ""), b.get(apart[0], "")), key=_by_size)
        first, second = (own, others) if a.get(apart[0], "") == low else (others, own)
        before, after = ([scores[run.id].best for run in held] for held in (first, second))
        pairs[apart[0], low, high].append((_mean(after) - _mean(before), len(before), len(after)))
    found = []
    for (key, low, high), held in pairs.items():
        value = float(np.mean([gap for gap, _, _ in held]))
        error = sqrt(sum(pool.error(n, m) ** 2 for _, n, m in held)) / len(held)
        p = two_sided_t(value / error, pool.df) if error > 0 else float(value == 0.0)
        wide = pool.half_width * error
        found.append(PairedEffect(key, low, high, len(held), value, value - wide, value + wide, p, 1.0))
    rates = false_discovery_rates([one.p for one in found])
    told = [replace(one, q=q) for one, q in zip(found, rates, strict=True)]
    return tuple(sorted(told, key=lambda one: (one.q, one.setting, one.before)))


def _by_size(text: str) -> tuple[int, float, str]:
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text


def _settled(found: Sequence[Configuration], pool: _Pool, hours: Mapping[str, float | None]) -> str:
    """One sentence: whether the best configuration is settled, and what would settle it."""
    if len(found) < 2:
        return ""
    if not pool.df:
        return "Each configuration has one run, so nothing tells how much of their differences is chance: not settled"
    lead, second = found[0], min(found[1:], key=lambda one: one.beaten or 0.0)
    name = ", ".join(f"{key} = {value}" for key, value in lead.settings.items()) or lead.runs[0]
    sure = second.beaten or 0.0
    if sure >= SURE:
        return f"{name} is best: better than each other one with a probability of {min(sure, 0.99):.2f} or more"
    gap = abs(lead.mean - second.mean)
    if gap <= 0.0:
        return f"Not settled: {name} and the next are equal"
    wanted = ceil(2.0 * (MANY_DF * pool.sd / gap) ** 2)
    more = max(1, wanted - min(len(lead.runs), len(second.runs)))
    known = [value for run in (*lead.runs, *second.runs) if (value := hours.get(run)) is not None]
    cost = f", about {2 * more * float(np.mean(known)):.3g} hours in all" if known else ""
    if more > MANY:
        return f"Not settled: {name} leads by {gap:.3g}, and chance alone is {pool.sd:.3g} from run to run"
    seeds = f"{counted(more, 'more seed')} of each of the best two"
    return f"Not settled: {name} leads with a probability of {sure:.2f}. {seeds} would settle it{cost}"


MANY = 20
"""Nobody runs more additional seeds than this."""
MANY_DF = 2.1
"""Half the width of a confidence interval at level `SURE`, in standard errors, once more seeds give about 20 degrees
of freedom."""

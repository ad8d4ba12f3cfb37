"""Which settings go with the primary metric over many runs. This is correlation, not proof: settings were not
randomised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import permutations
from math import exp, lgamma, log, sqrt

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from rltui.compare.configs import as_text
from rltui.compare.model import Bin, SettingSignal, Signals
from rltui.frameworks.load import config_meanings
from rltui.prose import counted

Floats = NDArray[np.float64]

EXACT_TO = 8
"""Up to this many pairs, p counts every permutation (40 320); above, Student's t is close enough."""

ROUNDING = 1e-12


def ranks(values: Sequence[float]) -> Floats:
    """Ranks from 1; tied values share the mean of their ranks."""
    array = np.asarray(values, dtype=np.float64)
    _, inverse, counts = np.unique(array, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: Floats = (ends - (counts - 1) / 2)[inverse]
    return means


def spearman(x: Sequence[float], y: Sequence[float]) -> tuple[float, float] | None:
    """Spearman's rho (Pearson's r of mid-ranks, so that ties are right) and its two-sided p.

    Up to `EXACT_TO` pairs, p is exact, from all permutations. Above, it is the p of t = rho sqrt((n-2) / (1-rho²)) with
    n-2 degrees of freedom (Kendall & Stuart, The Advanced Theory of Statistics, vol. 2, §31.19). None if one side is
    constant or there are fewer than three pairs.
    """
    n = len(x)
    if n < 3:
        return None
    a, b = ranks(x), ranks(y)
    a, b = a - a.mean(), b - b.mean()
    scale = sqrt(float(a @ a) * float(b @ b))
    if scale == 0:
        return None
    rho = max(-1.0, min(1.0, float(a @ b) / scale))
    if n <= EXACT_TO:
        all_rhos = (b[_orders(n)] @ a) / scale
        return rho, float((np.abs(all_rhos) >= abs(rho) - ROUNDING).mean())
    if 1 - rho * rho <= ROUNDING:
        return rho, 0.0
    return rho, two_sided_t(rho * sqrt((n - 2) / (1 - rho * rho)), n - 2)


@cache
def _orders(n: int) -> NDArray[np.int8]:
    return np.array(list(permutations(range(n))), dtype=np.int8)


def two_sided_t(t: float, df: int) -> float:
    """P(|T| >= |t|) for Student's t: the regularised incomplete beta function I_x(df/2, 1/2) at x = df / (df + t²)."""
    return _beta_share(df / 2, 0.5, df / (df + t * t))


def _beta_share(a: float, b: float, x: float) -> float:
    """I_x(a, b) by Lentz's continued fraction (Press et al., Numerical Recipes, 3rd ed., §6.4)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(1 - x))
    if x > (a + 1) / (a + b + 2):
        return 1 - front * _fraction(b, a, 1 - x) / b
    return front * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c = 1.0
    d = 1 / (1 - (a + b) * x / (a + 1) or tiny)
    h = d
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / ((1 + term * d) or tiny)
            c = (1 + term / c) or tiny
            h *= d * c
        if abs(d * c - 1) < 1e-14:
            break
    return h


def false_discovery_rates(p_values: Sequence[float]) -> list[float]:
    """Benjamini & Hochberg (1995): for each p, the lowest false discovery rate at which it is still significant."""
    m = len(p_values)
    order = sorted(range(m), key=lambda i: p_values[i], reverse=True)
    out, lowest = [1.0] * m, 1.0
    for place, i in enumerate(order):
        lowest = min(lowest, p_values[i] * m / (m - place))
        out[i] = lowest
    return out


PAIRS = 8  # with fewer pairs no correlation is given
LEVELS = 5  # up to this many distinct numbers, each gets a bin; more are divided into `BINS` bins
BINS = 4
KNOWN_SHARE = 0.5  # a setting that fewer than half of the runs have is left out
Settings = Mapping[str, object]


def signals(settings: Sequence[Settings], values: Sequence[float], higher_is_better: bool = True) -> Signals:
    """The signals of all settings that vary, strongest first. `values`: the primary metric of each run.

    Settings that always change together are one signal with several keys, because no comparison can separate them. If
    one of them has a canonical name, that name comes first. rho is positive if a larger value of the setting goes with
    a better metric. p is corrected over all signals (`q`, Benjamini-Hochberg). A setting in which only one run differs
    is not tested: no order of the runs would be surprising.
    """
    known = config_meanings()
    keys = sorted({key for one in settings for key in one}, key=lambda key: (key not in known, key))
    constants = 0
    alike: dict[tuple[tuple[int, ...], tuple[str, ...]], list[str]] = {}
    for key in keys:
        held = [i for i, one in enumerate(settings) if one.get(key) is not None]
        if len(held) < 2 or len(held) < KNOWN_SHARE * len(settings):
            continue
        if len({as_text(settings[i][key]) for i in held}) < 2:
            constants += 1
            continue
        if len(held) < 3:
            continue
        alike.setdefault((tuple(held), _pattern([settings[i][key] for i in held])), []).append(key)
    sign = 1.0 if higher_is_better else -1.0
    found = [
        _signal(names, [(settings[i][names[0]], values[i]) for i in held], sign) for (held, _), names in alike.items()
    ]
    rates = iter(false_discovery_rates([s.p for s in found if s.p is not None]))
    rated = [replace(s, q=next(rates)) if s.p is not None else s for s in found]
    rated.sort(key=lambda s: (s.q if s.q is not None else 2.0, s.setting not in known, -(s.gap or 0.0), s.setting))
    return Signals(tuple(rated), constants, _note(len(settings), rated))


def _pattern(values: Sequence[object]) -> tuple[str, ...]:
    """A pattern that is equal for settings that divide the runs in the same way. Numbers are replaced by rank, words by
    order of first appearance."""
    if all(_number(v) is not None for v in values):
        order = {x: i for i, x in enumerate(sorted({_number(v) or 0.0 for v in values}))}
        return tuple(f"#{order[_number(v) or 0.0]}" for v in values)
    seen: dict[str, int] = {}
    return tuple(str(seen.setdefault(as_text(v), len(seen))) for v in values)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float) else None


def _signal(keys: Sequence[str], pairs: Sequence[tuple[object, float]], sign: float) -> SettingSignal:
    numbers = [x for value, _ in pairs if (x := _number(value)) is not None]
    numeric = len(numbers) == len(pairs)
    good = [g * sign for _, g in pairs]
    most = max(Counter(numbers).values(), default=0)
    testable = numeric and len(pairs) >= PAIRS and len(pairs) - most > 1
    found = spearman(numbers, good) if testable else None
    bins = _bins(pairs, numeric)
    means = [b.mean for b in bins if b.n > 1]
    return SettingSignal(
        setting=keys[0],
        keys=tuple(keys),
        n=len(pairs),
        rho=found[0] if found else None,
        p=found[1] if found else None,
        q=None,
        bins=bins,
        gap=max(means) - min(means) if len(means) > 1 else None,
    )


def _bins(pairs: Sequence[tuple[object, float]], numeric: bool) -> tuple[Bin, ...]:
    """Mean of the primary metric for each value, or for each quarter of the runs if there are more than `LEVELS`
    numbers."""
    import polars as pl

    frame = pl.DataFrame(
        {
            "text": [as_text(value) for value, _ in pairs],
            "x": [_number(value) if numeric else None for value, _ in pairs],
            "good": [good for _, good in pairs],
        },
        schema={"text": pl.String, "x": pl.Float64, "good": pl.Float64},
    )
    if numeric and frame["x"].n_unique() > LEVELS:
        part = ((pl.col("x").rank("average") - 0.5) * BINS / pl.len()).floor().cast(pl.Int64)
        grouped = frame.with_columns(part.alias("part")).group_by("part").agg(
            pl.col("x").min().alias("low"), pl.col("x").max().alias("high"), pl.len().alias("n"), pl.col("good").mean()
        ).sort("part")  # fmt: skip
        return tuple(
            Bin(as_text(low) if low == high else f"{as_text(low)} to {as_text(high)}", n, good)
            for _, low, high, n, good in grouped.iter_rows()
        )
    by = ["x", "text"] if numeric else ["text"]
    grouped = frame.group_by("text").agg(pl.col("x").first(), pl.len().alias("n"), pl.col("good").mean()).sort(by)
    return tuple(Bin(text, n, good) for text, _, n, good in grouped.iter_rows())


def _note(runs: int, found: Sequence[SettingSignal]) -> str:
    tested = sum(s.p is not None for s in found)
    if runs < 3:
        return f"{counted(runs, 'run')} with the metric: nothing can be attributed"
    if not found:
        return "no setting varies over the runs: there is nothing to attribute"
    head = "attribution, not proof: settings were not randomised"
    if not tested:
        return f"{head}. No number varies over {PAIRS} runs or more, so no correlation is given"
    return (
        f"{head}. {tested} settings were tested over {runs} runs, so about {0.05 * tested:.1f} would show p < .05 by "
        "chance alone: q is the expected share of false discoveries, so trust q < .05. A setting in which only one run "
        "differs is not tested"
    )

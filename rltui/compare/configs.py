"""Config values as text, the difference between two configs, the usual values of many, and what the good runs share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rltui.compare.model import Change, ConfigDiff
from rltui.text import clean

TEXT_LIMIT = 80
SHARED = 0.5  # if a larger share of the other runs has the value too, it does not set the good runs apart


def as_text(value: object) -> str:
    """A value in one spelling: 1e-06 for 0.000001, 1 for 1.0; words unchanged, but cut after `TEXT_LIMIT`
    characters."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "none"}[value]
    if isinstance(value, int | float):
        return f"{float(value):.10g}"
    return clean(str(value), TEXT_LIMIT)


def diff(a: str, config_a: Mapping[str, object], b: str, config_b: Mapping[str, object]) -> ConfigDiff:
    """Keys whose values differ; a value is None if that side does not have the key."""
    keys = sorted(config_a.keys() | config_b.keys())
    changes = []
    for key in keys:
        left, right = (as_text(c[key]) if key in c else None for c in (config_a, config_b))
        if left != right:
            changes.append(Change(key, left, right))
    return ConfigDiff(a, b, tuple(changes), len(keys) - len(changes))


def usual(configs: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The most frequent value of each setting that more than half of the runs have. Among equally frequent values it is
    the first in alphabetical order."""
    out: dict[str, object] = {}
    for key in sorted({key for config in configs for key in config}):
        values = [config[key] for config in configs if config.get(key) is not None]
        if len(values) * 2 > len(configs):
            text, _ = max(sorted(Counter(map(as_text, values)).items()), key=lambda item: item[1])
            out[key] = next(value for value in values if as_text(value) == text)
    return out


def shared_by(
    good: Sequence[Mapping[str, object]], others: Sequence[Mapping[str, object]]
) -> list[tuple[str, str, int]]:
    """(key, value, number of others with it) for each setting whose value all good runs share and at most half of the
    others have."""
    if len(good) < 2 or not others:
        return []
    out = []
    for key in sorted(set.intersection(*(set(config) for config in good))):
        values = {as_text(config[key]) for config in good}
        told = [as_text(config[key]) for config in others if config.get(key) is not None]
        if len(values) == 1 and told:
            value = values.pop()
            if told.count(value) <= SHARED * len(told):
                out.append((key, value, told.count(value)))
    return out

"""Which framework wrote a run, in which version, and with which algorithm it trains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np

from rltui.frameworks.dialect import Dialect
from rltui.frameworks.load import algorithms, dialect
from rltui.frameworks.schema import GENERIC
from rltui.run.config import ConfigValue, normalized
from rltui.run.table import Table

_STATING = ("policy_loss_mode", "importance_sampling_level", "adv_estimator", "dynamic_sampling")
"""Config values that state an algorithm."""
_TEXT_VERSION = r"\b{}[ =@v_-]{{1,3}}(\d+\.\d+(?:\.\d+)?)"


def stated_version(framework: str, texts: Iterable[str]) -> str | None:
    """The version that the run's own text states ("verl 0.7.0", "trl==1.16.0")."""
    pattern = re.compile(_TEXT_VERSION.format(re.escape(framework)), re.IGNORECASE)
    return next((match[1] for text in texts if (match := pattern.search(text))), None)


def algorithm(
    dialect_name: str,
    config: Mapping[str, ConfigValue],
    raw: Mapping[str, ConfigValue],
    keys: Mapping[str, str],
    texts: Iterable[str],
    table: Table,
) -> str | None:
    """The algorithm: from the config, else the only one of this dialect, else from the log's words, else from the
    logged metrics. If the metrics show that training is on pairs, the words only decide which kind it is. None if
    unknown. `keys`: canonical name -> raw key."""
    known, canonical = algorithms(), set(keys)
    stated = stated_algorithm(dialect_name, config, raw)
    if stated is not None:
        return stated
    present = [name for name, keys in known.by_key if canonical.intersection(keys)]
    words = "\n".join((*texts, *table.columns))
    told = (name for name, text in known.by_text if text in words)
    if "DPO" in present:
        named = next((name for name in told if name in known.of_likelihood), None)
        return named or (known.of_likelihood[0] if _of_own_likelihood(table, keys) else "DPO")
    named = next(told, None)
    if named is not None:
        return named
    if present:
        return present[0]
    parts = (
        dialect_name != GENERIC and "reward_component_mean" in canonical
    )  # any home-made loop may log parts of its reward
    return "GRPO" if _returns_are_advantages(table) or parts else None


def stated_algorithm(
    dialect_name: str, config: Mapping[str, ConfigValue], raw: Mapping[str, ConfigValue]
) -> str | None:
    """The algorithm without looking at rows: from the config, else the only one of this dialect. `raw`: every key of
    the config, where a loop may name its algorithm in its own words."""
    names = dialect(dialect_name)
    stated = _by_config(names, config) or names.algorithm
    if stated is not None:
        return stated
    theirs = frozenset() if names.name == GENERIC else _last_parts(dialect_name)
    return _by_own_words({k: entry for k, entry in raw.items() if normalized(k).rpartition(".")[2] not in theirs})


@lru_cache(maxsize=64)
def _last_parts(dialect_name: str) -> frozenset[str]:
    """The last parts of the keys of a dialect's settings."""
    return frozenset(key.rpartition(".")[2] for keys in dialect(dialect_name).config.values() for key in keys)


def _by_own_words(raw: Mapping[str, ConfigValue]) -> str | None:
    """The algorithm that a setting names, among keys that may name one; the clearest key first."""
    known = algorithms()
    texts: dict[str, str] = {}
    for key, entry in raw.items():
        if isinstance(entry.value, str):
            texts.setdefault(normalized(key).rpartition(".")[2].lower(), entry.value.lower())
    for key in known.config_keys:
        text = texts.get(key)
        if not text:
            continue
        found = {known.by_value[word] for word in (text, text.replace("-", "_")) if word in known.by_value}
        found = found or {
            known.by_value[word] for word in re.split(r"[^a-z+]+|trainer", text) if word in known.by_value
        }
        if len(found) == 1:
            return found.pop()
    return None


def algorithm_words(dialect_name: str) -> set[str]:
    """The words which show that a text states an algorithm: config keys and the names of algorithms."""
    own = set(algorithms().config_keys) if dialect_name == GENERIC else set()
    return _stating(dialect_name) | own | {text for _, text in algorithms().by_text}


def algorithm_keys(dialect_name: str) -> set[str]:
    """The keys of a config that may state an algorithm."""
    return _stating(dialect_name) | set(algorithms().config_keys)


def may_tell_algorithm(value: str) -> bool:
    """Whether the value of such a key distinguishes algorithms; "vanilla" and "False" do not."""
    word = value.lower()
    return any(name in word for name in algorithms().by_value) or word in ("true", "sequence")


def _stating(dialect_name: str) -> set[str]:
    config = dialect(dialect_name).config
    return {key.rpartition(".")[2] for name in _STATING for key in config.get(name, ())}


def _by_config(names: Dialect, config: Mapping[str, ConfigValue]) -> str | None:
    known = algorithms()

    def text(name: str) -> str:
        return str(config[name].value).strip().lower() if name in config else ""

    if text("policy_loss_mode") == "gspo" or text("importance_sampling_level") == "sequence":
        return "GSPO"
    value = text("adv_estimator")
    if names.conventions.loss_type_only_averages or value not in known.by_value:
        return None
    found = known.by_value[value]
    return "DAPO" if found == "GRPO" and text("dynamic_sampling") == "true" else found


def _of_own_likelihood(table: Table, keys: Mapping[str, str]) -> bool:
    """Whether the rewards of both answers of a pair are the same multiple of their log-probabilities in the first rows,
    and not a difference from those of a reference model, as in ORPO, SimPO and CPO."""
    shares, logps = [], []
    for answer in ("chosen", "rejected"):
        reward, own = (table.series(keys.get(f"dpo_{of}_{answer}", "")) for of in ("reward", "logps"))
        if reward is None or own is None or not np.array_equal(reward.rows[:FIRST_ROWS], own.rows[:FIRST_ROWS]):
            return False
        with np.errstate(divide="ignore", invalid="ignore"):
            shares.append(reward.values[:FIRST_ROWS] / own.values[:FIRST_ROWS])
        logps.append(own.values[:FIRST_ROWS])
    share, own_all = np.concatenate(shares), np.abs(np.concatenate(logps))
    if len(share) < 2 * LEAST_PAIRS or not np.isfinite(share).all() or share.min() <= 0.0:
        return False
    alike = float(np.ptp(share)) <= ROUNDED * float(share.min())
    return alike and float(np.ptp(own_all)) > VARIED * float(own_all.min())


FIRST_ROWS, LEAST_PAIRS = 8, 3
"""The most and the fewest rows that show whether there is a reference model: later rows change nothing."""
ROUNDED, VARIED = 0.02, 0.05
"""A multiple may vary by the first share, as loggers round. The log-probabilities must vary by more than the second."""


def _returns_are_advantages(table: Table) -> bool:
    """Whether returns equal advantages: verl's group-relative estimators have no critic and use each token's advantage
    as its return."""
    ends = [(table.series(f"critic/advantages/{end}"), table.series(f"critic/returns/{end}")) for end in ("max", "min")]
    if any(a is None or r is None or not len(a) or len(a) != len(r) for a, r in ends):
        return False
    return all(a is not None and r is not None and bool((a.values == r.values).all()) for a, r in ends)

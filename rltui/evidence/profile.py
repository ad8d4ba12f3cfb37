"""What kind of run this is: algorithm, KL, group, reward scale, stage. Rules adapt to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from rltui.evidence.blocks import Blocks
from rltui.frameworks.dialect import Dialect
from rltui.frameworks.load import algorithms
from rltui.frameworks.resolve import bare_key
from rltui.frameworks.schema import GENERIC
from rltui.run.run import ConfigValue, Run
from rltui.run.table import Floats, Series

Stage = Literal["before", "warm-up", "early", "mid", "late"]

WARM_UP_ROWS = 10
EARLY_STEPS = 100  # for a run of unknown length
FINAL_SHARE = 0.7
FAR = 20.0  # times the range of the middle nine tenths: a success is worth at most ten or twenty times the format
STRAYS = 50  # at most one value in this many is a stray: what is more frequent belongs to the scale
STANDS = 10  # rows in a row at exactly the same lowest value: then it is a bound of the reward, wherever it lies
DATA_FILE = re.compile(r"[^\s,'\"\[\](){}=]+\.(?:parquet|jsonl?|arrow|csv|tsv)\b")
"""A data file in a config value, which may be one path or a list. A name on a hub does not show the split."""
TOUCHES = 3  # a batch mean repeats its exact extreme only if that is a bound of the reward


class RunSettings(Struct, frozen=True):
    """The part of the profile that the config states. None = not known."""

    algorithm: str | None
    planned_steps: int | None
    group_relative: bool | None
    critic: bool
    preference: bool
    of_likelihood: bool  # preference training without a reference model
    group_size: float | None
    lr: float | None
    kl_coef: float | None  # of the active path; 0 if KL is off
    kl_where: Literal["loss", "reward"] | None
    length_cap: float | None
    one_update: bool | None  # one update per rollout: ratio is 1 and clip fraction 0 by construction
    config: Mapping[str, ConfigValue] = field(default_factory=dict)
    earlier: tuple[tuple[int, RunSettings], ...] = ()
    """For each launch that began with other settings: its first step, and the settings until then. Oldest first."""
    since: int | None = None  # the first step of the launch that began with these settings; None: they are the first

    def at(self, step: int) -> RunSettings:
        """The settings that the row of this step was made with."""
        return next((then for until, then in self.earlier if step < until), self)

    def number(self, key: str) -> float | None:
        """An active config value as a number; None if it is absent, not a number or on the path not taken."""
        entry = self.config.get(key)
        return number(self.config, key) if entry is not None and entry.active else None

    def word(self, key: str) -> str:
        """An active config value in lower case; empty if there is none."""
        entry = self.config.get(key)
        return str(entry.value).lower() if entry is not None and entry.active and entry.value is not None else ""

    @property
    def shared_data(self) -> str:
        """A file that both training and validation read, if validation reads no other; else empty."""
        trained, held_out = (DATA_FILE.findall(self.word(key)) for key in ("train_data", "val_data"))
        return held_out[0] if held_out and set(held_out) <= set(trained) else ""

    @staticmethod
    def of(run: Run) -> RunSettings:
        """The settings from the resolved config; what it does not state stays None."""
        since: int | None = None
        earlier: list[tuple[int, RunSettings]] = []
        for until, config in run.earlier_configs:
            earlier.append((until, replace(RunSettings._told(run, config), since=since)))
            since = until
        return replace(RunSettings._told(run, run.config), earlier=tuple(earlier), since=since)

    @staticmethod
    def _told(run: Run, config: Mapping[str, ConfigValue]) -> RunSettings:
        estimator = str(_plain(config, "adv_estimator") or "").lower()
        algorithm = (run.algorithm or "").lower()
        names = f"{estimator} {algorithm}"
        group: bool | None = None
        if any(part in names for part in algorithms().of_groups):
            group = True
        elif any(part in names for part in algorithms().of_samples):
            group = False
        coef, where = _kl(config)
        epochs, mini, batch = (number(config, k) for k in ("ppo_epochs", "mini_batch", "train_batch_prompts"))
        updates = None if epochs is None else epochs * (batch / mini if batch and mini else 1.0)
        return RunSettings(
            algorithm=run.algorithm,
            planned_steps=run.planned_steps,
            group_relative=group,
            critic="gae" in names or "ppo" in algorithm,
            preference=algorithm in {name.lower() for name in algorithms().preference},
            of_likelihood=algorithm in {name.lower() for name in algorithms().of_likelihood},
            group_size=number(config, "group_size"),
            lr=number(config, "lr"),
            kl_coef=coef,
            kl_where=where,
            length_cap=number(config, "max_response_length"),
            one_update=None if updates is None else updates <= 1,
            config=config,
        )


class HasRows(Protocol):
    """The first rows of a run (`Look`), as far as a profile needs them."""

    n: int
    step: int
    dialect: Dialect
    settings: RunSettings

    @property
    def reward(self) -> str: ...

    def logged(self, name: str) -> Series | None: ...

    def series(self, name: str) -> Series | None: ...

    def is_zero(self, name: str) -> bool: ...

    def values(self, name: str) -> Floats: ...

    def blocks(self, name: str) -> Blocks | None: ...


class Profile(Struct, frozen=True):
    """What the rows so far show beyond the config. `floor` and `ceiling` bound the task reward; None = not known."""

    floor: float | None
    ceiling: float | None
    spread: float  # range of the reward: ceiling - floor if both are known, else what was seen
    stage: Stage
    kl_per_token: bool
    kl_unit_known: bool  # else the KL may be summed over the sequence
    on_policy: bool | None

    @property
    def bottom(self) -> float | None:
        """Where the range begins: the floor, or the lowest value that was seen below a known ceiling."""
        return self.ceiling - self.spread if self.floor is None and self.ceiling is not None else self.floor

    @staticmethod
    def of(look: HasRows) -> Profile:
        floor, ceiling, spread = _reward_scale(look)
        return Profile(floor, ceiling, spread, _stage(look), _per_token(look), _unit_known(look), _on_policy(look))


def number(config: Mapping[str, ConfigValue], key: str) -> float | None:
    """A config value as a number, None if it is absent or not a number."""
    value = _plain(config, key)
    if isinstance(value, bool) or value is None:
        return None
    try:
        out = float(str(value))
    except ValueError:
        return None
    return out if isfinite(out) else None


def _plain(config: Mapping[str, ConfigValue], key: str) -> object:
    entry = config.get(key)
    return entry.value if entry is not None else None


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    text = str(value).lower()
    return {"true": True, "1": True, "false": False, "0": False}.get(text)


def _kl(config: Mapping[str, ConfigValue]) -> tuple[float | None, Literal["loss", "reward"] | None]:
    """Coefficient and place of the active KL term; (0, None) if KL is known to be off."""
    in_loss = config.get("kl_coef_loss")
    use = _truth(_plain(config, "use_kl_loss"))
    in_reward = config.get("kl_in_reward")
    if in_reward is not None and in_reward.active:
        switched = _truth(in_reward.value)
        value = number(config, "kl_in_reward")
        if switched is True or (switched is None and value):
            return (number(config, "kl_coef_reward") or value), "reward"
    if in_loss is None:
        return (0.0, None) if use is False else (None, None)
    value = number(config, "kl_coef_loss")
    if use is False or not in_loss.active or value == 0:
        return 0.0, None
    return value, "loss"


def _reward_scale(look: HasRows) -> tuple[float | None, float | None, float]:
    """Floor, ceiling and range of the task reward.

    They come from the batch minimum and maximum if logged; else from an extreme that the batch mean reached exactly,
    several times; else 0 and 1 for a mean that stays within them. If a mean lies further above 0 than it ever moved,
    its floor is not known to be 0. Strays do not count.
    """
    name = look.reward
    blocks = look.blocks(name)
    if blocks is None:
        return None, None, 0.0
    low, high = -_highest(-blocks.lows), _highest(blocks.highs)
    least = look.blocks("score_min" if name == "score_mean" else "reward_min")
    most = look.blocks("score_max" if name == "score_mean" else "reward_max")
    floor = -_highest(-least.lows) if least is not None else None
    ceiling = _highest(most.highs) if most is not None else None
    if floor is not None and ceiling is not None and ceiling > floor:
        return floor, ceiling, ceiling - floor
    recent = look.values(name)[-200:]
    if floor is None:
        if low >= 0.0 and high <= 1.0:
            floor = 0.0
        elif low <= 0.0 and np.count_nonzero(recent == low) >= TOUCHES:
            floor = low
        elif low > 0.0 and high > low:
            floor = low if _stands(recent, low) else 0.0 if low < high - low else None
    if ceiling is None:
        if high > max(0.0, low) and np.count_nonzero(recent >= high - 1e-9) >= TOUCHES:
            ceiling = high
        elif low >= 0.0 and 0.0 < high <= 1.0 and (high > 0.5 or _may_be_of_one(recent)):
            ceiling = 1.0
    if floor is not None and ceiling is not None and ceiling > floor:
        return floor, ceiling, ceiling - floor
    return floor, ceiling, high - (floor if floor is not None else low)


MOST_SAMPLES = 16_384
"""Responses of a step: hardly any run has more."""


def _may_be_of_one(x: Floats) -> bool:
    """Whether a low mean may come from rewards up to 1. With as many rewards of 0 and 1 as a step may have, it is
    noisier than the mean of rewards of at most a tenth."""
    x = x[np.isfinite(x)]
    if len(x) < 2:
        return True
    mean, variance = float(x.mean()), float(np.diff(x).var()) / 2
    return variance * MOST_SAMPLES >= mean * (1.0 - mean)


def _stands(x: Floats, level: float) -> bool:
    """Whether it is exactly at this level for so many rows in a row that rounding cannot explain it."""
    at = np.flatnonzero(np.diff(np.concatenate(([0], x == level, [0]))))
    return bool(len(at)) and int((at[1::2] - at[::2]).max()) >= STANDS


def _highest(x: Floats) -> float:
    """Largest value except strays: a few points so far above the rest that they belong to another scale. One such
    reward would otherwise put all others at the floor. If most values are equal, all count: rare successes look like
    that."""
    n = len(x)
    ordered = x.copy()
    ordered.sort()
    low, high, top = float(ordered[n // 20]), float(ordered[n - 1 - n // 20]), float(ordered[-1])
    limit = high + FAR * (high - low)
    if n < STRAYS or high == low or top <= limit:
        return top
    kept = int(ordered.searchsorted(limit, side="right"))
    return float(ordered[kept - 1]) if n - kept <= n // STRAYS else top


def _stage(look: HasRows) -> Stage:
    if not look.n:
        return "before"
    if look.n <= WARM_UP_ROWS:
        return "warm-up"
    planned = look.settings.planned_steps
    if not planned:
        return "early" if look.step <= EARLY_STEPS else "mid"
    if look.step <= max(30, 0.1 * planned):
        return "early"
    return "late" if look.step > FINAL_SHARE * planned else "mid"


def _per_token(look: HasRows) -> bool:
    """Whether the KL is a mean over tokens; a few trainers log it summed over the sequence."""
    series, names = look.series("kl_ref"), look.dialect
    return series is None or bare_key(series.key, names.name) not in names.aliases.get("kl_ref_sequence", ())


FIRST_KL, FIRST_ROWS = 0.005, 5
"""The policy is close to the reference in its first rows: a mean over tokens is 1e-4 to 1e-3 there (published runs), a
sum over some hundred tokens a hundred times as much."""


def _unit_known(look: HasRows) -> bool:
    """Whether the framework, the key or the first rows of the run show the unit of its KL."""
    series = look.series("kl_ref")
    if series is None or look.dialect.name != GENERIC or not _per_token(look) or "token" in series.key.lower():
        return True
    begins = series.steps[0] <= FIRST_ROWS and float(np.abs(series.values[:FIRST_ROWS]).min()) <= FIRST_KL
    return bool(begins)


def _on_policy(look: HasRows) -> bool | None:
    if look.settings.one_update is not None:
        return look.settings.one_update
    for name in ("ppo_kl", "clip_frac"):
        logged = look.logged(name)
        if logged is not None and len(logged) > 5:
            return look.is_zero(name)
    return None

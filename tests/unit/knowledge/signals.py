"""Questions about single rules: for which metrics, codes and words they speak."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace

from rltui.evidence.beside_rows import Measured
from rltui.evidence.look import Look
from rltui.rules.base import REGISTERED
from rltui.rules.catalogue import rules
from rltui.rules.config import NEVER
from rltui.rules.hardware import FATAL_XIDS, SLOWING
from rltui.rules.logged import CORE, POISON, UPDATE
from rltui.rules.measured_invariants import FINITE, LOSSES, SHARES
from tests.unit.diagnosis.machines import gpus, sampled
from tests.unit.rules.given import Rows, feed_of

Question = tuple[str, list[Any]]
N = 280
SPOILT = 200
"""Rows of a run, and from which row on something is wrong."""


def _signals(rule: str, seen: Any) -> list[list[Any]]:
    (one,) = (d for d in REGISTERED if d.rule == rule and d.sees is type(seen))
    memory: dict[str, float] = {}
    found = one.detect(seen, rules()[rule].values(), memory) if one.able(seen) else []
    return [[s.level, s.stage, s.subject] for s in found]


def spoilt(rule: str, metric: str, value: float | str) -> Any:
    """What a rule says of a metric that is "nan", "missing", or of a size that it was not: level, stage, subject."""
    wrong = {"nan": np.nan, "missing": None}.get(value, value) if isinstance(value, str) else value
    run = Rows({metric: [0.5] * SPOILT + [wrong] * (300 - SPOILT)}).run()
    return _signals(rule, Look(feed_of(run), N, {}))


def configured(rule: str, settings: dict[str, Any], planned: int) -> Any:
    """What a rule says of settings."""
    return _signals(rule, Look(feed_of(Rows({}, settings, planned=planned).run()), N, {}))


def broken(fields: dict[str, Any]) -> Any:
    """What is said of a machine of which GPU 3 shows this from the fourth step on."""
    told = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
    now = tuple(replace(gpu, **told) if gpu.index == 3 else gpu for gpu in gpus())
    run = sampled(8, cards=lambda step: now if step >= 4 else gpus())
    seen = Measured.of(run, Look(feed_of(run), run.history.table.n, {}), now=False)
    return _signals("gpu-fault-or-throttle", seen)


KINDS = {one.__name__: one for one in (spoilt, configured, broken)}


def questions() -> Iterator[Question]:
    for metric in dict.fromkeys((*POISON, *UPDATE, *CORE, "lr")):
        yield "spoilt", ["nonfinite-values", metric, "nan"]
        yield "spoilt", ["metric-vanished", metric, "missing"]
    for metric in dict.fromkeys((*SHARES, *LOSSES, *FINITE, "entropy", "kl_ref", "response_length_mean")):
        for value in (-0.5, 1.000005, 1e7, "nan"):
            yield "spoilt", ["invariant-violated", metric, value]
    for word in (*NEVER, "steps", "epoch"):
        for planned in (6, 49, 51, 499):
            yield "configured", ["cfg-no-checkpoint-or-eval", {"save_strategy": word}, planned]
    for planned in (6, 49, 51, 499):
        yield "configured", ["cfg-no-checkpoint-or-eval", {"save_strategy": "no", "save_freq": 20}, planned]
    for code in (*FATAL_XIDS, 13, 31, 43, 119):
        yield "broken", [{"xids": [code]}]
    for reason in (*SLOWING, "power cap", "idle"):
        yield "broken", [{"throttle": [reason], "sm_clock_mhz": 990}]

"""Sweeps whose truth is known: what each setting does to the metric, how far seeds lie apart, which runs broke."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
from msgspec import Struct

BEST_LR = -5.5
"""Tenth power of the learning rate at which the metric is highest."""


class Sweep(Struct, frozen=True):
    """`truth`: the mean of each configuration by (lr, group, warmup). The others are as compare has them."""

    runs: list[Any]
    scores: dict[str, Any]
    broken: dict[str, str]
    truth: dict[tuple[float, int, int], float]


def true_mean(lr: float, group: int) -> float:
    """An optimum in the learning rate, a little for larger groups; the warm-up does nothing."""
    return 0.6 - 0.2 * (np.log10(lr) - BEST_LR) ** 2 + (0.03 if group == 16 else 0.0)


def sweep(seed: int, seeds: int = 3, sd: float = 0.02) -> Sweep:
    """Three rates, two group sizes, two warm-ups (which do nothing), `seeds` runs each; one run broke, one is short."""
    draw = np.random.default_rng(seed)
    runs, scores, broken, truth = [], {}, {}, {}
    for lr, group, warmup in product((1e-6, 3e-6, 1e-5), (8, 16), (0, 20)):
        truth[lr, group, warmup] = true_mean(lr, group)
        for number in range(seeds):
            name = f"lr{lr:g}-g{group}-w{warmup}-s{number}"
            settings = {"lr": lr, "group_size": group, "lr_warmup_steps": warmup}
            runs.append(run(name, settings))
            scores[name] = SimpleNamespace(best=truth[lr, group, warmup] + float(draw.normal(0, sd)))
    broken[runs[0].id] = "broke: nan"
    scores[runs[0].id].best = -3.0
    runs[-1] = run(runs[-1].id, dict(runs[-1].settings), last_step=40)
    scores[runs[-1].id].best = 0.1
    return Sweep(runs, scores, broken, truth)


def run(name: str, settings: dict[str, Any], last_step: int = 200, **more: Any) -> Any:
    """As much of a compared run as its configuration needs."""
    held = {"model": "m", "algorithm": "GRPO", "curves": {}, "state": "finished", "raw_config": {}, **more}
    return SimpleNamespace(id=name, settings=settings, last_step=last_step, **held)

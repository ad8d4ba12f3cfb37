"""Runs in which nothing is wrong: courses of learning of several shapes, scales, noises and ways of logging."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Column = np.ndarray

SHAPES = ("quick", "steady", "slow start", "two stages")
NOISES = ("white", "wandering", "heavy tails")
SCALES: dict[str, tuple[float, float]] = {
    "share": (0.0, 1.0),
    "percent": (0.0, 100.0),
    "signed": (-1.0, 2.0),
    "reward model": (-3.0, 8.0),
}
"""Lowest reward and width of its range."""
EVERY = (1, 2, 5, 10)
MISSING: tuple[tuple[str, ...], ...] = (
    (),
    (),
    ("val_score",),
    ("kl_ref",),
    ("entropy",),
    ("frac_reward_zero_std", "clip_frac", "ppo_kl"),
    ("val_score", "kl_ref", "ppo_kl", "clip_frac", "response_clip_ratio"),
)


@dataclass(slots=True)
class World:
    """One run at every step from 1 to `length`. `gain` is the noiseless share of what can be learnt; `columns` hold
    canonical metrics with noise. A row is written every `every` steps and holds the mean of the steps since the one
    before, as trainers do. `planned` steps were announced."""

    seed: int
    length: int
    every: int
    scale: str
    shape: str
    noise: str
    missing: tuple[str, ...]
    planned: int
    rng: np.random.Generator
    gain: Column
    columns: dict[str, Column] = field(default_factory=dict)
    kept: dict[str, Column] = field(default_factory=dict)

    def __str__(self) -> str:
        kind = f"{self.shape}, {self.noise}, {self.scale}, without {', '.join(self.missing) or 'nothing'}"
        return f"{self.length} steps, a row every {self.every}, {kind}"

    @property
    def low(self) -> float:
        return SCALES[self.scale][0]

    @property
    def width(self) -> float:
        return SCALES[self.scale][1]

    def wiggle(self, sd: float = 1.0) -> Column:
        """Noise of this world's kind, a value a step."""
        e = self.rng.standard_normal(self.length)
        if self.noise == "heavy tails":
            e = self.rng.standard_t(3, self.length) / np.sqrt(3.0)
        if self.noise == "wandering":
            for i in range(1, self.length):
                e[i] = 0.6 * e[i - 1] + 0.8 * e[i]
        return sd * e

    def rewarded(self, share: Column, sd: float = 0.04) -> Column:
        """Rewards of a policy that gets `share` of what there is to get."""
        noisy = np.clip(share + self.wiggle(sd), 0.0, 1.0)
        return self.low + self.width * noisy

    def rows(self) -> tuple[list[int], dict[str, list[float | None]]]:
        """Steps and columns as they are logged. Validation is a row of its own cadence, None between."""
        ends = list(range(self.every, self.length + 1, self.every))
        logged: dict[str, list[float | None]] = {}
        for name, x in self.columns.items():
            if name in self.missing:
                continue
            if name == "val_score":
                logged[name] = [_newest(x[end - self.every : end]) for end in ends]
            elif name.endswith("_max"):
                logged[name] = x[: ends[-1]].reshape(-1, self.every).max(axis=1).tolist()
            else:
                logged[name] = x[: ends[-1]].reshape(-1, self.every).mean(axis=1).tolist()
        return ends, logged


def _newest(x: Column) -> float | None:
    seen = x[~np.isnan(x)]
    return float(seen[-1]) if len(seen) else None


def _course(shape: str, length: int) -> Column:
    """Share of what can be learnt, from 0 to 1, without noise."""
    t = np.arange(1, length + 1) / length
    if shape == "quick":
        return np.asarray(1.0 - np.exp(-6.0 * t))
    if shape == "steady":
        return np.asarray(t)
    if shape == "slow start":
        return np.asarray(1.0 / (1.0 + np.exp(-12.0 * (t - 0.45))))
    return np.asarray(0.5 * (1.0 - np.exp(-12.0 * t)) + 0.5 / (1.0 + np.exp(-20.0 * (t - 0.6))))


AHEAD = 0.35
"""Of the runs: KL sets out at once and comes to a stand, whenever the reward begins to rise. A small model, or a large
learning rate, leaves its reference long before it has learnt anything."""


def healthy(seed: int) -> World:
    """A run that learns. Its levels are ones that healthy public runs show; all of them are drawn anew."""
    rng = np.random.default_rng([2026, seed])
    length = int(rng.choice([200, 300, 400, 600, 1000]))
    every = int(rng.choice(EVERY, p=[0.55, 0.15, 0.15, 0.15]))
    length = max(length, 60 * every)
    shape, noise, scale = str(rng.choice(SHAPES)), str(rng.choice(NOISES)), str(rng.choice(list(SCALES)))
    missing = MISSING[int(rng.integers(len(MISSING)))]
    planned = length if rng.random() < 0.5 else int(length * 1.5)
    w = World(seed, length, every, scale, shape, noise, missing, planned, rng, _course(shape, length))
    first, most = rng.uniform(0.1, 0.35), rng.uniform(0.55, 0.85)
    share = first + (most - first) * w.gain
    ent, kl, tokens = rng.uniform(0.3, 1.2), 10 ** rng.uniform(-2.2, -1.0), rng.uniform(150, 1500)
    seconds, grad = 10 ** rng.uniform(0.3, 2.0), 10 ** rng.uniform(-1.0, 0.5)
    zero = rng.uniform(0.05, 0.35)
    val = np.full(length, np.nan)
    at = np.arange(max(1, length // 20) - 1, length, max(1, length // 20))
    val[at] = np.clip(share[at] - 0.05 + 0.012 * rng.standard_normal(len(at)), 0, 1)
    w.kept = {"share": share}
    apart = np.random.default_rng([2027, seed])  # so that all else is drawn as before
    course = kl * w.gain
    if apart.random() < AHEAD:
        steps = np.arange(1, length + 1)
        course = apart.uniform(0.03, 0.13) * (1.0 - np.exp(-steps / apart.uniform(20, 120))) ** apart.uniform(0.8, 2.0)
    w.columns = {
        "score_mean": w.rewarded(share),
        "reward_std": w.width * np.abs(0.4 * np.sqrt(np.clip(share * (1 - share), 0.01, 1)) + w.wiggle(0.01)),
        "kl_ref": np.abs(1e-4 + course * (1 + w.wiggle(0.08))),
        "entropy": np.maximum(0.02, ent * (1 - rng.uniform(0.1, 0.45) * w.gain) * (1 + w.wiggle(0.04))),
        "grad_norm": grad * np.exp(w.wiggle(0.2)),
        "response_length_mean": tokens * (1 + rng.uniform(-0.15, 0.35) * w.gain) * np.exp(w.wiggle(0.04)),
        "response_clip_ratio": np.clip(0.01 + w.wiggle(0.006), 0, 1),
        "frac_reward_zero_std": np.clip(zero + 0.1 * w.gain + w.wiggle(0.03), 0, 1),
        "pg_loss": w.wiggle(0.01),
        "lr": np.full(length, 1e-6),
        "clip_frac": np.clip(0.01 + w.wiggle(0.003), 0, 1),
        "ppo_kl": np.abs(w.wiggle(0.001)),
        "time_per_step_s": seconds * np.exp(w.wiggle(0.05)),
        "val_score": val,
    }
    return w


LAST = 0.15
"""Of a run: what its end was like."""
IN_A_ROW = 10
"""Rows that are drawn together, so that noise that carries on does so."""


def prolong(w: World, times: int) -> None:
    """The run goes on for so many times its length as it ended: stretches of its last part are drawn anew."""
    size = min(IN_A_ROW, max(1, int(w.length * LAST / 2) // w.every)) * w.every
    begins = w.rng.integers(int(w.length * (1 - LAST)), w.length - size, times * w.length // size)
    steps = (begins[:, None] + np.arange(size)).ravel()
    for name, x in w.columns.items():
        w.columns[name] = np.concatenate([x, x[steps]])
    w.planned = max(w.planned, w.length + len(steps))
    w.length += len(steps)

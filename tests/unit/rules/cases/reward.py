"""Cases of the rules of pages/reward.json."""

from __future__ import annotations

import numpy as np

from rltui.run.table import Floats
from tests.unit.diagnosis.series import noise
from tests.unit.rollouts.dumps import GOOD
from tests.unit.rules.given import (
    CRITICAL,
    LEVEL,
    NONE,
    NOTICE,
    WARNING,
    N,
    T,
    Writer,
    ramp,
    rare,
    rows,
    samples,
    wave,
)

RISING_KL = 1e-4 + 0.02 * np.arange(N) / N


def cut(at: int, fall: float) -> Floats:
    """Reward that rises to .7 and loses this share at a row."""
    return np.asarray(
        (0.2 + 0.5 * ramp(0, 150)) * (1 - fall * ramp(at, 10)) + 0.01 * noise(np.random.default_rng(1), N)
    )


def alike(groups: int) -> Writer:
    """So many of the eight groups give all their samples the same reward."""
    return lambda step, n: (GOOD, float(n % 2 if n // 4 >= groups else n // 4 % 2))


def mostly(value: float) -> Writer:
    """One reward for all samples but the worst and the best, which the first dump shows."""
    return lambda step, n: (GOOD, float(n) if step < 100 and n < 2 else value)


LOUDER = np.where(T > 150, 0.05, 0.005)
TENFOLD = np.where(T > 250, 10.0, 1.0)
LATE = np.where(T > 250, 1.0, 0.0)

CASES = (
    rows(
        "zero-variance-groups",
        {**LEVEL, "frac_reward_zero_std": np.full(N, 0.7)},
        {**LEVEL, "frac_reward_zero_std": np.full(N, 0.38)},
    ),
    rows(
        "reward-floor",
        {"score_mean": wave(0.5) * (1 - ramp(240, 20))},
        {"score_mean": wave(0.5) * (1 - ramp(278, 20))},
        CRITICAL,
    ),
    rows(
        "reward-saturated",
        {"score_mean": np.minimum(1.0, 0.3 + 0.7 * ramp(0, 150)), "frac_reward_zero_std": 0.2 + 0.75 * ramp(100, 60)},
        {
            "score_mean": np.minimum(1.0, 0.3 + 0.7 * ramp(0, 150)),
            "frac_reward_zero_std": 0.2 + 0.75 * ramp(100, 60),
            "response_clip_ratio": np.full(N, 0.8),
        },
    ),
    rows("reward-collapse", {"score_mean": cut(200, 0.97)}, {"score_mean": cut(200, 0.1)}, CRITICAL),
    rows(
        "reward-component-decoupling",
        {"reward_component_mean:accuracy": wave(0.5) - 0.4 * ramp(100, 100)},
        {"reward_component_mean:format": wave(0.5) - 0.4 * ramp(100, 100)},
        CRITICAL,
    ),
    rows(
        "reward-component-dead",
        {"reward_component_mean:brevity": np.zeros(N), "reward_component_mean:format": wave(0.5)},
        {"reward_component_mean:brevity": 0.001 * (T % 7 == 0), "reward_component_mean:format": wave(0.5)},
    ),
    rows(  # the task itself
        "reward-component-dead",
        {"reward_component_mean:accuracy": np.zeros(N), "reward_component_mean:format": wave(0.5)},
        {"reward_component_mean:accuracy": 0.001 * (T % 7 == 0), "reward_component_mean:format": wave(0.5)},
        CRITICAL,
    ),
    rows("reward-flat-from-start", {**LEVEL, "kl_ref": wave(5e-5)}, {**LEVEL, "kl_ref": RISING_KL}, WARNING, NOTICE),
    rows("reward-flat-from-start", {**LEVEL, "kl_ref": wave(3e-3)}, {**LEVEL, "kl_ref": RISING_KL}, WARNING, NOTICE),
    rows(  # one answer in a hundred is right; of rewards that may be any number a small mean says nothing
        "reward-flat-from-start",
        {"score_mean": wave(0.012, 0.2), "score_max": wave(1.0, 0.0), "score_min": wave(0.0, 0.0)},
        {"score_mean": wave(0.012, 0.2), "score_max": wave(1.0, 0.0), "score_min": wave(-1.0, 0.0)},
        WARNING,
        NOTICE,
    ),
    rows(
        "reward-peak-decline",
        {
            "score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.25 * ramp(140, 150) + 0.01 * noise(np.random.default_rng(1), N),
            "val_score": NONE,
        },
        {
            "score_mean": 0.3 + 0.4 * ramp(0, 120) - 0.03 * ramp(140, 150) + 0.01 * noise(np.random.default_rng(1), N),
            "val_score": NONE,
        },
    ),
    rows(  # a reward that became noisier: a fall far beyond its noise, and the best of many noisy means
        "reward-peak-decline",
        {"score_mean": 0.3 + 0.4 * ramp(0, 100) - 0.35 * ramp(200, 20) + LOUDER * noise(np.random.default_rng(2), N)},
        {"score_mean": 0.3 + 0.4 * ramp(0, 100) + 5 * LOUDER * noise(np.random.default_rng(16), N)},
    ),
    rows(
        "reward-plateau",
        {"score_mean": 0.2 + 0.5 * ramp(0, 100) + 0.02 * noise(np.random.default_rng(1), N), "val_score": NONE},
        {"score_mean": 0.2 + 0.5 * ramp(0, 300) + 0.02 * noise(np.random.default_rng(1), N), "val_score": NONE},
        NOTICE,
    ),
    rows(
        "reward-noise-dominates", {"score_mean": np.clip(wave(0.5, 0.4), 0, 1)}, {"score_mean": wave(0.5, 0.05)}, NOTICE
    ),
    rows(  # the noise of a share grows with its level, and tells nothing of the grader
        "reward-noise-dominates",
        {"score_mean": np.linspace(0.3, 0.5, len(T)) + np.where(T > 150, 6.0, 1.0) * (wave(0.5, 0.04) - 0.5)},
        {"score_mean": np.where(T > 150, wave(0.6, 0.06), wave(0.2, 0.02))},
    ),
    rows(  # three times as noisy is a note
        "reward-noise-dominates",
        {"score_mean": np.linspace(0.3, 0.5, len(T)) + np.where(T > 150, 3.0, 1.0) * (wave(0.5, 0.08) - 0.5)},
        {"score_mean": np.linspace(0.3, 0.5, len(T)) + (wave(0.5, 0.02) - 0.5)},
        NOTICE,
    ),
    rows(
        "reward-function-fault",
        {"score_mean": np.where((T > 250) & (T % 2 == 0), np.nan, wave(0.5))},
        {"score_mean": np.where(T == 250, np.nan, wave(0.5))},
    ),
    rows(
        "reward-function-fault",
        {"score_mean": np.where(T > 290, 0.0, wave(0.5))},
        {"score_mean": np.where(T > 290, 0.0, wave(0.5)), "response_length_mean": np.where(T > 288, 5.0, wave(300))},
    ),
    rows(
        "reward-function-fault",  # every third batch of a grader that fails, and of a task that is too hard
        {"score_mean": np.where((T > 200) & (T % 3 == 0), 0.0, wave(0.5))},
        {"score_mean": np.where(T % 3 == 0, 0.0, wave(0.5))},
    ),
    rows(
        "reward-function-fault",  # a number that repeats, and one that is the most there is
        {"score_mean": np.where(T > 250, 0.5, wave(0.5))},
        {
            "score_mean": np.where(T > 250, 1.0, wave(0.5)),
            "frac_reward_zero_std": np.where(T > 250, 1.0, wave(0.3)),
            "val_score": NONE,
        },
        CRITICAL,
    ),
    rows(
        "reward-function-fault",  # a leap that validation does not follow, and one that it does
        {"score_mean": wave(0.4) + 0.3 * (T > 150), "val_score": rare(wave(0.4))},
        {"score_mean": wave(0.4) + 0.3 * (T > 150), "val_score": rare(wave(0.4) + 0.3 * (T > 150))},
    ),
    rows(
        "reward-function-fault",  # the sign of the reward turned, and a policy that broke
        {"score_mean": np.where(T > 200, -1.0, 1.0) * wave(0.5, 0.1) * (1 - ramp(215, 20))},
        {
            "score_mean": np.where(T > 200, -1.0, 1.0) * wave(0.5, 0.1) * (1 - ramp(215, 20)),
            "response_length_mean": np.where(T > 200, 5.0, wave(300)),
        },
        CRITICAL,
        still=2,
    ),
    rows(
        "reward-function-fault",  # all earn the most there is from one row on, and from batch to batch more
        {
            "score_mean": np.where(T > 250, 1.0, wave(0.5, 0.1)),
            "reward_std": np.where(T > 250, 0.0, wave(0.4, 0.1)),
        },
        {
            "score_mean": np.minimum(1.0, wave(0.5, 0.1) + 0.5 * ramp(200, 50)),
            "reward_std": np.where(T > 250, 0.0, wave(0.4, 0.1) * (1 - ramp(200, 50))),
        },
    ),
    rows(
        "reward-scale-shift",
        {"score_mean": wave(0.5) * TENFOLD, "reward_std": wave(0.2) * TENFOLD},
        {"score_mean": wave(0.5) * TENFOLD, "reward_std": wave(0.2)},
        still=NOTICE,
    ),
    rows(
        "reward-scale-shift",
        {"score_mean": wave(0.5) + LATE, "kl_ref": wave(0.02)},
        {"score_mean": wave(0.5) + LATE, "kl_ref": wave(0.02) * (1 + 3 * LATE)},
        level=NOTICE,
    ),
    rows(
        "reward-part-lost",
        {
            "reward_component_mean:language": wave(0.9) * (1 - 0.7 * ramp(150, 100)),
            "reward_component_mean:accuracy": wave(0.4),
            "score_mean": wave(0.4) + 0.2 * ramp(0, 300),
        },
        {
            "reward_component_mean:language": wave(0.9) * (1 - 0.2 * ramp(150, 100)),
            "reward_component_mean:accuracy": wave(0.4),
            "score_mean": wave(0.4) + 0.2 * ramp(0, 300),
        },
    ),
    samples("zero-variance-groups", alike(8), alike(3)),
    samples("reward-mode-share", mostly(0.2), mostly(0.0)),
)

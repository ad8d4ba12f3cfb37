"""Cases of the rules of pages/config.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import NONE, NOTICE, N, ramp, rows, wave

RATE = {"lr": np.full(N, 2e-5)}
CASES = (
    rows("cfg-group-size-degenerate", {}, {}, config={"group_size": 2}, near_config={"group_size": 8}),
    rows(
        "cfg-no-checkpoint-or-eval",
        {"val_score": NONE},
        {"val_score": NONE},
        NOTICE,
        config={"save_freq": -1, "test_freq": 10},
        near_config={"save_freq": 100, "test_freq": 50},
        planned=1000,
    ),
    rows("cfg-lr-too-high", {"lr": np.full(N, 6e-6)}, {"lr": np.full(N, 4e-6)}, NOTICE, config={"model": "Qwen2.5-7B"}),
    rows(  # the reward falls from the start and stays there, or falls and is made good
        "cfg-lr-too-high",
        {"score_mean": wave(0.5, 0.03, 1) - 0.15 * ramp(0, 50), "kl_ref": 0.05 * ramp(0, 100) + wave(1e-3), **RATE},
        {
            "score_mean": wave(0.5, 0.03, 1) - 0.15 * ramp(0, 50) + 0.3 * ramp(80, 100),
            "kl_ref": 0.05 * ramp(0, 100) + wave(1e-3),
            **RATE,
        },
        still=NOTICE,
        config={"model": "Qwen2.5-7B"},
    ),
    rows(
        "cfg-lr-too-low",
        {"score_mean": wave(0.5, 0.03, 1), "kl_ref": wave(5e-4), "frac_reward_zero_std": wave(0.3)},
        {"score_mean": wave(0.5, 0.03, 1), "kl_ref": wave(5e-4), "frac_reward_zero_std": wave(0.7)},
        planned=400,
    ),
    rows(  # a policy that moves as little, and one that next to no right answer moves
        "cfg-lr-too-low",
        {"score_mean": wave(0.5, 0.03, 1), "kl_ref": wave(5e-4), "score_max": wave(1.0, 0.0), "score_min": wave(0.0)},
        {"score_mean": wave(0.01, 0.2, 1), "kl_ref": wave(5e-4), "score_max": wave(1.0, 0.0), "score_min": wave(0.0)},
        NOTICE,
    ),
    rows(
        "cfg-batch-arithmetic",
        {},
        {},
        NOTICE,
        framework="verl",
        config={"train_batch_prompts": 100, "mini_batch": 64},
        near_config={"train_batch_prompts": 128, "mini_batch": 64},
    ),
    rows("cfg-kl-inert-or-double", {}, {}, NOTICE, config={"kl_coef_loss": 5e-6}, near_config={"kl_coef_loss": 2e-5}),
    rows(
        "cfg-sampling-mismatch",
        {"is_ratio_mean": wave(0.9)},
        {"is_ratio_mean": wave(0.9)},
        config={"top_p": 0.9},
        near_config={"top_p": 1.0},
    ),
    rows("cfg-clip-range-wrong-scale", {}, {}, NOTICE, config={"clip_low": 0.03}, near_config={"clip_low": 0.1}),
)

"""Cases of the rules of pages/dpo.json."""

from __future__ import annotations

import numpy as np

from tests.unit.rules.given import CRITICAL, NONE, Columns, N, ramp, rare, rows, wave

DPO_OFF: Columns = dict.fromkeys(
    ("score_mean", "kl_ref", "entropy", "pg_loss", "response_length_mean", "val_score"), NONE
)

CASES = (
    rows(
        "dpo-likelihood-displacement",  # forgotten for good, and a short answer that costs a nat more
        {
            **DPO_OFF,
            "dpo_logps_chosen": -10 - 40 * ramp(50, 200) + wave(1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
        },
        {
            **DPO_OFF,
            "dpo_logps_chosen": -1.4 - 1.6 * ramp(50, 200) + wave(0.1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
            "val_score": rare(np.where(np.arange(N) < 120, 0.979, 0.958), 50),
        },
        CRITICAL,
        still=2,
        algorithm="dpo",
    ),
    rows(
        "dpo-likelihood-displacement",
        {
            **DPO_OFF,
            "dpo_logps_chosen": -100 - 60 * ramp(50, 200) + wave(1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
        },
        {
            **DPO_OFF,
            "dpo_logps_chosen": -100 + 20 * ramp(50, 200) + wave(1),
            "dpo_reward_margin": wave(3) * ramp(50, 200),
        },
        algorithm="dpo",
    ),
    rows(  # what was learnt is lost again, and what only wavers
        "dpo-accuracy-falls",
        {**DPO_OFF, "dpo_accuracy": wave(0.5, 0.02) + 0.35 * ramp(0, 80) - 0.25 * ramp(150, 60)},
        {**DPO_OFF, "dpo_accuracy": wave(0.5, 0.02) + 0.35 * ramp(0, 80) - 0.05 * ramp(150, 60)},
        algorithm="dpo",
    ),
    rows(
        "dpo-no-signal-or-saturated",  # pairs swapped in training alone, and validation pairs that are hard to tell
        {
            **DPO_OFF,
            "rewards/accuracies": wave(0.5, 0.03) + 0.3 * ramp(0, 60),
            "dpo_reward_margin": wave(0.4) * ramp(0, 100),
            "eval_rewards/accuracies": rare(wave(0.3, 0.02), 20),
        },
        {
            **DPO_OFF,
            "rewards/accuracies": wave(0.5, 0.03) + 0.3 * ramp(0, 60),
            "dpo_reward_margin": wave(0.4) * ramp(0, 100),
            "eval_rewards/accuracies": rare(wave(0.5, 0.03), 20),
        },
        CRITICAL,
        algorithm="dpo",
    ),
    rows(
        "dpo-no-signal-or-saturated",  # swapped pairs, and pairs that are hard at first
        {**DPO_OFF, "dpo_accuracy": wave(0.3, 0.05), "dpo_reward_margin": -wave(0.4) * ramp(0, 100)},
        {
            **DPO_OFF,
            "dpo_accuracy": wave(0.4, 0.05) + 0.3 * ramp(20, 100),
            "dpo_reward_margin": wave(0.4) * ramp(20, 100) - wave(0.01),
        },
        CRITICAL,
        algorithm="dpo",
    ),
    rows(
        "dpo-no-signal-or-saturated",
        {**DPO_OFF, "total_loss": wave(0.693, 0.002), "dpo_accuracy": wave(0.5, 0.02)},
        {**DPO_OFF, "total_loss": wave(0.693, 0.002) - 0.05 * ramp(0, 100), "dpo_accuracy": 0.5 + 0.2 * ramp(0, 100)},
        algorithm="dpo",
    ),
    rows(
        "dpo-no-signal-or-saturated",  # hardly told apart, and one that still learns
        {**DPO_OFF, "dpo_accuracy": wave(0.5, 0.02) + 0.08 * ramp(0, 40)},
        {**DPO_OFF, "dpo_accuracy": wave(0.5, 0.02) + 0.1 * ramp(0, N)},
        level=1,
        algorithm="dpo",
    ),
    rows(  # learnt by heart, and a loss that rises while more held-out pairs are told apart
        "dpo-validation-loss-rises",
        {
            **DPO_OFF,
            "dpo_accuracy": wave(0.5, 0.02) + 0.4 * ramp(0, 150),
            "total_loss": wave(0.02) + 0.69 - 0.6 * ramp(0, 150),
            "val_loss": rare(0.69 - 0.12 * ramp(0, 80) + 0.3 * ramp(90, 150) + wave(0.004), 15),
        },
        {
            **DPO_OFF,
            "dpo_accuracy": wave(0.5, 0.02) + 0.4 * ramp(0, 150),
            "total_loss": wave(0.02) + 0.69 - 0.6 * ramp(0, 150),
            "val_loss": rare(0.69 - 0.12 * ramp(0, 80) + wave(0.004), 15),
        },
        algorithm="dpo",
    ),
    rows(
        "dpo-validation-loss-rises",
        {
            **DPO_OFF,
            "dpo_accuracy": wave(0.5, 0.02) + 0.4 * ramp(0, 150),
            "total_loss": wave(0.02) + 0.69 - 0.6 * ramp(0, 150),
            "val_loss": rare(0.69 - 0.12 * ramp(0, 80) + 0.3 * ramp(90, 150) + wave(0.004), 15),
            "val_score": rare(0.55 + 0.2 * ramp(0, 200) + wave(0.004), 15),
        },
        {
            **DPO_OFF,
            "dpo_accuracy": wave(0.5, 0.02) + 0.4 * ramp(0, 150),
            "total_loss": wave(0.02) + 0.69 - 0.2 * ramp(0, 80) + 0.4 * ramp(90, 150),
            "val_loss": rare(0.69 - 0.12 * ramp(0, 80) + 0.3 * ramp(90, 150) + wave(0.004), 15),
        },
        level=1,
        algorithm="dpo",
    ),
)

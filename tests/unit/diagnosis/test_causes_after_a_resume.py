"""A run that was resumed with other settings: those of before count for the rows of before, and the change is named
where it is what the trouble began with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.reported import told

FIRST, ROWS = 130, 260
RESUMED = "Loading the checkpoint: ./ckpt/_actor/global_step{step}"


def args(group: int, rate: float, **more: object) -> str:
    told = {"pretrain": "q", "advantage_estimator": "group_norm", "actor_learning_rate": rate, "init_kl_coef": 0.01}
    told |= {"n_samples_per_prompt": group, "rollout_batch_size": 64, "use_kl_loss": True, **more}
    return f"Namespace({', '.join(f'{key}={value!r}' for key, value in told.items())})"


def rows(first: int, last: int, group: int, rate: float, hurt: bool = False) -> list[str]:
    noise = np.random.default_rng(first)
    out = []
    for step in range(first, last + 1):
        since = min(1.0, max(0, step - FIRST - 3) / 40) if hurt else 0.0
        score = 0.3 + 0.35 * (1 - np.exp(-step / 60)) - 0.3 * since
        cells = {"score": score + noise.normal(0, 0.01), "reward": score + noise.normal(0, 0.01)}
        cells |= {"kl": 0.001 + 0.02 * step / ROWS + 0.6 * since, "actor_lr": rate}
        cells |= {"actor_grad_norm": 0.3 * (1 + 6 * since) + noise.normal(0, 0.02)}
        bound = (group - 1) ** 0.5
        cells |= {"critic/advantages/max": bound * 0.97, "critic/advantages/min": -bound * 0.96}
        cells |= {"entropy_loss": 0.4 + noise.normal(0, 0.01), "response_length": 400 + noise.normal(0, 5)}
        out.append(f"Global step {step}: {json.dumps({k: round(float(v), 8) for k, v in cells.items()})}")
    return out


def resumed(folder: Path, before: tuple[int, float], now: tuple[int, float], hurt: bool = True) -> dict[str, Any]:
    lines = [args(*before), *rows(1, FIRST, *before), RESUMED.format(step=FIRST), args(*now)]
    folder.mkdir()
    (folder / "train.log").write_text("\n".join([*lines, *rows(FIRST + 1, ROWS, *now, hurt)]) + "\n")
    return told(folder)[2]


def of(report: dict[str, Any], rule: str) -> list[dict[str, Any]]:
    return [f for f in report["findings"] if f["id"] == rule]


@pytest.mark.parametrize("size", [3, 4])
def test_a_group_that_became_small_was_not_small_before(size: int, tmp_path: Path) -> None:
    report = resumed(tmp_path / "run", (16, 1e-6), (size, 1e-6), hurt=False)
    assert [f["onset_step"] for f in of(report, "cfg-group-size-degenerate")] == [FIRST + 1]
    assert of(report, "advantage-degenerate") == [], "those of groups of 16 are allowed more"


def test_a_group_that_was_small_from_the_start_still_is(tmp_path: Path) -> None:
    report = resumed(tmp_path / "run", (4, 1e-6), (4, 1e-6), hurt=False)
    assert [f["onset_step"] for f in of(report, "cfg-group-size-degenerate")] == [1]


def test_a_group_that_became_large_is_small_no_more(tmp_path: Path) -> None:
    report = resumed(tmp_path / "run", (4, 1e-6), (16, 1e-6), hurt=False)
    assert [f["status"] for f in of(report, "cfg-group-size-degenerate")] == ["resolved"]


def test_all_that_a_resume_changed_is_named_with_the_jump_that_it_brought(tmp_path: Path) -> None:
    report = resumed(tmp_path / "run", (16, 1e-6), (4, 6e-6))
    why = report["answer"]["why"]
    assert "actor_learning_rate 1e-6 → 6e-6" in why
    assert "n_samples_per_prompt 16 → 4" in why
    assert "actor_learning_rate: 6e-6 → 1e-6" in report["answer"]["do"], "back to what it was"


def test_a_jump_without_a_resume_names_none(tmp_path: Path) -> None:
    lines = [args(16, 1e-6), *rows(1, FIRST, 16, 1e-6), *rows(FIRST + 1, ROWS, 16, 6e-6, True)]
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    why = told(tmp_path)[2]["answer"]["why"]
    assert f"at step {FIRST + 1}" in why
    assert "resumed" not in why

"""Sentences that a reader of the raw log can check: what they say of it has to stand there."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

Row = dict[str, Any]


def page_of(folder: Path, rows: list[Row], config: Row | None = None) -> tuple[str, str, Row]:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return told(folder)


def usual(n: int, draw: random.Random) -> Row:
    """A row of a run that learns."""
    row = {"step": n, "critic/score/mean": 0.3 + n / 500 + draw.gauss(0, 0.02), "actor/grad_norm": 0.3}
    return row | {"actor/entropy": 0.8, "response_length/mean": 500 + draw.gauss(0, 9), "actor/kl_loss": n / 9000}


def test_a_step_that_holds_a_validation_is_not_said_to_be_slow(tmp_path: Path) -> None:
    draw, rows = random.Random(1), []
    for n in range(1, 121):
        row = usual(n, draw) | {"timing_s/step": 60.0, "timing_s/gen": 35.0, "timing_s/update_actor": 20.0}
        if n % 40 == 0:
            row |= {"timing_s/step": 100.0, "timing_s/testing": 40.0, "val-core/gsm8k/acc/mean@1": 0.4 + n / 900}
        rows.append(row)
    page = page_of(tmp_path, rows)[0]
    assert "Step 120: 100 s" in page
    assert "most steps have no validation" in page
    assert "tokens/s" not in page.split("Step 120: 100 s")[1].split("\n")[0]


@pytest.mark.parametrize("holds", [True, False], ids=["holds generation", "beside it"])
def test_a_timer_that_holds_another_is_told_without_it(holds: bool, tmp_path: Path) -> None:
    """OpenRLHF's `make_experience` holds the generation."""
    draw, lines = random.Random(2), []
    for n in range(1, 61):
        experience = 35.0 if holds else 8.0
        row = {"reward": 0.3 + n / 300 + draw.gauss(0, 0.02), "response_length": 400.0, "kl": n / 9000}
        row |= {"timing/make_experience": experience, "timing/generation": 30.0, "timing/ppo_train": 15.0}
        row |= {"timing/step_total": 52.0 if holds else 55.0}
        lines.append(f"INFO:openrlhf:✨ Global step {n}: {row}")
    (tmp_path / "train.log").write_text("\n".join(lines) + "\n")
    report = told(tmp_path)[2]
    shares = {item["name"]: item["share"] for item in report["phases"]["items"]}
    assert shares, report["phases"]
    assert sum(shares.values()) <= 1.02, shares
    assert not report["phases"]["overlapped"]


@pytest.mark.parametrize("rate", [3e-4, 5e-5])
def test_the_rate_that_is_told_stands_in_the_log(rate: float, tmp_path: Path) -> None:
    draw = random.Random(3)
    rows = [usual(n, draw) | {"actor/lr": rate * (1 - n / 250)} for n in range(200)]
    summaries = [f["summary"] for f in page_of(tmp_path, rows)[2]["findings"] if f["id"] == "cfg-lr-too-high"]
    assert summaries
    assert f"Learning rate {'0.0003' if rate == 3e-4 else '5e-5'} " in summaries[0]


def test_a_metric_that_is_0_throughout_is_not_said_to_be_unlogged(tmp_path: Path) -> None:
    draw = random.Random(4)
    page, long, _ = page_of(tmp_path, [usual(n, draw) | {"actor/pg_clipfrac": 0.0} for n in range(1, 101)])
    line = next(line for line in long.splitlines() if "`clip_frac` (0 throughout)" in line and line.startswith("|"))
    assert "it may never have been anything else" in line
    assert "clip fraction is not logged" not in page + long


@pytest.mark.parametrize("began", [2.2, 0.2])
def test_a_gradient_as_at_the_start_does_not_explode(began: float, tmp_path: Path) -> None:
    """Most groups come to agree, and the median gradient falls; some batches still teach as the first ones did."""
    draw, rows = random.Random(5), []
    for n in range(1, 301):
        norm = began * 0.97**n + 0.003 if n % 40 or n < 150 else 1.3
        rows.append(usual(min(n, 120), draw) | {"step": n, "actor/grad_norm": norm * (1 + draw.gauss(0, 0.03))})
    found = {f["id"] for f in page_of(tmp_path, rows)[2]["findings"] if f["severity"] != "info"}
    assert ("grad-norm-explosion" in found) == (began < 1.3)


def test_the_reward_that_rose_late_is_not_said_to_have_stood(tmp_path: Path) -> None:
    draw = random.Random(6)
    rows = [
        usual(0, draw) | {"step": n, "critic/score/mean": 0.3 + 0.003 * max(0, n - 150) + draw.gauss(0, 0.03)}
        for n in range(1, 301)
    ]
    page, long, report = page_of(tmp_path, rows)
    assert any(f["id"] == "reward-flat-from-start" and f["status"] == "resolved" for f in report["findings"])
    assert "has not risen" not in page
    assert "has not risen" not in long


@pytest.mark.parametrize(("cut", "masked"), [(0.97, False), (0.4, True)])
def test_nobody_masks_all_that_there_is(cut: float, masked: bool, tmp_path: Path) -> None:
    draw, rows = random.Random(7), []
    for n in range(1, 201):
        late = max(0.0, min(1.0, (n - 100) / 40))
        row = usual(min(n, 100), draw) | {"step": n, "response_length/mean": 600 + 1300 * late}
        row |= {"response_length/clip_ratio": cut * late, "critic/score/mean": 0.5 - 0.3 * late + draw.gauss(0, 0.02)}
        rows.append(row)
    config = {"data": {"max_response_length": 2048}, "algorithm": {"adv_estimator": "grpo"}}
    report = page_of(tmp_path, rows, config)[2]
    fixes = [fix["text"] for f in report["findings"] for fix in f["fixes"]]
    assert fixes
    assert any(text.startswith("Mask truncated responses") for text in fixes) == masked, fixes

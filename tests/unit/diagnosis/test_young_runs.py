"""Runs of one to twelve rows with holes: no exception, no check that fails, and a report that keeps its schema."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from rltui.rules.catalogue import rules
from tests.conftest import report_schema

RUNS, BATCHES, IN_CI = 500, 20, 5
NAMES = sorted(
    {name for rule in rules().values() for group in rule.needs for name in group}
    | {name for rule in rules().values() for name in rule.metrics if name not in ("config", "samples")}
)
TRL = (
    *("reward", "reward_std", "rewards/correct/mean", "kl", "entropy", "loss", "grad_norm", "learning_rate", "epoch"),
    *("completions/mean_length", "completions/clipped_ratio", "frac_reward_zero_std", "step_time", "eval_reward"),
)
VERL = (
    *("critic/score/mean", "critic/score/max", "critic/score/min", "critic/rewards/mean", "critic/advantages/mean"),
    *("critic/advantages/max", "critic/advantages/min", "actor/entropy", "actor/kl_loss", "actor/pg_clipfrac"),
    *("actor/ppo_kl", "actor/grad_norm", "actor/lr", "response_length/mean", "response_length/clip_ratio"),
    *("timing_s/step", "timing_s/gen", "val-core/gsm8k/reward/mean@1"),
)
ODD = (math.nan, math.inf, -math.inf, None, 0.0, -0.0, 1e300, -1e300, 5e-324, 1, "0.5")


def value(rng: random.Random, course: str, row: int) -> Any:
    if rng.random() < 0.1:
        return rng.choice(ODD)
    if course == "constant":
        return 0.0
    if course == "level":
        return 0.5
    return rng.gauss(0.3, 0.2) if course == "noise" else 0.1 * row


def young(rng: random.Random) -> list[dict[str, Any]]:
    """Each metric on a course of its own, logged every n-th row."""
    keys = rng.choice((NAMES, TRL, VERL))
    chosen = {
        key: (rng.randint(1, 5), rng.choice(("constant", "level", "noise", "rising")))
        for key in rng.sample(list(keys), rng.randint(1, len(keys)))
    }
    first = rng.choice((0, 1, 1, 1, 500))
    rows = []
    for row in range(rng.randint(1, 12)):
        held = {k: value(rng, course, row) for k, (every, course) in chosen.items() if row % every == 0}
        rows.append({"step": first + row * rng.choice((1, 1, 1, 5)), **held})
    return rows


@pytest.mark.parametrize(
    "batch", [*range(IN_CI), *(pytest.param(n, marks=pytest.mark.fuzz_full) for n in range(IN_CI, BATCHES))]
)
def test_young_runs_with_holes_are_reported(batch: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = random.Random(f"young runs {batch}")
    for number in range(RUNS // BATCHES):
        log = tmp_path / f"{number}.jsonl"
        rows = young(rng)
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
        assert main(["report", str(log), "--format", "json"]) == 0, rows
        data = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
        report_schema().validate(data)
        assert data["checks_failed"] == [], rows

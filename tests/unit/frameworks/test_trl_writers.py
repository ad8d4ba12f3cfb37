"""What TRL's trainers wrote in short runs of a tiny model (`tests/fixtures/writers/trl_runs.py`): each source alone and
all together tell the same."""

from __future__ import annotations

import json
import math
import os
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.writers.trl_runs import COMMON, PACKAGES
from tests.unit.frameworks.cases import WRITERS
from tests.unit.frameworks.opening import check_config, opened


@dataclass(frozen=True)
class Expected:
    dialect: str
    algorithm: str
    steps: tuple[int, int]
    metrics: dict[str, str]
    config: dict[str, object]


EXPECTED = {
    "trl-0.16.1/dpo": Expected(
        "trl_dpo",
        "DPO",
        (1, 6),
        {"dpo_reward_margin": "rewards/margins", "dpo_accuracy": "rewards/accuracies", "total_loss": "loss"},
        {"kl_coef_loss": 0.1, "policy_loss_mode": "sigmoid", "total_steps": 6},
    ),
    "trl-0.16.1/kto": Expected(
        "trl_kto",
        "KTO",
        (1, 6),
        {"dpo_reward_chosen": "rewards/chosen", "kl_ref_sequence": "kl", "lr": "learning_rate"},
        {"kl_coef_loss": 0.1, "policy_loss_mode": "kto", "total_steps": 6},
    ),
    "trl-0.16.1/online_dpo": Expected(
        "online_dpo",
        "Online DPO",
        (1, 6),
        {
            "reward_mean": "objective/rlhf_reward",
            "score_mean": "objective/scores",
            "dpo_accuracy": "rewards/accuracies",
        },
        {"kl_coef_loss": 0.1, "temperature": 0.9, "max_response_length": 4, "total_steps": 6},
    ),
    "trl-0.16.1/ppo": Expected(
        "trl_ppo",
        "PPO",
        (1, 6),
        {"reward_mean": "objective/rlhf_reward", "vf_loss": "loss/value_avg", "kl_ref_sequence": "objective/kl"},
        {"kl_coef_reward": 0.05, "clip_low": 0.2, "max_response_length": 4, "gae_lambda": 0.95, "total_steps": 6},
    ),
    "trl-0.16.1/rloo": Expected(
        "trl_rloo_0_21",
        "RLOO",
        (0, 11),
        {"reward_mean": "objective/rlhf_reward", "clip_frac": "policy/clipfrac_avg", "lr": "lr"},
        {"kl_coef_reward": 0.05, "group_size": 2, "total_steps": 12},
    ),
    "trl-1.16.0/GRPO": Expected(
        "trl",
        "GRPO",
        (1, 6),
        {"reward_mean": "reward", "kl_ref": "kl", "clip_frac": "clip_ratio/region_mean", "entropy": "entropy"}
        | {"reward_component_mean": "rewards/share/mean", "time_per_step_s": "step_time"},
        {"kl_coef_loss": 0.04, "group_size": 4, "clip_low": 0.2, "loss_agg_mode": "dapo", "total_steps": 6},
    ),
    "trl-1.16.0/RLOO": Expected(
        "trl_rloo",
        "RLOO",
        (1, 6),
        {"reward_mean": "reward", "kl_ref": "kl", "clip_frac": "clip_ratio/region_mean"},
        {"kl_coef_reward": 0.04, "group_size": 4, "max_response_length": 4},
    ),
    "trl-1.16.0/dpo": Expected(
        "trl_dpo",
        "DPO",
        (1, 6),
        {"dpo_reward_margin": "rewards/margins", "entropy": "entropy", "total_tokens_seen": "num_tokens"},
        {"kl_coef_loss": 0.1, "policy_loss_mode": ["sigmoid"]},
    ),
    "trl-1.16.0/kto": Expected(
        "trl_kto",
        "KTO",
        (1, 6),
        {"dpo_reward_rejected": "rewards/rejected", "kl_ref_sequence": "kl"},
        {"kl_coef_loss": 0.1, "policy_loss_mode": "kto"},
    ),
}


def check(name: str, path: Path) -> None:
    run, expected = opened(path).run, EXPECTED[name]
    assert (run.dialect, run.framework, run.algorithm) == (expected.dialect, "trl", expected.algorithm)
    assert {source.format for source in run.sources} == {"trl-console", "tensorboard", "trainer-state"}
    assert not any(source.skipped for source in run.sources)
    steps = run.history.table.steps.tolist()
    assert steps == list(range(expected.steps[0], expected.steps[1] + 1)), "the sources agree on the step of each row"
    assert run.history.table.restarts == []
    assert run.state().state == "finished"
    for metric, key in expected.metrics.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.key == key
    check_config(run, expected.config)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_run_of_trl(name: str) -> None:
    check(name, WRITERS / name)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_log_alone_has_each_value_at_its_step(name: str) -> None:
    table = opened(WRITERS / name / "train.log").run.history.table
    state = json.loads(next((WRITERS / name).glob("checkpoint-*/trainer_state.json")).read_text())
    rows = {int(row["step"]): row for row in state["log_history"]}
    assert set(rows) <= set(table.steps.tolist())
    checked = 0
    for step, row in rows.items():
        at = table.steps.tolist().index(step)
        for key, value in row.items():
            series = table.series(key)
            if key in ("step", "epoch") or series is None or not isinstance(value, float) or math.isnan(value):
                continue
            logged = dict(zip(series.rows.tolist(), series.values.tolist(), strict=True))
            assert logged[at] == pytest.approx(value, rel=1e-3, abs=1e-4), (step, key)
            checked += 1
    assert checked > 5 * len(rows)


@pytest.mark.writers
@pytest.mark.parametrize("version", PACKAGES)
def test_trl_writes_the_same_again(version: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "-q"]
    subprocess.run([*pip, "install", f"trl=={version}", *PACKAGES[version], *COMMON], check=True)
    for name in EXPECTED:
        if not name.startswith(f"trl-{version}/"):
            continue
        out, home = tmp_path / "out" / name, tmp_path / "home" / name
        out.mkdir(parents=True)
        home.mkdir(parents=True)
        with (out / "train.log").open("w") as log:
            subprocess.run(
                [python, "-W", "ignore", WRITERS / "trl_runs.py", out.name, out, home],
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "COLUMNS": "100"},
                check=True,
                timeout=600,
            )
        check(name, out)

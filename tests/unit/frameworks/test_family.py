"""A framework has one family, and whoever speaks of its config keys asks for that one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

ROWS = 120


def report(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: list[dict[str, float]]) -> Any:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(log), "--format", "json", "--now", "2026-01-01T00:00:00Z"]) == 0
    return json.loads(capsys.readouterr().out)


def exploding(**signs: str) -> list[dict[str, float]]:
    """A run whose gradient explodes and whose entropy goes; `signs` are the keys of what else is logged."""
    rows = []
    for i in range(ROWS):
        wave = 0.02 * ((i * 7919) % 13 - 6) / 6
        grown = 1.08 ** max(0, i - 40)
        row = {"step": i + 1, signs["grad"]: (0.5 + wave) * min(grown, 4000.0), signs["reward"]: 0.4 + wave}
        rows.append({**row, **dict.fromkeys(signs.get("others", "").split(), 0.5 + wave)})
    return rows


VERL = {"grad": "actor/grad_norm", "reward": "critic/score/mean"}
HF = {"grad": "grad_norm", "reward": "reward"}
TRL_KEYS = "rewards/accuracy/mean completions/mean_length"


@pytest.mark.parametrize(
    ("framework", "rows", "key"),
    [
        ("verl", exploding(**VERL, others="actor/pg_loss response_length/mean"), "actor_rollout_ref.actor.optim.lr"),
        ("rllm", exploding(**VERL, others="batch/solve_partial traj/steps"), "actor_rollout_ref.actor.optim.lr"),
        ("trl", exploding(**HF, others=TRL_KEYS), "learning_rate"),
        ("llama_factory", exploding(**HF, others="current_steps percentage epoch"), "learning_rate"),
        ("slime", exploding(grad="train/grad_norm", reward="rollout/raw_reward", others="train/ppo_kl"), "lr"),
        (None, exploding(**HF), None),
    ],
)
def test_fixes_are_spelt_as_the_family_spells_them(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    framework: str | None,
    rows: list[dict[str, float]],
    key: str | None,
) -> None:
    """rLLM is set up by verl's keys. Who states no settings for a remedy has the key of what is changed; a home-made
    loop may call that anything."""
    found = report(tmp_path, capsys, rows)
    assert found["run"]["framework"] == framework
    finding = next(f for f in found["findings"] if f["id"] == "grad-norm-ramp")
    keys = [fix["config_key"] for fix in finding["fixes"] if fix["config_key"]]
    assert (key in keys) if key else not keys


@pytest.mark.parametrize(
    ("framework", "others", "wrong"),
    [
        ("trl", "rewards/accuracy/mean completions/mean_length", True),
        ("unsloth", "completion_length completions/mean_length", True),
        (None, "kl_beta", False),
    ],
)
def test_what_holds_for_a_family_holds_for_its_members(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], framework: str | None, others: str, wrong: bool
) -> None:
    """TRL's KL estimate cannot be negative, so neither can that of those who use its trainer. Of another only the mean
    may not."""
    told_rows = enumerate(exploding(**HF, others=others))
    rows = [{**row, "kl": 0.3 if i % 3 == 0 else -0.05, "grad_norm": 0.5} for i, row in told_rows]
    found = report(tmp_path, capsys, rows)
    assert found["run"]["framework"] == framework
    told = {i["name"]: i["status"] for i in found["outlook"]["invariants"]}
    assert told["KL to the reference ≥ 0"] in (("warn", "fail") if wrong else ("unknown",))


def test_the_share_that_a_filter_keeps_counts_no_groups_that_it_dropped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OpenRLHF logs the percentage of the prompts that its filter keeps: at 100 nothing is filtered."""
    rows = [
        {"step": i + 1, "reward": 0.4, "kl": 0.01, "ppo_clip_ratio": 0.1, "actor_lr": 1e-6, "actor_grad_norm": 0.5,
         "dynamic_filtering_pass_rate": float(kept)}
        for i, kept in enumerate([100] * 40 + [60] * 40)
    ]  # fmt: skip
    told = report(tmp_path, capsys, rows)
    assert told["run"]["framework"] == "openrlhf"
    kept = told["metrics"]["frac_groups_mixed"]
    assert (kept["key"], kept["unit"], kept["max"], kept["last_value"]) == (
        "dynamic_filtering_pass_rate", "fraction", 1.0, 0.6,
    )  # fmt: skip
    assert not [name for name in told["metrics"] if name.startswith("filtered_groups")]


@pytest.mark.parametrize("again", [0, 2])
def test_the_batch_that_each_step_needs_is_no_sign_of_a_filter(
    again: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"step": i + 1, "critic/score/mean": 0.4, "actor/grad_norm": 0.5, "actor/entropy": 0.6,
         "train/num_gen_batches": 1 + again}
        for i in range(60)
    ]  # fmt: skip
    told = report(tmp_path, capsys, rows)
    assert told["run"]["framework"] == "verl"
    assert told["metrics"]["filtered_groups"]["last_value"] == again

"""A home-made loop may borrow a name or a setting of a framework: its own names are read all the same."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.frameworks.detect import detect_dialect
from tests.unit.reported import told

OWN = ("rew", "KL", "H", "gnorm", "clip", "len")


@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("timing_s/step", ""),
        ("actor/pg_loss", ""),
        ("objective/kl", ""),
        ("completions/mean_length", ""),
        ("vllm_kl", ""),
        ("train/gen_kl_error", ""),
        ("", "actor_learning_rate"),
        ("", "init_kl_coef"),
        ("", "loss_fn.clip"),
    ],
)
def test_one_borrowed_name_makes_no_framework(key: str, setting: str, tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = []
    for n in range(1, 61):
        row = {
            "step": n,
            "rew": 0.3 + n / 200 + draw.gauss(0, 0.02),
            "KL": n / 3000,
            "H": 0.8,
            "gnorm": 0.4,
            "len": 200.0,
        }
        rows.append({**row, "clip": 0.01 + draw.random() / 100, **({key: 0.2} if key else {})})
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    config = {"lr": 1e-6, "batch": 32, **({setting: 1e-6} if setting else {})}
    (tmp_path / "config.json").write_text(json.dumps(config))
    page = told(tmp_path)[2]
    assert page["run"]["framework"] is None
    assert page["metrics"]["reward_mean"]["count"] == 60
    assert page["verdict"]["decision"] != "not-enough-evidence"


@pytest.mark.parametrize(
    ("keys", "name"),
    [
        (("policy_loss", "actor_lr", "reward", "return", "kl", "response_length", "total_length"), "openrlhf"),
        (("actor/pg_loss", "actor/entropy", "critic/score/mean", "response_length/mean"), "verl"),
        (("actor/entropy", "response_length/mean", "actor/grad_norm"), "verl"),
        (("completion_length", "rewards/accuracy_reward/mean", "reward", "kl"), "trl"),
    ],
)
def test_a_few_names_of_a_framework_are_enough_if_they_are_most(keys: tuple[str, ...], name: str) -> None:
    found = detect_dialect(keys)
    assert found is not None
    assert found.dialect == name


def test_two_names_among_many_others_are_not() -> None:
    assert detect_dialect(("actor/entropy", "response_length/mean", *OWN)) is None

"""Validation that goes over to another measure at once is told as such, and one that gains or loses with the policy is
told as that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main
from rltui.run.table import Floats
from tests.draws import some

N, EVERY, AT = 240, 20, 140
STEPS = np.arange(1, N + 1)
NEW = STEPS >= AT


def columns(seed: int, questions: int = 400) -> dict[str, Floats]:
    """A run that learns: success on train prompts and on held-out ones comes from one skill, which the KL pays for."""
    rng = np.random.default_rng(seed)
    skill = 0.25 + 0.3 * STEPS / N
    return {
        "reward": skill + 0.03 * rng.standard_normal(N),
        "kl": 0.002 + 0.08 * STEPS / N * (1 + 0.05 * rng.standard_normal(N)),
        "entropy": 0.9 - 0.3 * STEPS / N + 0.01 * rng.standard_normal(N),
        "completions/mean_length": 400 + 100 * STEPS / N + 10 * rng.standard_normal(N),
        "eval/accuracy": rng.binomial(questions, skill - 0.02) / questions,
    }


def report(folder: Path, data: dict[str, Floats], capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    rows = [
        {"step": int(step)} | {k: float(x[i]) for k, x in data.items() if not k.startswith("eval") or step % EVERY == 0}
        for i, step in enumerate(STEPS)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(folder), "--format", "json", *more])
    return json.loads(capsys.readouterr().out)


def told(of: Any) -> list[tuple[str, int]]:
    return [(f["id"], f["onset_step"]) for f in of["findings"] if f["severity"] != "info"]


@pytest.mark.parametrize("seed", some(range(4)))
@pytest.mark.parametrize("level", [0.95, 0.05, 0.0])
def test_another_measure_is_told(seed: int, level: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = columns(seed)
    noise = 0.01 * np.random.default_rng(seed).standard_normal(N) * (level > 0)
    of = report(
        tmp_path, data | {"eval/accuracy": np.where(NEW, np.clip(level + noise, 0, 1), data["eval/accuracy"])}, capsys
    )
    assert told(of) == [("validation-shift", AT)]
    assert of["verdict"]["decision"] == "continue-watch"
    best = of["verdict"]["best_checkpoint"]
    assert best is None or best["step"] >= AT, "no step is the best by a measure that no longer counts"
    before = report(tmp_path, data, capsys, "--at", str(AT + EVERY - 1))
    assert not told(before), "one evaluation alone may be a lone one"


@pytest.mark.parametrize("seed", range(4))
def test_what_the_policy_gains_at_once_is_a_gain(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It finds out how to answer: train and held-out prompts gain alike."""
    data = columns(seed)
    data = data | {name: np.minimum(1.0, data[name] + 0.3 * NEW) for name in ("reward", "eval/accuracy")}
    assert "validation-shift" not in [rule for rule, _ in told(report(tmp_path, data, capsys))]


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_with_another_policy_is_a_loss(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = columns(seed)
    data["eval/accuracy"] = data["eval/accuracy"] - 0.25 * NEW
    data["completions/mean_length"] = data["completions/mean_length"] * (1 - 0.7 * NEW)
    found = [rule for rule, _ in told(report(tmp_path, data, capsys))]
    assert "validation-shift" not in found
    assert "val-regression" in found or "train-val-divergence" in found


@pytest.mark.parametrize("seed", range(12))
def test_a_healthy_run_is_quiet(seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(report(tmp_path, columns(seed, questions=60), capsys)) == []

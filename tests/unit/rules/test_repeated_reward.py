"""A reward that repeats one number of its range: nothing is measured, and the updates teach nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main

N = 240


def judged(path: Path, rewards: list[float], capsys: pytest.CaptureFixture[str], entropy: float = 0.8) -> Any:
    noise = np.random.default_rng(5).normal(size=(N, 2))
    rows = [
        {
            "step": i,
            "reward": r,
            "kl": 0.01 + i / 1e5 + abs(a) / 1e3,
            "entropy": entropy + 0.02 * b,
            "completions/mean_length": 300 + 8 * a,
            "grad_norm": 0.3 + 0.02 * abs(b),
        }
        for i, (r, (a, b)) in enumerate(zip(rewards, noise, strict=False), 1)
    ]
    (path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main(["report", str(path), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def rising(seed: int) -> list[float]:
    noise = np.random.default_rng(seed).normal(size=N)
    return [round(0.2 + 0.3 * i / N + 0.03 * x, 4) for i, x in enumerate(noise)]


@pytest.mark.parametrize("lasts", [25, 60, 110])
def test_one_number_is_repeated_to_the_end(lasts: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The longer it lasts, the more is lost; the policy is not blamed."""
    rewards = [*rising(3)[: N - lasts], *[0.31] * lasts]
    report = judged(tmp_path, rewards, capsys)
    found = {f["id"]: f for f in report["findings"] if f["status"] == "active"}
    fault = found["reward-function-fault"]
    assert fault["severity"] == ("critical" if lasts >= 30 else "warning")
    assert abs(fault["onset_step"] - (N - lasts + 1)) <= 2
    if lasts >= 30:
        assert report["verdict"]["decision"] == "pause-and-fix"


def test_a_reward_that_varies_to_the_end_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = judged(tmp_path, rising(4), capsys)
    assert not [f for f in report["findings"] if f["id"] == "reward-function-fault"]

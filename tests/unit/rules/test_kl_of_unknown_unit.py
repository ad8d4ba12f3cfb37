"""A KL that may be summed over the response: its height alone says nothing, what it buys does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rltui.cli import main

N = 360
T = np.arange(1, N + 1)


def judged(path: Path, reward: Any, kl: Any, capsys: pytest.CaptureFixture[str], at: int = N) -> tuple[str, Any]:
    """The decision, and the finding if it is open as a warning or worse."""
    lines = ["step,reward,kl,loss,length,lr"]
    lines += [f"{i},{r:.4f},{k:.5f},0.01,200,1e-6" for i, r, k in zip(T, reward, kl, strict=True)]
    (path / "metrics.csv").write_text("\n".join([*lines, ""]))
    assert main(["report", str(path), "--format", "json", "--at", str(at)]) == 0
    report = json.loads(capsys.readouterr().out)
    loud = [f for f in report["findings"] if f["severity"] != "info" and f["status"] == "active"]
    return report["verdict"]["decision"], next((f for f in loud if f["id"] == "kl-runaway"), None)


def summed(seed: int) -> Any:
    noise = np.random.default_rng(seed).normal(size=N)
    return 12.0 * (1.0 - np.exp(-T / 60)) * (1.0 + 0.04 * noise) + 0.1


def learnt(seed: int) -> Any:
    return 2.0 + 3.0 * (1.0 - np.exp(-T / 100)) + 0.15 * np.random.default_rng(seed).normal(size=N)


@pytest.mark.parametrize("at", [60, 140, 250, N])
def test_a_sum_that_rises_and_settles_while_the_reward_gains(
    at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decision, found = judged(tmp_path, learnt(1), summed(2), capsys, at)
    assert found is None
    assert decision in ("continue", "continue-watch", "not-enough-evidence")


def test_the_same_sum_while_nothing_is_gained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    level = 2.0 + 0.15 * np.random.default_rng(3).normal(size=N)
    _, found = judged(tmp_path, level, summed(2) + 0.05 * T, capsys)
    assert found is not None
    assert "per token or per response" in found["summary"]


def test_a_mean_over_tokens_begins_next_to_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then its unit is known, and so is that no healthy run gets so far."""
    per_token = 3.0 * np.clip((T - 100) / 200, 0, 1) ** 2 + 2e-4 * T
    _, found = judged(tmp_path, learnt(1), per_token, capsys)
    assert found is not None
    assert "nats per token" in found["summary"]

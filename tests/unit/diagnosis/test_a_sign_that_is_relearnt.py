"""A reward whose sign was turned, and a policy that learns what it pays for now: the reward is up again within some
rows, and nothing was mended. Rows as of a very small model, which relearns in twenty updates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, evaluated, learns, page, pages, ramp
from tests.unit.diagnosis.written import wave

LEARNT = ramp(AT + 4, 18)


def relearnt(**other: np.ndarray) -> dict[str, np.ndarray]:
    """The reward is turned at one step; the policy goes over to wrong answers, which earn as much as right ones did."""
    reward = np.where(SINCE, -0.85 + 1.8 * LEARNT, 0.6 + 0.27 * ramp(0, AT)) + wave(0, 0.03, ROWS, 1)
    moved = {
        "reward_mean": np.clip(reward, -1, 1),
        "reward_std": wave(0.25, 0.02, ROWS, 6),
        "kl": (0.2 + 2.5 * LEARNT) * wave(1, 0.1, ROWS, 2),
        "entropy": (0.19 + 0.5 * LEARNT) * wave(1, 0.05, ROWS, 3),
        "response_length": (5 - 3.8 * LEARNT) * wave(1, 0.01, ROWS, 5),
        "eval_accuracy": evaluated(0.55 + 0.25 * ramp(0, AT) - 0.8 * LEARNT + wave(0, 0.01, ROWS, 4)),
    }
    return learns(**moved | other)


def leads(found: dict[str, Any]) -> str:
    return str(found["verdict"]["because"][0])


@pytest.mark.parametrize("evaluates", [True, False])
def test_a_turned_sign_stands_while_the_policy_learns_it(evaluates: bool, tmp_path: Path) -> None:
    columns = relearnt()
    if not evaluates:
        del columns["eval_accuracy"]
    for upto, found in pages(tmp_path, columns, (AT + 15, AT + 40, AT + 80, ROWS)):
        assert leads(found) == "reward-function-fault", (upto, found["verdict"]["text"])
        assert found["answer"]["why"].startswith("The sign of the reward"), (upto, found["answer"]["why"])
        assert found["verdict"]["decision"] == "pause-and-fix", upto


def test_a_sign_that_was_turned_back_is_over(tmp_path: Path) -> None:
    """It is mended as it broke, at once, and the policy has not gone far."""
    reward = 0.85 * np.where(SINCE & (np.arange(ROWS) < AT + 11), -1, 1) * wave(1, 0.03, ROWS, 1)
    assert "sign were turned" not in active(page(tmp_path, learns(reward_mean=reward)))


def test_a_reward_that_comes_back_while_validation_keeps_what_it_had_is_none(tmp_path: Path) -> None:
    """Who is paid for the opposite unlearns the task: the reward fell and rose for another reason."""
    kept = evaluated(0.55 + 0.25 * ramp(0, AT) + wave(0, 0.01, ROWS, 4))
    assert "sign were turned" not in active(page(tmp_path, relearnt(eval_accuracy=kept)))


def active(found: dict[str, Any]) -> str:
    return str([f["summary"] for f in found["findings"] if f["status"] == "active"])

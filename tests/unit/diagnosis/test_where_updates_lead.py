"""Updates that follow another goal than the reward, from the first step on or since one: they go no further than those
of a run that learns, so that no learning rate is too high."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, STEP, learns, page, ramp
from tests.unit.diagnosis.written import wave

GONE = 1 - np.exp(-STEP / 15)
"""Share of the way from the start that is gone."""


def led(**other: np.ndarray) -> dict[str, np.ndarray]:
    """A run whose reward falls from its first rows on."""
    usual = {
        "reward_mean": 0.32 - 0.22 * GONE + wave(0, 0.02, ROWS, 1),
        "kl": (0.5 * GONE**2 + 1e-4) * np.exp(wave(0, 0.1, ROWS, 2)),
        "entropy": 1.8 + 0.1 * GONE + wave(0, 0.02, ROWS, 3),
        "grad_norm": (0.25 - 0.17 * GONE) * wave(1, 0.08, ROWS, 4),
        "lr": np.full(ROWS, 0.01),
    }
    return learns(**usual | other)


RANDOM = {"entropy": 1.7 + 0.7 * GONE + wave(0, 0.02, ROWS, 3)}
LEAPS = {"kl": 0.5 * GONE**2 * np.exp(wave(0, 0.9, ROWS, 2)) + 1e-4}
LARGER = {"grad_norm": (0.25 + 0.4 * GONE) * wave(1, 0.3, ROWS, 4)}


def leading(found: dict[str, Any], rule: str) -> str:
    causes = [f["causes"][0] for f in found["findings"] if f["id"] == rule and f["status"] == "active"]
    return str(causes[0]["text"]) if causes and causes[0]["status"] == "supported" else ""


@pytest.mark.parametrize(
    ("other", "cause"),
    [({}, "What is right is unlearnt from the first step on"), (RANDOM, "The loss pays for entropy from the first")],
    ids=["as random as before", "more random"],
)
def test_updates_that_lead_one_way_are_not_too_large(other: dict[str, np.ndarray], cause: str, tmp_path: Path) -> None:
    found = page(tmp_path, led(**other), 120)
    assert leading(found, "reward-collapse").startswith(cause)
    rate = [f for f in found["findings"] if f["id"] == "cfg-lr-too-high"]
    assert all(f["severity"] == "info" for f in rate), rate


@pytest.mark.parametrize("other", [LEAPS, LARGER], ids=["the KL leaps", "the gradient grows"])
def test_updates_that_leap_are_too_large(other: dict[str, np.ndarray], tmp_path: Path) -> None:
    found = page(tmp_path, led(**other), 120)
    assert [f["severity"] for f in found["findings"] if f["id"] == "cfg-lr-too-high"] == ["critical"]
    assert not leading(found, "reward-collapse").startswith(("What is right", "The loss pays"))


def fallen(*, late: int = 0, kl: float = 1.0) -> dict[str, np.ndarray]:
    """From `AT` on (the gradient `late` rows after it) the policy becomes random; its KL goes up so many times."""
    grad = np.where(AT + late <= STEP, 0.1 + 0.25 * np.exp(-np.maximum(STEP - AT - late, 0) / 40), 0.11)
    return learns(
        reward_mean=0.3 + 0.5 * ramp(0, AT) - 0.65 * ramp(AT, 40) + wave(0, 0.02, ROWS, 1),
        kl=0.5 * ramp(0, AT) * np.where(SINCE, kl, 1.0) * np.exp(wave(0, 0.1, ROWS, 2)) + 1e-4,
        entropy=1.8 - 1.0 * ramp(0, AT) + 1.5 * ramp(AT, 40) + wave(0, 0.02, ROWS, 3),
        grad_norm=grad * wave(1, 0.08, ROWS, 4),
        response_length=5 + 4 * ramp(AT, 40) + wave(0, 0.2, ROWS, 5),
    )


def test_a_gradient_that_leaps_on_answers_as_before_is_of_another_loss(tmp_path: Path) -> None:
    found = page(tmp_path, fallen(), AT + 50)
    assert leading(found, "reward-collapse").startswith("The loss pays for entropy since that step")


def test_a_gradient_that_leaps_behind_an_update_is_not(tmp_path: Path) -> None:
    """The step before had gone too far, as the KL shows."""
    found = page(tmp_path, fallen(late=1, kl=4.0), AT + 50)
    told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("The loss pays for entropy")]
    assert told
    assert all(c["status"] != "supported" for c in told), told

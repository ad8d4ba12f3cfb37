"""A loop that catches what ended it and says so in its own words: by hand, by an error, or by its own decision."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import reported

LEADS = ("", "2026-03-01 14:19:39,969 - __main__ - ERROR - ", "[trainer] ", "❌ ")
BY_HAND = (
    "Training interrupted by user",
    "The run was stopped by the user.",
    "KeyboardInterrupt received, saving checkpoint...",
    "Caught keyboard interrupt",
    "Interrupted. Saving...",
    "Training aborted manually at step 60",
    "^C",
)
FAILED = (
    "Training failed: list index out of range",
    "Training failed with error: division by zero",
    "Training failed with exception: 'reward'",
    "Error during training: shapes (3,) and (4,) not aligned",
    "An unexpected error occurred during training: boom",
    "Exception in training loop: 'answer'",
    "GRPO training crashed: bad batch",
    "Job finished with errors",
    "Run failed",
    "Unhandled exception: ValueError('x')",
    "Fatal error: cannot open the reward model",
)
NO_ENDS = (
    "Training failed to improve validation for 10 evaluations",
    "Error during training step 60, skipping this batch",
    "Eval run failed: no server, continuing",
    "The user was interrupted by the agent",
    "Reward request failed: timeout, retrying",
    "Rollout interrupted by max_turns",
    "Run failed: 3, passed: 61",
    "Training failed: 2/64 prompts",
)


def state(tmp_path: Path, last: str, after: str = "") -> dict[str, Any]:
    log = tmp_path / "train.log"
    steps = "".join(f"step {i}/200 loss 0.1 reward {0.2 + i / 300:.3f}\n" for i in range(1, 61))
    log.write_text(f"{steps}{last}\n{after}")
    old = time.time() - 3600
    os.utime(log, (old, old))
    run: dict[str, Any] = reported(log)["run"]
    return run


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("words", BY_HAND)
def test_by_hand(words: str, lead: str, tmp_path: Path) -> None:
    found = state(tmp_path, lead + words)
    assert found["state"] == "crashed"
    assert "stopped by hand" in str(found)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("words", FAILED)
def test_by_an_error(words: str, lead: str, tmp_path: Path) -> None:
    found = state(tmp_path, lead + words)
    assert found["state"] == "crashed"
    assert words in str(found)


def test_by_its_own_decision(tmp_path: Path) -> None:
    assert state(tmp_path, "Stopping training: the KL is above 0.5")["state"] == "finished"


@pytest.mark.parametrize("words", NO_ENDS)
def test_what_ends_nothing(words: str, tmp_path: Path) -> None:
    assert state(tmp_path, words)["state"] == "stalled"


@pytest.mark.parametrize("words", [BY_HAND[0], FAILED[0]])
def test_steps_after_it_show_that_it_went_on(words: str, tmp_path: Path) -> None:
    after = "".join(f"step {i}/200 loss 0.1 reward 0.4\n" for i in range(61, 70))
    assert state(tmp_path, words, after)["state"] == "stalled"

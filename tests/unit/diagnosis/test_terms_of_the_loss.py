"""A term of the loss, or its coefficient, that was changed at one step: the loss leaps in that row, on answers of a
policy that is as before, and what comes of it shows rows later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.test_no_reason_to_stop import AT, ROWS, SINCE, evaluated, learns, page, pages, ramp
from tests.unit.diagnosis.written import finding, report, wave, write

LATER = ramp(AT + 5, 60)


def changed(loss: np.ndarray, **other: np.ndarray) -> dict[str, np.ndarray]:
    reward = 0.45 + 0.2 * ramp(0, AT) - 0.17 * LATER + wave(0, 0.02, ROWS, 1)
    held_out = evaluated(0.1 + 0.2 * ramp(0, AT) - 0.15 * LATER + wave(0, 0.015, ROWS, 8))
    usual = {"reward_mean": reward, "eval_accuracy": held_out, "loss": loss + wave(0, 0.008, ROWS, 7)}
    return learns(**usual | other)


def pulled() -> dict[str, np.ndarray]:
    """A KL coefficient a hundred times as large: the KL falls back, and the loss with it."""
    kl = 0.2 * ramp(0, AT) * (1 - 0.92 * LATER) * wave(1, 0.1, ROWS, 2) + 1e-4
    norm = np.where(SINCE, 2.8 - 2.2 * LATER, 0.55) * wave(1, 0.08, ROWS, 4)
    return changed(np.where(SINCE, 2.0 * kl, 0.0), kl_per_token=kl, grad_norm=norm)


def pushed() -> dict[str, np.ndarray]:
    """An entropy bonus: entropy rises, and the policy drifts away from its reference."""
    entropy = (0.6 + 0.6 * LATER) * wave(1, 0.03, ROWS, 3)
    kl = (0.2 * ramp(0, AT) + 0.4 * LATER) * wave(1, 0.1, ROWS, 2) + 1e-4
    return changed(np.where(SINCE, -0.3 * entropy, 0.0), kl_per_token=kl, entropy=entropy)


@pytest.mark.parametrize("columns", [pulled(), pushed()], ids=["KL penalty", "entropy bonus"])
def test_a_loss_that_leapt_before_the_harm_is_named(columns: dict[str, np.ndarray], tmp_path: Path) -> None:
    columns = {name: x for name, x in columns.items() if name != "kl"}
    for upto, found in pages(tmp_path, columns, (AT + 45, AT + 80, ROWS)):
        why = found["answer"]["why"]
        assert why.startswith(("A term of the loss", "The loss counts something else")), (upto, why)
        assert f"step {AT}" in why, (upto, why)


def test_a_loss_that_leaps_with_the_kl_counts_what_it_did(tmp_path: Path) -> None:
    """Another temperature: the KL leaps in the same row, and the loss holds it."""
    kl = np.where(SINCE, 1.2, 0.2 * ramp(0, AT) + 1e-4) * wave(1, 0.1, ROWS, 2)
    columns = changed(np.where(SINCE, 0.1 * kl, 0.02 * kl), kl_per_token=kl)
    columns = {name: x for name, x in columns.items() if name != "kl"}
    found = page(tmp_path, columns, AT + 60)
    told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("A term of the loss")]
    assert all(c["status"] != "supported" for c in told), told


@pytest.mark.parametrize("seed", range(4))
def test_a_loss_that_grows_with_a_kl_that_runs_away_is_no_change(seed: int, tmp_path: Path) -> None:
    """The policy unlearns its task from the first step on, and the noisy penalty climbs in leaps."""
    rng = np.random.default_rng(seed)
    kl = (0.002 + 6.0 * ramp(8, 10) + 6.0 * ramp(24, 2)) * rng.lognormal(0, 0.15, ROWS)
    reward = -0.4 + 0.4 * ramp(0, 45) + wave(0, 0.02, ROWS, seed)
    held_out = evaluated(0.1 * (1 - ramp(0, 30)) + wave(0, 0.004, ROWS, 8))
    columns = changed(0.02 * kl, reward_mean=reward, kl_per_token=kl, eval_accuracy=held_out)
    columns["response_length"] = 5 - 4 * ramp(10, 40) + wave(0, 0.05, ROWS, 3)
    columns = {name: x for name, x in columns.items() if name != "kl"}
    for upto, found in pages(tmp_path, columns, (75, 110, 150)):
        told = [c for f in found["findings"] for c in f["causes"] if c["text"].startswith("A term of the loss")]
        assert all(c["status"] != "supported" for c in told), (upto, told)


CLIMBS = np.exp(np.random.default_rng(0).normal(0, 0.25, 93)) * (0.01 + 2.5 * np.clip(np.arange(93) / 25, 0, 1) ** 1.5)
SETTLES = (0.002 + 0.7 * np.clip((np.arange(93) - 3) / 8, 0, 1)) * wave(1, 0.03, 93, 2)
SETTLES = SETTLES + 1.2 * np.clip((np.arange(93) - 20) / 20, 0, 1)


@pytest.mark.parametrize(("kl", "times"), [(CLIMBS, 1), (SETTLES, 6)], ids=["one number", "six times the number"])
def test_a_loss_that_is_the_penalty_alone(
    kl: np.ndarray, times: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It grows as the KL does, and tells of a change only if the number between both changes."""
    rows = np.arange(len(kl))
    loss = np.where(rows < 14, 0.01, 0.01 * times) * kl
    columns = {"score": wave(0.66, 0.01, len(rows), 1) + 0.0003 * rows, "kl": kl, "loss": loss.round(4)}
    found = finding(report(write(tmp_path / "run", columns), capsys), "kl-runaway")
    assert found is not None
    told = any(c["text"].startswith("A term of the loss") and c["status"] == "supported" for c in found["causes"])
    assert told == (times > 1)

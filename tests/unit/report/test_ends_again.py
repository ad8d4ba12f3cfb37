"""The same error that ended several attempts is told, with what to change before the run is started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.diagnosis.written import wave
from tests.unit.reported import told

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
IN_UPDATE = ['  File "/opt/verl/workers/actor/dp_actor.py", line 402, in update_policy', "    loss.backward()"]


def log(folder: Path, attempts: int, error: str, ends: bool, back: int = 5) -> Path:
    """A log of verl without a mark of a launch: each attempt goes back some steps from where the one before ended."""
    lines, first = [], 1
    for attempt in range(attempts):
        for step in range(first, first + 40):
            score, grad, entropy = wave(0, 0.02, 3, step + 1000 * attempt)
            told_of = {"critic/score/mean": 0.3 + 0.002 * step + score, "actor/grad_norm": 0.5 + grad}
            told_of["actor/entropy"] = 0.6 + entropy
            lines.append(f"step:{step} - " + " - ".join(f"{key}:{value:.4f}" for key, value in told_of.items()))
        if ends or attempt < attempts - 1:
            lines += ["Traceback (most recent call last):", *IN_UPDATE, error]
        first += 40 - back
    folder.mkdir()
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize("attempts", [2, 3])
def test_what_ended_earlier_attempts_too_ended_the_last_one(attempts: int, tmp_path: Path) -> None:
    page, _, report = told(log(tmp_path / "run", attempts, OOM, ends=True))
    assert report["run"]["state"] == "crashed"
    assert "GPU memory ran out in the update" in page
    assert f"the {'2nd' if attempts == 2 else '3rd'} end of this kind" in page
    assert "let it run" not in page


def test_a_run_that_goes_on_after_the_same_end_twice_is_not_just_left_to_run(tmp_path: Path) -> None:
    page, _, report = told(log(tmp_path / "run", 3, OOM, ends=False))
    to_do = next(line for line in page.splitlines() if line.startswith("- To do:"))
    key = "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"
    assert f"micro-batches of the update smaller ({key}) before it is started again" in to_do
    assert "twice" in to_do
    assert report["run"]["state"] != "crashed"


@pytest.mark.parametrize(("attempts", "ends"), [(1, False), (2, False)])
def test_one_end_alone_asks_for_nothing(attempts: int, ends: bool, tmp_path: Path) -> None:
    page = told(log(tmp_path / "run", attempts, OOM, ends))[0]
    assert "before it is started again" not in page


def test_an_error_that_training_survives_again_and_again_ends_nothing(tmp_path: Path) -> None:
    run = log(tmp_path / "run", 3, "RuntimeError: CUDA out of memory, the batch was skipped", ends=True, back=0)
    assert told(run)[2]["run"]["before_again"] == ""


def always_at_the_same_step(folder: Path, attempts: int, ends: bool = True) -> Path:
    """A log of verl without a mark of a launch: each attempt begins at the same step and ends at the same step."""
    lines = []
    for attempt in range(attempts):
        for step in range(31 if attempt else 1, 62):
            score, grad, entropy = wave(0, 0.02, 3, step)
            told_of = {"critic/score/mean": 0.3 + 0.002 * step + score, "actor/grad_norm": 0.5 + grad}
            told_of["actor/entropy"] = 0.6 + entropy + 1e-4 * attempt
            lines.append(f"step:{step} - " + " - ".join(f"{key}:{value:.5f}" for key, value in told_of.items()))
        error = OOM.replace("2.00 GiB", f"2.{attempt}0 GiB")
        if ends or attempt < attempts - 1:
            lines += ["Traceback (most recent call last):", *IN_UPDATE, error]
    folder.mkdir()
    (folder / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def test_attempts_that_end_at_one_step_are_told_apart(tmp_path: Path) -> None:
    page, _, report = told(always_at_the_same_step(tmp_path / "run", 4))
    answer = page.splitlines()[2]
    assert "It is the 4th end of this kind" in answer
    assert "2.30 GiB were asked for" in answer
    assert [end["because"].partition("(")[2][:8] for end in report["run"]["ends"]] == [
        "2.00 GiB",
        "2.10 GiB",
        "2.20 GiB",
    ]
    restarts = next(line for line in page.splitlines() if line.startswith("- Restarts:"))
    assert all(f"31 (GPU memory ran out in the update (2.{n}0 GiB" in restarts for n in range(3))


def test_a_run_that_is_restarted_again_and_again_is_told_with_what_ends_it(tmp_path: Path) -> None:
    page, _, report = told(always_at_the_same_step(tmp_path / "run", 4, ends=False))
    assert report["run"]["state"] != "crashed"
    found = next(f for f in report["findings"] if f["id"] == "resume-discontinuity")
    assert "restarted 3 times" in found["summary"]
    assert "GPU memory ran out in the update 3 times" in found["summary"]
    assert "Jump" not in page
    assert "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu" in next(
        line for line in page.splitlines() if line.startswith("- To do:")
    )

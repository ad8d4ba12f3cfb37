"""Checkpoints that a log says were saved: they are kept, unless it tells that saving one failed."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.unit.reported import told

WORKER = "(WorkerDict pid=42310) "
DONE = WORKER + "[Rank {rank}] Saved {part} to /ckpt/run/global_step_{step}/actor/{part}_world_size_2_rank_{rank}.pt"
BEGUN = "(TaskRunner pid=71) local_global_step_folder: /ckpt/run/global_step_{step}"
FULL = "OSError: [Errno 28] No space left on device"


def saves(step: int) -> list[str]:
    done = [DONE.format(rank=rank, part=part, step=step) for part in ("model", "optim") for rank in (0, 1)]
    return [BEGUN.format(step=step), *done]


def log_of(folder: Path, rows: int, plan: int, saved: dict[int, list[str]], last: tuple[str, ...] = ()) -> Path:
    """Before the row of a step come the lines that saving it wrote, as verl writes them."""
    chance = random.Random(5)
    lines = [f"(TaskRunner pid=71) Total training steps: {plan}"]
    for step in range(1, rows + 1):
        reward = 0.3 + 0.3 * step / rows + chance.gauss(0, 0.01)
        lines += saved.get(step, [])
        lines.append(f"(TaskRunner pid=71) step:{step} - critic/rewards/mean:{reward:.4f} - actor/grad_norm:0.3")
    (folder / "train.log").write_text("\n".join([*lines, *last]) + "\n")
    return folder


def kept(page: str) -> str:
    return next(line for line in page.splitlines() if line.startswith("- Keep:"))


def test_the_log_tells_what_was_saved(tmp_path: Path) -> None:
    page, _, report = told(log_of(tmp_path, 100, 100, {step: saves(step) for step in (50, 100)}))
    assert kept(page).startswith("- Keep: the checkpoint of step 100 (")
    assert report["verdict"]["best_checkpoint"]["path"] == "/ckpt/run/global_step_100"
    assert report["verdict"]["best_checkpoint"]["on_disk"] is None


@pytest.mark.parametrize(
    ("lines", "keep"),
    [
        ([BEGUN.format(step=80)], "step 40"),
        ([DONE.format(rank=0, part="model", step=80), FULL], "step 40"),
        ([DONE.format(rank=0, part="model", step=80)], "step 80"),
    ],
)
def test_a_save_that_was_begun_or_that_failed_is_none(tmp_path: Path, lines: list[str], keep: str) -> None:
    saved = {40: [BEGUN.format(step=40)]}  # the training went on
    page, _, _ = told(log_of(tmp_path, 80, 200, saved, tuple(lines)))
    assert kept(page).startswith(f"- Keep: the checkpoint of {keep} (")


def test_what_is_on_disk_counts_alone(tmp_path: Path) -> None:
    run = log_of(tmp_path, 100, 100, {step: saves(step) for step in (50, 100)})
    (run / "global_step_50").mkdir()
    (run / "global_step_50" / "model.pt").write_bytes(b"w" * 100)
    assert kept(told(run)[0]).startswith("- Keep: the checkpoint of step 50 (")


def test_words_about_a_path_that_is_no_checkpoint_save_nothing(tmp_path: Path) -> None:
    lines = {step: [f"Saved model to /home/u/run_{step}/notes.txt"] for step in (50, 100)}
    assert kept(told(log_of(tmp_path, 100, 100, lines))[0]).startswith("- Keep: no saved checkpoint was found.")

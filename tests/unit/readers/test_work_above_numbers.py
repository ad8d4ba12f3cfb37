"""Lines that say what was done for a step, above the numbers of that step: `rollout 91 generated 256 answers`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.reported import ends, reported

DONE = (
    "rollout {i} generated 256 answers",
    "Iteration {i}: collected 512 trajectories in 12.3s",
    "Rollout {i}: {n} completions sampled",
    "Step {i}: generated {n} completions for 8 prompts",
    "batch {i}: scored {n} completions",
    "Round {i}/30: played 128 games in 12.1 s",
    "[rollout {i}] collected {n} samples",
    "2026-01-01 10:00:{i:02d},000 INFO rollout {i} generated 256 answers",
)
BELOW = {
    "with their spread": ("  reward mean {r:.3f} std 0.2", "  loss {l:.4f}"),
    "pairs": ("  reward: {r:.3f}", "  loss: {l:.4f}"),
    "one number": ("  reward {r:.3f}",),
    "not indented": ("reward mean {r:.3f} std 0.2", "loss {l:.4f} kl 0.01"),
}


def blocks(*lines: str, steps: int = 30) -> list[str]:
    return [line.format(i=i, n=256 + i % 3, r=0.1 + i / 90, l=1 / i) for i in range(1, steps + 1) for line in lines]


def report_of(lines: list[str], folder: Path) -> dict[str, Any]:
    (folder / "train.log").write_text("\n".join([*lines, ""]))
    return reported(folder)


@pytest.mark.parametrize("below", BELOW.values(), ids=BELOW)
@pytest.mark.parametrize("done", DONE)
def test_the_numbers_below_are_of_the_step(done: str, below: tuple[str, ...], tmp_path: Path) -> None:
    lead = done.partition("rollout")[0] if "INFO" in done else ""
    report = report_of(blocks(done, *(f"{lead}{line}" for line in below)), tmp_path)
    assert report["run"]["steps"]["rows"] == report["run"]["steps"]["last"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))


def test_the_amounts_are_kept(tmp_path: Path) -> None:
    report = report_of(blocks("rollout {i} generated {n} answers", "  reward {r:.3f}"), tmp_path)
    assert report["metrics"]["generated"]["count"] == 30


def test_such_blocks_in_pieces() -> None:
    text = "\n".join([*blocks("rollout {i} generated 256 answers", "  reward mean {r:.3f} std 0.2", steps=6), ""])
    whole = read("console", text).rows
    assert sorted({step for step, _ in whole}) == list(range(1, 7))
    for cut in cuts(text.encode()):
        assert read("console", text, [cut]).rows == whole, cut


STEP = "step {i} reward={r:.3f} loss={l:.4f}"
BESIDE = {
    "work above the line of the step": ("rollout {i} generated 256 answers", STEP),
    "workers above the line of the step": ("worker 3 generated 64 answers", STEP),
    "another count for the step": ("rollout {i} generated 256 answers", "update {i}: loss {l:.4f} reward {r:.3f}"),
    "rollouts below the step": ("=== Step {i} ===", "rollout 1 collected 9 games", "reward: {r:.3f}", "loss: {l:.4f}"),
    "work below the line of the step": (STEP, "batch {i}: generated 64 completions", "  length mean 311 std 20"),
    "a sentence": (STEP, "The rollout 3 generated 256 answers, nice", "  reward mean 0.1 std 0.2 is what I saw"),
    "numbers of the rollout above the step": (
        "rollout {i} generated 256 answers",
        "  reward mean {r:.3f} std 0.2",
        "step {i} loss={l:.4f} kl=0.01",
    ),
}


@pytest.mark.parametrize("lines", BESIDE.values(), ids=BESIDE)
def test_other_lines_that_state_the_step(lines: tuple[str, ...], tmp_path: Path) -> None:
    report = report_of(blocks(*lines), tmp_path)
    assert report["run"]["steps"]["rows"] == report["run"]["steps"]["last"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))
    assert ends(report, "total_loss")[0] == 30
    assert not {"generated", "collected"} & report["metrics"].keys()


def test_work_alone_is_no_row(tmp_path: Path) -> None:
    lines = [*blocks("rollout {i} generated 256 answers"), *blocks(STEP, steps=5)]
    assert report_of(lines, tmp_path)["run"]["steps"] == {"first": 1, "last": 5, "total": None, "rows": 5}

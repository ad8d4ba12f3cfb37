"""Lines that state the step beside amounts that are no metrics, `rollout 3 done, length: 256`: what was measured stands
below them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts, read
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_work_above_numbers import blocks

TITLES = (
    "rollout batch {i} generated, length: {n}",
    "rollout {i}: length: 256",
    "step {i} sampled, length: {n}",
    "Iteration {i} generated, n=256",
    "step {i}, size=64",
    "[rollout {i}] size=64",
    "Generating rollout {i}, size=64",
    "Collecting batch {i} (64 prompts)",
    "PPO update {i} on 256 sequences",
    "Étape {i} sur 30",
    "Step {i} out of 30",
    "Generating rollouts for step {i}",
    "2026-01-01 10:00:{i:02d},000 - train - INFO - rollout batch {i} generated, length: 256",
    "[2026-01-01 10:00:{i:02d}] [INFO] loop.py:12: rollout {i}",
)
BELOW = {
    "pairs": ("loss: {l:.4f}, l2_norm: 0.1{i:02d}, reward: {r:.3f}",),
    "a dict among them": ("loss: {l:.4f}, reward: {r:.3f}, data: {{'total_num': 256, 'right': {n}.0}}",),
    "signs": ("loss={l:.4f} kl=0.0{i:02d} reward={r:.3f}",),
    "arrows": ("loss -> {l:.4f}", "reward -> {r:.3f}"),
    "a dict with a name": ("metrics: {{'loss': {l:.4f}, 'reward': {r:.3f}}}",),
    "a line each": ("  reward: {r:.3f}", "  loss: {l:.4f}"),
}


@pytest.mark.parametrize("below", BELOW.values(), ids=BELOW)
@pytest.mark.parametrize("title", TITLES)
def test_the_numbers_below_are_of_the_step(title: str, below: tuple[str, ...], tmp_path: Path) -> None:
    lead = title.partition("rollout")[0] if "INFO" in title else ""
    lines = blocks(title, *(f"{lead}{line}" for line in below))
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == report["run"]["steps"]["last"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))
    assert ends(report, "total_loss")[0] == 30


def test_amounts_are_of_what_is_counted(tmp_path: Path) -> None:
    """How long a batch is says nothing of the answers."""
    (tmp_path / "train.log").write_text("\n".join([*blocks(TITLES[0], *BELOW["pairs"]), ""]))
    report = reported(tmp_path)
    assert report["metrics"]["batch length"]["count"] == 30
    assert "response_length_mean" not in report["metrics"]


def test_evaluations_between_them(tmp_path: Path) -> None:
    """The evaluation of every tenth batch names the batch, and the best one is told again."""
    lines = []
    for i, (title, metrics) in enumerate(zip(*[iter(blocks(TITLES[0], *BELOW["pairs"]))] * 2, strict=True)):
        lines += [title, metrics]
        if i % 10 == 9:
            lines += [
                f"rollout batch {i + 1} done, eval_acc: 0.{i}",
                f"new best eval_acc: 0.{i}, save model to out/best",
            ]
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))
    assert ends(report, "val_score") == (3, 0.9, 0.29)


def test_evaluations_of_a_log_that_began_anew(tmp_path: Path) -> None:
    """Each launch counts from its start, and so do the evaluations: their count goes back before it was learned."""
    lines = []
    for launch, steps in enumerate((12, 30)):
        for i, line in enumerate(blocks(f"{TITLES[0]}\n{BELOW['pairs'][0]}", steps=steps)):
            lines.append(line)
            if i % 10 == 0:
                lines.append(f"step batch {i + 1} done, eval_acc: 0.{launch}{i}")
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == report["run"]["steps"]["last"] == 30
    count, _, last = ends(report, "val_score")  # at step 1 that of either launch
    assert (count, last) == (3, 0.12)


def test_such_lines_in_pieces() -> None:
    text = "\n".join([*blocks(TITLES[0], *BELOW["pairs"], steps=6), ""])
    whole = read("console", text).rows
    assert sorted({step for step, _ in whole}) == list(range(1, 7))
    for cut in cuts(text.encode()):
        assert read("console", text, [cut]).rows == whole, cut


STEP = "step {i} reward={r:.3f} loss={l:.4f}"


@pytest.mark.parametrize(
    "lines",
    [
        ("rollout batch {i} generated, length: {n}", STEP),
        (STEP, "rollout batch {i} generated, length: {n}"),
        ("worker 3 has batch {i}, size=64", STEP),
        (STEP, "saved file {i}, size: 2048"),
    ],
    ids=["above the step", "below the step", "workers", "files"],
)
def test_lines_of_their_own_state_the_steps(lines: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text("\n".join([*blocks(*lines), ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"] == {"first": 1, "last": 30, "total": None, "rows": 30}
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))
    assert ends(report, "total_loss")[0] == 30


def test_amounts_alone_are_no_rows(tmp_path: Path) -> None:
    """Batches are prepared before the training; nothing is measured in them."""
    lines = [*blocks("batch {i} ready, size: {n}"), *blocks(STEP, steps=5)]
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    assert reported(tmp_path)["run"]["steps"] == {"first": 1, "last": 5, "total": None, "rows": 5}


def test_numbered_parts_of_answers_are_no_steps(tmp_path: Path) -> None:
    """Answers number their parts and set numbers in them; the reward of each stands below."""
    lines = []
    for i in range(1, 31):
        lines += [f"step {i} reward={0.1 + i / 90:.3f} loss={1 / i:.4f}", "Sample:"]
        for part in (1, 2, 3):
            lines += [f"Step {part}: n = {i * part}", f"so total: {i + part}"]
    (tmp_path / "train.log").write_text("\n".join([*lines, ""]))
    report = reported(tmp_path)
    assert report["run"]["steps"]["rows"] == 30
    assert ends(report, "reward_mean") == (30, pytest.approx(0.111), pytest.approx(0.433))


def test_what_may_have_been_measured_keeps_its_name() -> None:
    text = "".join(f"Iteration {i}: residual = {1 / i:.4f}, objective = 0.{i:03}\n" for i in range(1, 31))
    rows = read("console", text).rows
    assert [step for step, _ in rows] == [*range(1, 31)]
    assert all(cells.keys() == {"residual", "objective"} for _, cells in rows)

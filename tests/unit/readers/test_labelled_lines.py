"""Lines that state a step again behind a label, through the command line: they overwrite nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.exporting import Rows, exported

N = 24
OTHER = "2025-03-04 10:00:00 INFO vllm engine: step 3 queue: reward model busy, 12 waiting"


def log(
    second: str, first: str = "step {i} reward={x:.3f} kl={k:.4f}", every: int = 4, above: bool = False
) -> list[str]:
    lines = []
    for i in range(1, N + 1):
        told = {"i": i, "x": 0.1 + i / 50, "k": 0.01 + i / 1000, "y": 0.5 + i / 50}
        both = [first.format(**told), *([second.format(**told)] if i % every == 0 else [])]
        lines += reversed(both) if above else both
        if i % 5 == 0:
            lines.append(OTHER)
    return lines


def check(found: Rows) -> None:
    assert [row["step"] for row in found] == list(range(1, N + 1))
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert [row["kl_ref"] for row in found] == pytest.approx([0.01 + i / 1000 for i in range(1, N + 1)])
    assert not any("response_length_mean" in row for row in found)


SECOND = [
    "step {i} dev: reward={y:.3f} len=300",
    "step {i} [dev] reward={y:.3f} len=300",
    "step {i} held-out: reward={y:.3f} len=300",
    "step {i} holdout | reward={y:.3f} len=300",
    "step {i} OOD: reward={y:.3f} len=300",
    "step {i} aime25: reward={y:.3f} len=300",
    "step {i} greedy eval reward={y:.3f}",
    "step {i} test: reward={y:.3f} len=300",
]


@pytest.mark.parametrize("second", SECOND)
def test_a_label_of_held_out_data_makes_an_evaluation(
    second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "train.log", log(second), capsys)
    check(found)
    scores = {
        row["step"]: x for row in found for name, x in row.items() if name.startswith("val_score") and x is not None
    }
    assert scores == pytest.approx({i: 0.5 + i / 50 for i in range(4, N + 1, 4)})


@pytest.mark.parametrize("label", ["best:", "[ema]", "replay:", "set=hard", "opponent |", "math_500:", "train set:"])
def test_any_other_label_is_a_group(label: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = exported(tmp_path / "train.log", log(f"step {{i}} {label} reward={{y:.3f}} len=300"), capsys)
    check(found)
    assert {row["step"]: x for row in found for name, x in row.items() if name.endswith("/reward")} == pytest.approx(
        {i: 0.5 + i / 50 for i in range(4, N + 1, 4)}
    )


@pytest.mark.parametrize("form", ["step {i} agent=%s reward={r:.3f}", "step {i} [%s] reward={r:.3f}"])
def test_of_two_agents_none_is_lost(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = form.replace("{r", "{x") % "planner", form.replace("{r", "{y") % "coder"
    found = exported(tmp_path / "train.log", log(second, first, every=1), capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    assert [row["coder/reward"] for row in found] == pytest.approx([0.5 + i / 50 for i in range(1, N + 1)])


@pytest.mark.parametrize(
    ("second", "wanted"),
    [
        ("step {i} done: loss=0.2 len=300", {"total_loss": 0.2, "response_length_mean": 300.0}),
        ("step {i} train: loss=0.2 len=300", {"total_loss": 0.2, "response_length_mean": 300.0}),
        ("step {i} update: loss=0.2 gnorm=0.7", {"total_loss": 0.2, "grad_norm": 0.7}),
        ("step {i} | loss=0.2 | len=300", {"total_loss": 0.2, "response_length_mean": 300.0}),
    ],
)
def test_a_line_with_further_numbers_of_the_step_belongs_to_it(
    second: str, wanted: dict[str, float], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = exported(tmp_path / "train.log", log(second, every=1), capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([0.1 + i / 50 for i in range(1, N + 1)])
    for row in found:
        assert {name: row.get(name) for name in wanted} == wanted


def test_a_label_that_changes_with_the_steps_is_no_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"step {i} {'warmup' if i < 9 else 'main'}: reward={i / 50:.3f} kl=0.01" for i in range(1, N + 1)]
    found = exported(tmp_path / "train.log", lines, capsys)
    assert [row["reward_mean"] for row in found] == pytest.approx([i / 50 for i in range(1, N + 1)])


@pytest.mark.parametrize(
    "second",
    [
        "step {i} checkpoint saved, time 133.5s, size 14.2GB",
        "step {i} saved checkpoint in ckpt/{i}: time 133.5s",
        "step {i} ckpt: time 133.5s",
    ],
)
@pytest.mark.parametrize("timed", [" time=30.5s", ""])
def test_the_time_of_a_checkpoint_is_not_that_of_the_step(
    timed: str, second: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = "step {i} reward={x:.3f} kl={k:.4f}" + timed
    found = exported(tmp_path / "train.log", log(second, first), capsys)
    check(found)
    assert {row.get("time_per_step_s") for row in found} == {30.5 if timed else None}


def test_a_launch_that_goes_back_keeps_the_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = log("step {i} best: reward={y:.3f}")
    found = exported(tmp_path / "train.log", [*lines, "resumed from a checkpoint", *lines[9:]], capsys)
    check(found)
    assert {row["step"] for row in found if "best/reward" in row} == {4, 8, 12, 16, 20, 24}


def test_steps_of_episodes_are_no_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = []
    for i in range(1, N + 1):
        lines += [f"Step {s}: action=look, reward=0.{s}, done=False" for _ in range(2) for s in range(1, 4)]
        lines.append(f"Step {i} | reward {0.1 + i / 50:.3f} | loss 0.5 | kl {0.01 + i / 1000:.4f}")
    check(exported(tmp_path / "train.log", lines, capsys))

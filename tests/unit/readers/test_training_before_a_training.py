"""Two trainings in one log, one after the other: SFT before GRPO, or a reward model before its policy. The later one is
the run; its steps are its own, nothing is said to be resumed, and the rows left out are told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.unit.readers.reported import reported

Row = dict[str, float]
SFT, RL = 40, 80
OVER = "{'train_runtime': 412.02, 'train_samples_per_second': 11.8, 'train_steps_per_second': 0.1, 'epoch': 3.0}"


def supervised(i: int) -> Row:
    return {
        "loss": round(1.2 * 0.97**i, 4),
        "grad_norm": 1.5 + i % 3 / 10,
        "learning_rate": round(2e-5 * (1 - i / SFT), 9),
        "mean_token_accuracy": round(0.6 + 0.3 * i / SFT, 4),
        "epoch": round(3 * i / SFT, 2),
    }


def reinforced(i: int) -> Row:
    return {
        "loss": round(0.01 - i % 5 / 1000, 4),
        "grad_norm": 0.2 + i % 4 / 20,
        "learning_rate": 1e-6,
        "reward": round(0.2 + 0.5 * i / RL + i % 3 / 100, 4),
        "reward_std": 0.2 + i % 5 / 100,
        "kl": round(0.0001 * i, 5),
        "completions/mean_length": 200.0 + i % 7,
        "entropy": round(0.5 - 0.001 * i, 4),
        "frac_reward_zero_std": 0.0,
        "epoch": round(i / RL, 3),
    }


def barred(rows: Sequence[Row], apart: int) -> list[str]:
    """As the bar of HF's Trainer repaints itself around its lines."""
    total, out = len(rows) * apart, []
    for i, row in enumerate(rows, 1):
        done = i * apart
        out += [
            "\r" + " " * 30 + "\r" + repr(row),
            f"\r{100 * done // total:3d}%|####      | {done}/{total} [01:00<01:00]",
        ]
    return out


def dicts(first: Sequence[Row], later: Sequence[Row]) -> list[str]:
    return [*map(repr, first), OVER, "INFO:__main__:saved to ./out/sft", *map(repr, later)]


def bars(first: Sequence[Row], later: Sequence[Row]) -> list[str]:
    return [*barred(first, 5), "\n" + OVER, "Starting GRPO", *barred(later, 1)]


def stated(first: Sequence[Row], later: Sequence[Row]) -> list[str]:
    return [json.dumps({"step": i, **row}) for part in (first, later) for i, row in enumerate(part, 1)]


def own(first: Sequence[Row], later: Sequence[Row]) -> list[str]:
    def line(i: int, row: Row) -> str:
        return f"step {i}: " + ", ".join(f"{name}={value}" for name, value in row.items())

    return [
        *(line(i, row) for i, row in enumerate(first, 1)),
        "=== RL ===",
        *(line(i, r) for i, r in enumerate(later, 1)),
    ]


Style = Callable[[Sequence[Row], Sequence[Row]], list[str]]


def read(tmp_path: Path, lines: list[str]) -> dict[str, Any]:
    log = tmp_path / "train.log"
    log.write_text("\n".join(lines) + "\n")
    return reported(log)


@pytest.mark.parametrize("rows", [15, RL])
@pytest.mark.parametrize("style", [dicts, bars, stated, own])
def test_the_later_training_is_the_run(style: Style, rows: int, tmp_path: Path) -> None:
    first = [supervised(i) for i in range(1, SFT + 1)]
    later = [reinforced(i) for i in range(1, rows + 1)]
    seen = read(tmp_path, style(first, later))
    run = seen["run"]
    assert (run["steps"]["first"], run["steps"]["last"]) == (1, rows)
    assert run["restarts"] == []
    assert [one["rows"] for one in run["attempts"] if one["other"]] == [SFT]
    assert seen["metrics"]["reward_mean"]["count"] == rows
    assert rows == RL or style is bars or run["state"] != "finished"  # the end that is told is that of the first


def test_a_run_that_logs_more_after_a_restart_is_one_run(tmp_path: Path) -> None:
    """A near miss: other names, but it goes on where it was."""
    short = [{"step": i, "reward": reinforced(i)["reward"], "kl": 0.0001 * i} for i in range(1, 41)]
    full = [{"step": i, **reinforced(i), "reward": reinforced(i)["reward"] + 0.001} for i in range(21, 81)]
    seen = read(tmp_path, [json.dumps(row) for row in (*short, *full)])
    assert seen["run"]["restarts"] == [21]
    assert seen["metrics"]["reward_mean"]["count"] == 80
    assert not any(one["other"] for one in seen["run"]["attempts"])


def test_a_run_begun_again_is_no_other_training(tmp_path: Path) -> None:
    """A near miss: from scratch, but under the same names."""
    rows = [reinforced(i) for i in range(1, 41)]
    again = [{**reinforced(i), "reward": reinforced(i)["reward"] + 0.02, "grad_norm": 0.3} for i in range(1, 31)]
    seen = read(tmp_path, stated(rows, again))
    assert seen["run"]["restarts"] == [1]
    assert [one["other"] for one in seen["run"]["attempts"]] == [False]


NAMED = {
    "a word before the step": "{training} step {i} {cells}",
    "a tag": "[{training}] step {i}/{total} {cells}",
    "a column": "2026-03-04 10:00:{s:02d},123 {training:<4} | step {i:>4} | {cells}",
    "a logger": "2026-03-04 10:00:{s:02d} INFO [{training}] step {i}: {cells}",
}
FIRST = {"SFT": ("loss {x:.4f} ppl {y:.3f} lr 2.0e-05", 30), "RM": ("acc {y:.4f} margin {x:.4f}", 60)}
LATER = {
    "GRPO": "loss {z:.4f} reward {y:.4f} kl {k:.4f} lr 1.0e-06",
    "PPO": "reward {y:.4f} kl {k:.4f} pg_loss {z:.4f}",
}


def lines_of(form: str, training: str, cells: str, total: int, first: int = 1) -> list[str]:
    return [
        form.format(
            training=training,
            i=i,
            total=total,
            s=i % 60,
            cells=cells.format(x=1.4 - i / 100, y=0.2 + i / 200, z=0.02 - i % 5 / 100, k=i / 5000),
        )
        for i in range(first, total + 1)
    ]


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("form", NAMED)
def test_trainings_that_their_lines_name_keep_apart(form: str, first: str, later: str, tmp_path: Path) -> None:
    """Also if no name is in both, if the later one is shorter, and if a minus makes another wording of some lines."""
    cells, total = FIRST[first]
    seen = read(
        tmp_path, [*lines_of(NAMED[form], first, cells, total), *lines_of(NAMED[form], later, LATER[later], 45)]
    )
    assert (seen["run"]["steps"]["first"], seen["run"]["steps"]["last"]) == (1, 45)
    assert seen["run"]["restarts"] == []
    assert [one["rows"] for one in seen["run"]["attempts"] if one["other"]] == [total]
    reward = seen["metrics"]["reward_mean"]
    near = pytest.approx([0.205, 0.425], abs=0.02)  # means of the first and last rows
    assert (reward["count"], [reward["first"], reward["last"]]) == (45, near)
    assert not any(key.startswith(("ppl", "margin", "acc")) for key in seen["metrics"])
    if first == "SFT" and later == "GRPO":
        assert abs(seen["metrics"]["total_loss"]["first"]) < 0.03


def test_a_part_of_each_step_that_names_a_training_is_none(tmp_path: Path) -> None:
    """A near miss: a loss on demonstrations beside each step of PPO."""
    policy = lines_of(NAMED["a tag"], "PPO", LATER["PPO"], 40)
    beside = lines_of(NAMED["a tag"], "SFT", "sft_loss {x:.4f}", 40)
    seen = read(tmp_path, [line for two in zip(policy, beside, strict=True) for line in two])
    assert not any(one["other"] for one in seen["run"]["attempts"])
    assert seen["metrics"]["reward_mean"]["count"] == 40


def test_a_reward_model_refreshed_between_steps_begins_no_other_run(tmp_path: Path) -> None:
    """A near miss: PPO goes on where it was, and the reward model counts its own updates."""
    lines: list[str] = []
    for part in range(4):
        lines += lines_of(NAMED["a word before the step"], "ppo", LATER["PPO"], 10 * part + 10, 10 * part + 1)
        lines += lines_of(
            NAMED["a word before the step"], "rm", "rm_loss {x:.4f} rm_acc {y:.4f}", 5 * part + 5, 5 * part + 1
        )
    seen = read(tmp_path, lines)
    assert not any(one["other"] for one in seen["run"]["attempts"])
    assert (seen["run"]["steps"]["first"], seen["run"]["steps"]["last"]) == (1, 40)
    assert seen["metrics"]["reward_mean"]["count"] == 40


def test_the_last_numbers_of_a_bar_that_is_over_are_none_of_the_lines_below_it(tmp_path: Path) -> None:
    bars = [
        f"SFT: {100 * i // 30:3d}%|####| {i}/30 [00:{i:02d}<00:30, 1.02it/s, loss={1.5 - i / 100:.3f}, lr=2e-5]"
        for i in range(1, 31)
    ]
    lines = lines_of("{training} {i}/{total} {cells}", "grpo", LATER["GRPO"], 40)
    seen = read(tmp_path, ["\r".join(bars), *lines])
    assert (seen["run"]["steps"]["first"], seen["run"]["steps"]["last"]) == (1, 40)
    assert seen["metrics"]["reward_mean"]["count"] == 40
    assert abs(seen["metrics"]["total_loss"]["last"]) < 0.03
    assert not any(f["id"] == "cfg-lr-too-high" for f in seen["findings"])

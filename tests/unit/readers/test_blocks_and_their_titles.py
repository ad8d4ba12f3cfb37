"""What stands over the numbers of a step: a count among words, and titles of parts that say the count again."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.test_lines_of_home_made_loops import STEPS, rows, steps

TITLES = (
    "Training Summary - Step {n}",
    "{rule}\nGeneration Log - Step {n}\n{rule}",
    "Stats | Step {n}",
    "Stage 2 | Epoch 1/3 | Step {n}",
    "2026-01-05 10:11:12,345 INFO Phase 1 | Iteration {n}",
    "STEP {n} | 2026-01-05 10:11:12",
)
NUMBERS = (
    "  Reward: {x}\n  Loss: {loss}\n  KL: {kl}\n",
    "├─ Reward: {x} | KL: {kl}\n└─ Loss: {loss}\n",
)


@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("title", TITLES)
def test_a_count_behind_a_title_is_the_step(title: str, numbers: str, tmp_path: Path) -> None:
    found = steps(tmp_path, title.replace("{rule}", "=" * 60) + "\n" + numbers)
    assert {n: {name: x for name, x in row.items() if name != "time"} for n, row in found.items()} == {
        n: {"reward_mean": n / 1000, "total_loss": 1.25, "kl_ref": 0.125} for n in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("title", ["Sample - Step {n}", "Prompt | Step {n}", "Worker 3 | Step {n}"])
def test_a_count_below_which_something_else_stands_is_none(title: str, tmp_path: Path) -> None:
    form = "step {n} reward {x} loss {loss} kl {kl}\n" + title + "\n  Reward: 7.5\n  Loss: 8.5"
    found = steps(tmp_path, form)
    assert {n: (row["reward_mean"], row["total_loss"]) for n, row in found.items()} == {
        n: (n / 1000, 1.25) for n in range(1, STEPS + 1)
    }


PARTS = (
    "=== Step {n} ===\nTrain {n}: loss {loss} kl {kl}\nRollout {n}: reward {x}",
    "Iteration {n}\n  Update {n} | loss={loss}, kl={kl}\n  Rollout {n} | reward={x}",
    "[stage] step={n}, reward={x}\n  Update: loss={loss}, kl={kl}",
)


@pytest.mark.parametrize("form", PARTS)
def test_a_count_that_comes_again_is_no_metric(form: str, tmp_path: Path) -> None:
    assert steps(tmp_path, form) == {
        n: {"reward_mean": n / 1000, "total_loss": 1.25, "kl_ref": 0.125} for n in range(1, STEPS + 1)
    }


UNKNOWN = (
    "[selfplay] step {n}/60 | vs greedy 0.25 vs book {x} (black 0.5/white 0.75) | ploss +0.125 vloss 0.375",
    "iter {n}: foo=0.25, bar={x}, baz=0.5",
)


@pytest.mark.parametrize("form", UNKNOWN)
def test_a_plain_count_beside_numbers_that_nobody_knows_is_the_step(form: str, tmp_path: Path) -> None:
    found = steps(tmp_path, form)
    assert list(found) == list(range(1, STEPS + 1))
    assert all(n / 1000 in row.values() and 0.25 in row.values() for n, row in found.items())


def test_parts_that_a_slash_sets_apart_have_their_names(tmp_path: Path) -> None:
    found = steps(tmp_path, "step {n} | loss {loss} | win {x} (black 0.5/white 0.75) | 20.5 tok/s")
    assert found[3] == {"total_loss": 1.25, "win": 0.003, "black": 0.5, "white": 0.75, **_rate(found[3])}


def _rate(row: dict[str, float]) -> dict[str, float]:
    return {name: x for name, x in row.items() if x == 20.5}


def test_counts_without_measures_are_no_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "build.log"
    log.write_text("".join(f"step {n} of 40: copied {n} files, {3 * n} links\n" for n in range(1, 41)))
    assert main(["report", str(log)]) == 2
    assert "no training log" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
def test_text_of_two_bytes_a_sign_needs_no_mark(encoding: str, tmp_path: Path) -> None:
    text = "".join(f"step {n} loss 0.5 reward {n / 100}\n" for n in range(1, 31))
    (tmp_path / "train.log").write_bytes(text.encode(encoding))
    assert rows(tmp_path, None) == {n: {"total_loss": 0.5, "reward_mean": n / 100} for n in range(1, 31)}


@pytest.mark.parametrize("size", [1, 5000, 3 << 20])
def test_zeros_before_a_row_take_nothing(size: int, tmp_path: Path) -> None:
    text = "".join(f"step {n} loss 0.5 reward {n / 100}\n" for n in range(1, 31)).encode()
    half = len(text) // 2
    half = text.index(b"\n", half) + 1
    (tmp_path / "train.log").write_bytes(text[:half] + b"\0" * size + text[half:])
    assert rows(tmp_path, None) == {n: {"total_loss": 0.5, "reward_mean": n / 100} for n in range(1, 31)}


def test_messages_of_the_journal_are_read(tmp_path: Path) -> None:
    lines = (
        f'{{"__REALTIME_TIMESTAMP":"17000000{n:02d}000000","_PID":"41","_UID":0,"PRIORITY":"6",'
        f'"MESSAGE":"step {n} loss 0.5 reward {n / 100}"}}\n'
        for n in range(1, 31)
    )
    assert rows(tmp_path, "".join(lines)) == {n: {"total_loss": 0.5, "reward_mean": n / 100} for n in range(1, 31)}

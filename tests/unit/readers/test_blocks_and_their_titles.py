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


STATISTICS = (
    "Update: {n} [level 3]\n    Loss: {loss}, KL: {kl}\n    Rewards          => Avg: {x}, Min: -0.500, Max: 0.750\n"
    "    Values           => Avg: 0.125, Min: 0.000, Max: 2.000",
    "step {n} | loss {loss} | kl {kl} | reward => mean {x} min -0.5 max 0.75 | value -> mean 0.125, min 0.0, max 2.0",
    "Iteration {n}\n  Loss: {loss}\n  KL: {kl}\n  Reward - mean: {x}, min: -0.5, max: 0.75\n"
    "  Value - mean: 0.125, min: 0.0, max: 2.0",
)


@pytest.mark.parametrize("form", STATISTICS)
def test_statistics_are_of_what_stands_before_the_arrow(form: str, tmp_path: Path) -> None:
    found = steps(tmp_path, form)
    assert list(found) == list(range(1, STEPS + 1))
    for n, row in found.items():
        assert (row["reward_mean"], row["total_loss"], row["kl_ref"]) == (n / 1000, 1.25, 0.125)
        assert {-0.5, 0.75, 0.0, 2.0} <= set(row.values())
        assert not {"min", "max", "Min", "Max", "mean", "Avg"} & row.keys()


EPOCHS = (
    "  Batch {b}/50: loss={x}, reward=0.5",
    "[{b}/50] loss {x} reward 0.5",
    "  step {b} | loss {x} | reward 0.5",
)


@pytest.mark.parametrize("ends", ["Epoch {e}/3 - avg loss: 0.25", "Epoch {e} done in 3.2s", "--- Epoch {e} ---"])
@pytest.mark.parametrize("form", EPOCHS)
def test_a_count_that_begins_anew_behind_each_epoch_goes_on(form: str, ends: str, tmp_path: Path) -> None:
    text = "".join(
        "".join(form.format(b=b, x=f"{(50 * e + b) / 1000:.3f}") + "\n" for b in range(0, 50, 5))
        + ends.format(e=e + 1)
        + "\n"
        for e in range(3)
    )
    assert {n: row["total_loss"] for n, row in rows(tmp_path, text).items()} == {n: n / 1000 for n in range(0, 150, 5)}


def test_a_printed_data_frame_is_a_table(tmp_path: Path) -> None:
    lines = "".join(f"{n:<4} {n:>6} {n / 100:>8.4f} {0.5:>8.4f}\n" for n in range(40))
    text = "INFO done\n" + f"{'':<4} {'step':>6} {'loss':>8} {'reward':>8}\n" + lines
    assert rows(tmp_path, text) == {n: {"total_loss": n / 100, "reward_mean": 0.5} for n in range(40)}


def test_a_heading_that_a_logger_prints_once_more_is_no_part(tmp_path: Path) -> None:
    lead = "2026-01-02 10:00:00,123 | trainer | INFO | "
    form = (
        "\nStep {n} | Time: 17.25s\n" + lead + "\nStep {n} | Time: 17.25s\n  Loss: {loss}\n" + lead + "  Loss: {loss}\n"
        "  KL: {kl}\n" + lead + "  KL: {kl}\n" + lead + "  Gradient Norm: {x}"
    )
    found = steps(tmp_path, form)
    assert {n: (row["total_loss"], row["kl_ref"], row["grad_norm"]) for n, row in found.items()} == {
        n: (1.25, 0.125, n / 1000) for n in range(1, STEPS + 1)
    }


@pytest.mark.parametrize("indent", ["", "  "])
@pytest.mark.parametrize("above", ["Iteration {n}/60: reward {x} kl {kl}", "step {n} reward {x} kl {kl}"])
def test_of_the_epochs_within_a_step_the_last_one_counts(above: str, indent: str, tmp_path: Path) -> None:
    form = above + "".join(f"\n{indent}Epoch {e}/4 - policy loss: 0.{e}25" for e in range(1, 5))
    assert steps(tmp_path, form) == {
        n: {"reward_mean": n / 1000, "kl_ref": 0.125, "pg_loss": 0.425} for n in range(1, STEPS + 1)
    }

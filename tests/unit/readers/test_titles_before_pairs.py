"""A title before the pairs of its line, below the heading of a step: `update -> loss=0.1 kl=0.02`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.test_lines_of_home_made_loops import STEPS, steps

HEADS = ("Step {n}/80", "--- iteration {n} ---")
TIES = (
    "{}: ",
    "{:<10} : ",
    "[{}] ",
    "{} -> ",
    "{} => ",
    "{:<10} | ",
    "{} - ",
    "{} .... ",
    "├─ {}: ",
    "**{}**: ",
    "{:<12}",
)
PAIRS = ("mean={x} std={loss}", "mean: {x}, std: {loss}", "mean {x}  std {loss}")
UPDATES = ("loss={loss} kl={kl}", "loss: {loss}, kl: {kl}", "loss {loss}  kl {kl}")


@pytest.mark.parametrize("pairs", range(len(PAIRS)))
@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize("head", HEADS)
def test_pairs_below_a_heading_have_the_title_of_their_line(head: str, tie: str, pairs: int, tmp_path: Path) -> None:
    form = f"{head}\n{tie.format('reward')}{PAIRS[pairs]}\n{tie.format('update')}{UPDATES[pairs]}"
    found = steps(tmp_path, form)
    assert {
        n: (row["reward_mean"], row["reward_std"], row["total_loss"], row["kl_ref"]) for n, row in found.items()
    } == {n: (n / 1000, 1.25, 1.25, 0.125) for n in range(1, STEPS + 1)}


@pytest.mark.parametrize("body", ["mean={loss} std={kl}", "loss={loss} lr={kl}", "foo={loss} bar={kl}"])
@pytest.mark.parametrize("tie", ["{}: ", "[{}] ", "{} -> "])
@pytest.mark.parametrize("title", ["sampler", "grader", "lens", "probs", "env", "health", "zorp"])
def test_a_title_that_nobody_knows_is_no_other_program(title: str, tie: str, body: str, tmp_path: Path) -> None:
    found = steps(tmp_path, f"Step {{n}}/80\nreward {{x}}\n{tie.format(title)}{body}")
    assert len(found) == STEPS
    assert {tuple(x for name, x in row.items() if name not in ("reward_mean", "time")) for row in found.values()} == {
        (1.25, 0.125)
    }


@pytest.mark.parametrize("between", [" ", "  ", ", ", " / ", " | "])
@pytest.mark.parametrize("tie", ["{}: ", "[{}] ", "({}) "])
@pytest.mark.parametrize("title", ["resp_len", "zorp"])
def test_statistics_without_signs_are_of_their_title(title: str, tie: str, between: str, tmp_path: Path) -> None:
    body = between.join(("mean {loss}", "max {kl}"))
    found = steps(tmp_path, f"Step {{n}}/80\n{tie.format('reward')}mean {{x}}\n{tie.format(title)}{body}")
    assert len(found) == STEPS
    assert {tuple(x for name, x in row.items() if name not in ("reward_mean", "time")) for row in found.values()} == {
        (1.25, 0.125)
    }


def test_a_title_is_that_of_its_line_alone(tmp_path: Path) -> None:
    found = steps(tmp_path, "Step {n}/80\nreward: mean={x} std=0.5\nkl={kl}\nloss={loss}")
    assert {(row["kl_ref"], row["total_loss"]) for row in found.values()} == {(0.125, 1.25)}

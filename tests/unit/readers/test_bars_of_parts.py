"""Bars of the parts of each iteration, which end again and again: no bar counts the iterations, so they are counted."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, opened, wait_for

ROUNDS = 12


def bar(name: str, done: int, total: int, numbers: str) -> str:
    return f"\r{name}: {100 * done // total:3d}%|▏  | {done}/{total} [00:12<13:20, 4.06s/it, {numbers}]"


def part(name: str, total: int, numbers: str, last: int | None = None) -> Iterator[str]:
    for done in range((total if last is None else last) + 1):
        yield bar(name, done, total, numbers.format(done=done))
    yield "\n"


def rounds(count: int = ROUNDS, gathered: int = 4, trained: int = 3, last: int | None = None) -> str:
    out: list[str] = []
    for i in range(1, count + 1):
        out += part("gather", gathered, f"reward={i / 64}, exception_rate=0.{{done}}")
        out += part("train", trained, f"loss={(i * i) / 256}, grad_norm=0.{{done}}5", last)
    return "".join(out)


def rows(path: Path) -> dict[int, dict[str, float]]:
    return content(opened(path))


@pytest.mark.parametrize(
    "log",
    [
        rounds(),
        rounds(last=2),
        rounds(gathered=1, trained=1),
        rounds(gathered=3, trained=66),
        rounds(gathered=128, trained=100),
        rounds(gathered=200, trained=65),
    ],
    ids=["whole", "cut off before its end", "one batch", "many batches", "many of both", "many answers"],
)
def test_each_round_is_a_row(log: str, tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(log, encoding="utf-8")
    found = rows(tmp_path / "run.log")
    late = {i: found[i] for i in range(2, ROUNDS + 1)}
    assert [cells["reward"] for cells in late.values()] == [i / 64 for i in late]
    assert [cells["loss"] for cells in late.values()] == [i * i / 256 for i in late]
    assert max(found) == ROUNDS


def test_it_is_said_that_rounds_are_counted_and_no_plan_is_invented(tmp_path: Path) -> None:
    (tmp_path / "run.log").write_text(rounds(), encoding="utf-8")
    report = reported(tmp_path / "run.log")
    assert report["run"]["steps"]["rows"] == ROUNDS
    assert report["run"]["steps"]["total"] is None
    assert report["run"]["state"] != "finished"
    assert report["run"]["restarts"] == []


@pytest.mark.parametrize("seed", range(4))
def test_the_same_in_any_pieces(seed: int, tmp_path: Path) -> None:
    log = rounds(6).encode()
    path = tmp_path / "run.log"
    path.write_bytes(log)
    whole = content(opened(path))
    grown = tmp_path / "grown.log"
    grown.write_bytes(log[:200])
    run = opened(grown, follow=True)
    chance, at = random.Random(seed), 200
    while at < len(log):
        size = chance.randint(1, 400)
        with grown.open("ab") as file:
            file.write(log[at : at + size])
        at += size
        run.poll()
    wait_for(run, run.rest)  # it is quiet
    assert content(run) == whole


@pytest.mark.parametrize("steps", [5, 40, 300])
def test_a_bar_before_the_training_is_no_part_of_it(steps: int, tmp_path: Path) -> None:
    """It comes once: the bar of the training then counts its steps, and none of them is lost."""
    training = "".join(bar("train", i, steps, f"loss={i / 512}") for i in range(1, steps + 1))
    (tmp_path / "run.log").write_text("".join(part("warmup", 4, "reward=0.5")) + training + "\n", encoding="utf-8")
    found = rows(tmp_path / "run.log")
    assert {i: cells["loss"] for i, cells in found.items() if "loss" in cells} == {
        i: i / 512 for i in range(1, steps + 1)
    }


def test_lines_that_state_their_steps_stay_the_rows(tmp_path: Path) -> None:
    out = []
    for i in range(1, ROUNDS + 1):
        out += [*part("gather", 4, "reward=0.25"), *part("train", 3, "loss=0.5")]
        out.append(f"step {i}: reward={i / 64} loss={i / 128} kl=0.01\n")
    (tmp_path / "run.log").write_text("".join(out), encoding="utf-8")
    found = rows(tmp_path / "run.log")
    assert {i: cells["loss"] for i, cells in found.items()} == {i: i / 128 for i in range(1, ROUNDS + 1)}


def test_epochs_of_one_bar_beside_a_validation_are_none(tmp_path: Path) -> None:
    """The validation's bar is no part: what begins again is the training, in its next epoch."""
    out = []
    for epoch in range(3):
        out += [*part("train", 5, f"loss={epoch}.{{done}}5"), *part("validation", 2, "loss=0.{done}1")]
    (tmp_path / "run.log").write_text("".join(out), encoding="utf-8")
    found = rows(tmp_path / "run.log")
    assert {i: found[i]["loss"] for i in range(1, 16)} == {
        5 * epoch + i: float(f"{epoch}.{i}5") for epoch in range(3) for i in range(1, 6)
    }
    assert reported(tmp_path / "run.log")["run"]["restarts"] == []

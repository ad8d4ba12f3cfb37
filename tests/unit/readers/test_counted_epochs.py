"""Lines that state no step but how much of the epochs is over: they are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.reading import cuts
from tests.unit.readers.test_opened_and_grown import looked_at

LINES = (
    "[Epoch {e:.2f}]  loss=0.5  reward=0.{i:02}±0.050  entropy=0.4\n",
    "epoch: {e:.2f} | loss: 0.5 | reward: 0.{i:02} | entropy: 0.4\n",
    "Epoch {e:.3f}/3: loss 0.5, reward 0.{i:02}, entropy 0.4\n",
    "2026-01-02 03:04:05 INFO epoch={e:.2f} loss=0.5 reward=0.{i:02} entropy=0.4\n",
)
OTHERS = (
    "Section {e:.2f}: loss=0.5 reward=0.{i:02}\n",
    "epoch {e:.2f} of the story has {i} pages\n",
    "We stop at epoch {e:.2f} when the loss is 0.{i:02}\n",
)


def log(line: str, steps: range = range(1, 31)) -> str:
    return "".join(line.format(e=i / 20, i=i) for i in steps)


@pytest.mark.parametrize("line", LINES)
def test_they_are_counted_and_said_to_be(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "train.log"
    path.write_text(log(line))
    assert main(["report", str(path), "--format", "json"]) == 0
    run = json.loads(capsys.readouterr().out)["run"]
    assert (run["steps"]["first"], run["steps"]["last"], run["steps"]["rows"]) == (1, 30, 30)
    assert run["rows_counted"]
    found, _ = looked_at([log(line).encode()])
    assert [cells["reward"] for cells in found.values()] == [i / 100 for i in range(1, 31)]


@pytest.mark.parametrize("line", LINES)
def test_a_later_launch_goes_on_behind_the_earlier_epochs(line: str) -> None:
    found, _ = looked_at([(log(line, range(1, 21)) + log(line, range(16, 31))).encode()])
    assert {step: cells["reward"] for step, cells in found.items()} == {i: i / 100 for i in range(1, 31)}


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_are_not(line: str) -> None:
    assert looked_at([log(line).encode()])[0] == {}


def test_a_step_beside_the_epoch_is_the_step() -> None:
    found, _ = looked_at([log("epoch {e:.2f} | step {i}0 | loss 0.5 | reward 0.{i:02}\n").encode()])
    assert list(found) == list(range(10, 301, 10))


@pytest.mark.parametrize("line", LINES[:2])
def test_where_it_was_opened_makes_no_difference(line: str) -> None:
    data = log(line, range(1, 9)).encode()
    whole = looked_at([data])[0]
    assert [at for at in cuts(data) if looked_at([data[:at], data[at:]])[0] != whole] == []

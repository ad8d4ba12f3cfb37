"""A bar that begins again in each epoch goes on counting; after a crash it belongs to another launch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, opened

EACH, EPOCHS = 20, 3
NAMES = ["", "Training: ", "train: ", "Epoch {epoch}: ", "Epoch {epoch}/3: ", "epoch={epoch}: "]


def bar(name: str, done: int, total: int, numbers: str = "") -> str:
    return f"\r{name}{100 * done // total:3d}%|{'#' * 4:10s}| {done}/{total} [00:12<13:20,  1.06it/s{numbers}]"


def epoch_of(name: str, epoch: int, last: int = EACH, more: float = 0) -> Iterator[str]:
    name = name.format(epoch=epoch)
    yield bar(name, 0, EACH)
    for i in range(1, last + 1):
        yield bar(name, i, EACH, f", loss={(EACH * (epoch - 1) + i) / 64 + more:.6f}")
    yield "\n"


def validated(name: str, numbers: str = "") -> str:
    return "".join(bar(name, i, 5, numbers) for i in range(6)) + "\n"


BESIDE = {
    "alone": "",
    "a validation": validated("Validation: "),
    "with numbers": validated("Evaluating: ", ", val_loss=0.75"),
    "without a name": validated(""),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("beside", BESIDE)
def test_epochs_are_no_restarts(name: str, beside: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(part for n in range(1, EPOCHS + 1) for part in (*epoch_of(name, n), BESIDE[beside])))
    found = content(opened(path))
    assert {i: cells["loss"] for i, cells in found.items() if "loss" in cells} == {
        i: pytest.approx(i / 64, abs=1e-6) for i in range(1, EACH * EPOCHS + 1)
    }
    run = reported(path)["run"]
    assert (run["restarts"], run["attempts"], run["steps"]["last"]) == ([], [], EACH * EPOCHS)
    assert run["steps"]["total"] in (None, EACH * EPOCHS)


ENDS = {
    "stopped in the middle": (EACH - 7, ""),
    "crashed at its end": (EACH, "Traceback (most recent call last):\n  File 'a.py', line 3, in b\nValueError: no\n"),
}


@pytest.mark.parametrize("end", ENDS)
def test_another_launch_is_one(end: str, tmp_path: Path) -> None:
    last, said = ENDS[end]
    path = tmp_path / "train.log"
    path.write_text("".join([*epoch_of("train: ", 1, last), said, *epoch_of("train: ", 1, more=2)]))
    assert list(content(opened(path))) == list(range(1, EACH + 1))
    assert reported(path)["run"]["restarts"] == [1]

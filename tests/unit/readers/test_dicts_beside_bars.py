"""Dicts without a step beside a bar that alone tells it, whatever the bar is called, through the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reading import cuts
from tests.unit.readers.reported import ends, reported
from tests.unit.readers.test_wordings import by_step
from tests.unit.session.runs import content, opened

TOTAL = 40


def bar(name: str, done: int, total: int = TOTAL, end: str = "") -> str:
    return f"\r{name}{100 * done // total:3d}%|{'#' * (done // 4):10s}| {done}/{total} [00:12<13:20,  1.06it/s]{end}"


def narrow(name: str, done: int, total: int = TOTAL, end: str = "") -> str:
    """As tqdm paints it if there is no room for the graphic."""
    return f"\r{name}{done}/{total} [00:12<13:20,  1.06it/s]{end}"


def measured(i: int) -> dict[str, float]:
    return {"reward": i / 64, "kl": i / 128}


@pytest.mark.parametrize("name", ["train: ", "Training: ", "GRPO: ", "optimizing: ", "Epoch 1: ", "policy updates: "])
@pytest.mark.parametrize("every", [1, 5])
@pytest.mark.parametrize("painted", [bar, narrow])
def test_they_are_of_the_step_that_the_bar_shows(name: str, every: int, painted: type[str], tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    out = [painted(name, 0)]
    for i in range(1, TOTAL + 1):
        out.append(painted(name, i))
        out += [f"\n{measured(i)}\n", painted(name, i)] if i % every == 0 else []
    path.write_text("".join(out) + "\n")
    assert content(opened(path)) == {i: measured(i) for i in range(every, TOTAL + 1, every)}
    report = reported(path)
    assert ends(report, "reward_mean") == (TOTAL // every, every / 64, TOTAL / 64)
    assert report["run"]["restarts"] == []


def test_a_dict_of_one_number(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{bar('train: ', i)}\n{{'reward': {i / 64}}}\n" for i in range(1, TOTAL + 1)))
    assert content(opened(path)) == {i: {"reward": i / 64} for i in range(1, TOTAL + 1)}


def test_a_bar_of_each_iteration_counts_no_steps(tmp_path: Path) -> None:
    """Nor does that of an evaluation, and a single dict is a result."""
    path = tmp_path / "train.log"
    out = [f"{bar('loading: ', 3, 4)}\n{{'loss': 9.0, 'accuracy': 0.5}}\n"]
    for i in range(1, TOTAL + 1):
        out += [bar("generating: ", n, 8) for n in range(0, 9, 2)]
        out += [bar("Validation: ", n, 8) for n in range(0, 9, 2)]
        out.append(f"{bar('train: ', i)}\n{measured(i)}\n")
    path.write_text("".join(out))
    assert content(opened(path)) == {i: measured(i) for i in range(1, TOTAL + 1)}


def test_where_the_bytes_are_cut_makes_no_difference() -> None:
    data = "".join(f"{bar('train: ', i)}\n{measured(i)}\n" for i in range(1, 8)).encode()
    whole = by_step([data])
    assert list(whole) == list(range(1, 8))
    assert all(by_step([data[:at], data[at:]]) == whole for at in cuts(data))

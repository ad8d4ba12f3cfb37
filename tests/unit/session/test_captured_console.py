"""A log beside W&B's copy of the console. The copy is left out, unless it went on after the log ended: that may have
been cut, or be of the launch before."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, opened

NOW = 1.7e9
Log = Callable[..., str]


def own_loop(first: int, last: int, shift: float = 0.0) -> str:
    return "".join(
        f"step {n} | loss: {1 / n + shift:.4f} | reward: {n / 100 + shift:.3f}\n" for n in range(first, last + 1)
    )


def trainer(first: int, last: int, shift: float = 0.0) -> str:
    def bar(n: int) -> str:
        return f"\r{n:3}%|{'█' * (n // 10):<10}| {n}/100 [00:{n % 60:02}<01:00,  1.02s/it]"

    return bar(first - 1) + "".join(
        f"{bar(n)}\r{' ' * 60}\r{{'loss': {1 / n + shift:.4f}, 'reward': {n / 100 + shift:.3f}, 'epoch': {n / 50:.2f}}}"
        f"\n{bar(n)}"
        for n in range(first, last + 1)
    )


def folder(path: Path, log: str, copy: str, later_s: float) -> Path:
    run = path / "run"
    captured = run / "wandb" / "run-20260301_100000-abc12345" / "files" / "output.log"
    captured.parent.mkdir(parents=True)
    for file, text, written in ((run / "job.out", log, NOW), (captured, copy, NOW + later_s)):
        file.write_text(text)
        os.utime(file, (written, written))
    return run


def rewards(run: Path) -> dict[int, float]:
    reader = opened(run)
    found = {step: cells["reward"] for step, cells in content(reader).items()}
    reader.close()
    return found


@pytest.mark.parametrize("log", [own_loop, trainer])
def test_rows_that_only_the_copy_holds(log: Log, tmp_path: Path) -> None:
    run = folder(tmp_path, log(1, 40), log(1, 60), 600)
    assert rewards(run) == {n: n / 100 for n in range(1, 61)}
    assert reported(run)["run"]["restarts"] == []


@pytest.mark.parametrize("log", [own_loop, trainer])
def test_the_copy_of_the_next_launch(log: Log, tmp_path: Path) -> None:
    run = folder(tmp_path, log(1, 40), log(31, 60, 0.5), 600)
    assert rewards(run) == {n: pytest.approx(n / 100 + 0.5 * (n > 30)) for n in range(1, 61)}
    assert reported(run)["run"]["restarts"] == [31]


def test_a_copy_that_is_as_old_is_left_out(tmp_path: Path) -> None:
    told = reported(folder(tmp_path, own_loop(1, 60), own_loop(1, 60), 5))["run"]["sources"]
    assert [one["used"] for one in told] == [True, False]

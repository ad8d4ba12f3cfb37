"""A job whose two streams are two files, as Slurm keeps them: the rows in `.out`, the bar in `.err`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unjudged import unjudged

from . import runs


def row(step: int) -> str:
    cells = {"loss": 0.1, "grad_norm": 1.0, "learning_rate": 1e-6, "reward": step / 1000, "epoch": step / 1000}
    return f"{cells}\n"


def bar(step: int, total: int = 900) -> str:
    return f"\r{100 * step // total:3}%|###       | {step}/{total} [00:10<01:01,  6.50it/s]"


def write(folder: Path, steps: range, every: int, first: bool = False) -> None:
    logged = [s for s in steps if (s and s % every == 0) or (first and s == 1)]
    (folder / "slurm-7.out").write_text("".join(map(row, logged)))
    (folder / "slurm-7.err").write_text("".join(map(bar, steps)))


def reported(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    with unjudged():
        assert main(["report", str(path), "--format", "json"]) == 0
    out: dict[str, Any] = json.loads(capsys.readouterr().out)
    return out


@pytest.mark.parametrize("every", [1, 10])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("last", [453, 900])
def test_the_bar_tells_the_steps_of_the_rows(
    every: int, first: bool, last: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, range(last + 1), every, first)
    report = reported(tmp_path, capsys)
    newest = last - last % every
    expected = {
        "first": 1 if first else every,
        "last": newest,
        "total": 900,
        "rows": newest // every + (first and every > 1),
    }
    assert report["run"]["steps"] == expected
    assert report["metrics"]["reward_mean"]["last_value"] == newest / 1000
    assert not any("rows counted" in text for text in report["unknowns"])


def test_a_bar_of_something_else_tells_no_steps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, range(401), 5)
    (tmp_path / "slurm-7.err").write_text("".join(bar(s, 40) for s in range(41)))
    report = reported(tmp_path, capsys)
    assert any("rows counted" in text for text in report["unknowns"])
    assert report["run"]["steps"]["last"] == report["run"]["steps"]["rows"] == 80


def test_an_error_in_the_other_stream_is_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = (f"step:{s} - critic/score/mean:{s / 100} - actor/entropy:0.5\n" for s in range(1, 101))
    (tmp_path / "slurm-7.out").write_text("".join(lines))
    (tmp_path / "slurm-7.err").write_text(
        'Traceback (most recent call last):\n  File "a.py", line 3, in f\ntorch.OutOfMemoryError: CUDA out of memory.\n'
    )
    report = reported(tmp_path, capsys)
    assert (report["run"]["state"], report["run"]["steps"]["last"]) == ("crashed", 100)


def test_live_each_row_stands_at_its_step(tmp_path: Path) -> None:
    write(tmp_path, range(301), 5)
    opened = runs.opened(tmp_path, follow=True)
    for last in range(301, 420):
        with (tmp_path / "slurm-7.err").open("a") as err:
            err.write(bar(last))
        if last % 5 == 0:
            opened.poll()  # the bar may come first
            with (tmp_path / "slurm-7.out").open("a") as out:
                out.write(row(last))
        opened.poll()
        steps = opened.run.history.table.steps.tolist()
        assert steps == list(range(5, last + 1, 5)), last
    opened.close()

"""Logs of one run in several files: one a rank, one a day."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.session.locate import locate


def lines(first: int, last: int, reward: float | None = None) -> str:
    return "".join(
        f"step {n} | reward {n / 100 if reward is None else reward} | loss 0.5\n" for n in range(first, last)
    )


def exported(tmp_path: Path, run: Path) -> list[tuple[int, float]]:
    """Step and reward of each row of the only run of a folder."""
    out = tmp_path / "rows.jsonl"
    assert main(["export", str(run), "--output", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    return [(row["step"], row["reward_mean"]) for row in rows]


def written(run: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(text)
    return run


WANTED = [(n, n / 100) for n in range(1, 31)]


@pytest.mark.parametrize(
    "name",
    ["rank{k}.log", "train_rank_{k}.log", "rank{k}/train.log", "logs/attempt_0/{k}/stdout.log", "node0_rank{k}.log"],
)
def test_the_first_rank_counts(name: str, tmp_path: Path) -> None:
    ranks = {name.format(k=k): lines(1, 31, None if k == 0 else 9.0) for k in (1, 0, 2)}
    run = written(tmp_path / "run", ranks)
    assert exported(tmp_path, run) == WANTED
    assert "other ranks" in locate([str(run)])[0].candidate.note


def test_ranks_of_adapters_are_runs_of_their_own(tmp_path: Path) -> None:
    run = written(tmp_path / "sweep", {f"lora_rank{k}/train.log": lines(1, 31) for k in (8, 16)})
    assert len(locate([str(run)])) == 2


@pytest.mark.parametrize("day", [".2026-08-{d}", "-202608{d}", ".2026-08-{d}_12-00-01"])
def test_a_log_that_is_put_away_day_by_day(day: str, tmp_path: Path) -> None:
    parts = {
        f"train.log{day.format(d=25)}": lines(1, 11),
        f"train.log{day.format(d=26)}": lines(11, 21),
        "train.log": lines(21, 31),
    }
    assert exported(tmp_path, written(tmp_path / "run", parts)) == WANTED


def test_one_that_is_packed_then(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log.1.bz2").write_bytes(bz2.compress(lines(1, 11).encode()))
    assert exported(tmp_path, written(run, {"train.log": lines(11, 31)})) == WANTED

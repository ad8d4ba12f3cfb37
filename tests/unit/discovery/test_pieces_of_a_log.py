"""A log that was rotated, or is written in shards, is one run without restarts; numbered experiments are runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.discovery.file_roles import log_of
from rltui.session.locate import locate
from tests.unit.readers.reported import ends, reported

ROWS = 90


def rows(first: int, last: int, shift: float = 0.0) -> str:
    lines = ({"step": n, "reward": shift + n / 1000, "kl": n / 10000} for n in range(first, last + 1))
    return "".join(json.dumps(line) + "\n" for line in lines)


NAMES = (
    ("metrics-00000.jsonl", "metrics-00001.jsonl", "metrics-00002.jsonl"),
    ("part-1.jsonl", "part-2.jsonl", "part-3.jsonl"),
    ("train_shard0.jsonl", "train_shard1.jsonl", "train_shard2.jsonl"),
    ("metrics.jsonl.2", "metrics.jsonl.1", "metrics.jsonl"),
    ("log-00001-of-00003.jsonl", "log-00002-of-00003.jsonl", "log-00003-of-00003.jsonl"),
)


@pytest.mark.parametrize("names", NAMES, ids=lambda names: names[0])
def test_pieces(tmp_path: Path, names: tuple[str, ...]) -> None:
    for i, name in enumerate(names):
        (tmp_path / name).write_text(rows(30 * i + 1, 30 * i + 30))
    report = reported(tmp_path)
    assert ends(report, "reward_mean") == (ROWS, 0.001, 0.09)
    assert report["run"]["restarts"] == []
    assert len(report["run"]["sources"]) == 3


def test_a_restart_after_a_rotation_is_told(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl.1").write_text(rows(1, 60))
    (tmp_path / "metrics.jsonl").write_text(rows(51, ROWS, shift=0.02))
    report = reported(tmp_path)
    assert report["run"]["restarts"] == [51]
    assert ends(report, "reward_mean") == (ROWS, 0.001, 0.11)


@pytest.mark.parametrize(
    "names",
    [
        ("exp-001.jsonl", "exp-002.jsonl"),
        ("metrics-00000.jsonl", "metrics-00002.jsonl"),
        ("metrics-00007.jsonl", "metrics-00008.jsonl"),
        ("run1.jsonl", "run2.jsonl"),
        ("depart1.jsonl", "depart2.jsonl"),
    ],
)
def test_numbers_of_experiments_make_runs(tmp_path: Path, names: tuple[str, ...]) -> None:
    for i, name in enumerate(names):
        (tmp_path / name).write_text(rows(1, 40, shift=i))
    assert len(locate([str(tmp_path)], None)) == 2


def test_job_numbers_are_no_pieces() -> None:
    assert log_of("/a/slurm-1234567.out") != log_of("/a/slurm-1234568.out")
    assert log_of("/a/train.log.2.gz") == log_of("/a/train.log") == log_of("/a/train.log-20261101")

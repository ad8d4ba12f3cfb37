"""A reward under a name that is not known is pointed at, and what broke off is not called explained."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.reported import told


def write(folder: Path, key: str, rows: int = 60, total: int = 0) -> Path:
    folder.mkdir()
    plan = {"total_steps": total} if total else {}
    lines = [
        json.dumps({"step": n, key: 0.2 + 0.005 * n + 0.01 * (n % 3), "policy/entropy": 0.9 - 0.001 * n, **plan})
        for n in range(1, rows + 1)
    ]
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def to_do(run: Path) -> str:
    return next(line for line in told(run)[0].splitlines() if line.startswith("- To do:"))


def test_a_key_that_may_be_the_reward_is_named_with_what_says_so(tmp_path: Path) -> None:
    said = to_do(write(tmp_path / "run", "train/rubric_score_mean"))
    assert "--map score_mean=train/rubric_score_mean" in said


def test_a_spread_or_another_number_is_none(tmp_path: Path) -> None:
    assert "--map" not in to_do(write(tmp_path / "spread", "train/rubric_score_std"))
    assert "--map" not in to_do(write(tmp_path / "other", "train/rubric_tokens"))


def test_a_known_reward_needs_none(tmp_path: Path) -> None:
    assert "--map" not in to_do(write(tmp_path / "run", "reward", rows=4))

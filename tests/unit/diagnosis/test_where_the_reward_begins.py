"""Zero is the floor of a reward only if the reward comes near it: the same run with one point more for every answer is
the same run."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

Row = dict[str, Any]
ROWS = 300


def report(folder: Path, levels: list[float], add: float, answers: int = 64) -> Row:
    """A reward of 0 or 1, and `add` for each answer, with the variance of its batches; groups of 8."""
    draw, rows = random.Random(4), []
    for n, level in enumerate(levels, 1):
        right = sum(draw.random() < level for _ in range(answers)) / answers
        spread = (right * (1 - right)) ** 0.5
        row = {"step": n, "reward": right + add, "reward_std": spread, "grad_norm": 0.3 * (spread + 0.02)}
        dead = right**8 + (1 - right) ** 8
        row |= {"frac_reward_zero_std": dead, "kl": 0.0002 * n, "completion_length": 200 + draw.gauss(0, 5)}
        rows.append(row)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return told(folder)[2]


def loud(page: Row) -> set[str]:
    return {f["id"] for f in page["findings"] if f["status"] == "active" and f["severity"] != "info"}


COLLAPSES = [0.3 + 0.6 * min(1.0, n / 150) - 0.87 * min(1.0, max(0.0, (n - 200) / 40)) for n in range(ROWS)]
SOLVED = [0.3 + 0.69 * min(1.0, n / 120) for n in range(ROWS)]


@pytest.mark.parametrize("levels", [COLLAPSES, SOLVED], ids=["collapses", "solved"])
def test_a_point_more_for_every_answer_changes_nothing(levels: list[float], tmp_path: Path) -> None:
    pages = []
    for add in (0.0, 1.0):
        (tmp_path / f"{add:g}").mkdir()
        pages.append(report(tmp_path / f"{add:g}", levels, add))
    plain = pages[0]
    assert plain["verdict"]["decision"] != "continue"
    for other in pages[1:]:
        assert other["verdict"]["decision"] == plain["verdict"]["decision"]
        assert loud(other) == loud(plain)


@pytest.mark.parametrize("add", [0.0, 1.0, 10.0, 60.0])
def test_a_slow_decline_is_told_wherever_the_reward_lies(add: float, tmp_path: Path) -> None:
    levels = [0.3 + 0.4 * min(1.0, n / 120) - 0.25 * max(0.0, (n - 120) / 180) for n in range(ROWS)]
    page = report(tmp_path, levels, add)
    assert "reward-peak-decline" in loud(page)


def test_back_where_it_began_is_no_floor_if_little_was_lost(tmp_path: Path) -> None:
    """A score of 60 to 70 in a hundred that falls back to 60 has not lost all that there is."""
    draw, rows = random.Random(5), []
    for n in range(1, ROWS + 1):
        level = 60 + 10 * min(1.0, n / 100) - (10 if n > 200 else 0)
        rows.append({"step": n, "reward": level + draw.gauss(0, 0.5), "reward_std": 20.0, "grad_norm": 0.3})
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    page = told(tmp_path)[2]
    assert page["findings"]
    assert not any("down to its floor" in f["summary"] for f in page["findings"])
    assert page["verdict"]["decision"] != "abort-now"

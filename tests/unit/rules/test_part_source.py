"""A part of the reward that is not measured any more, beside a part that still is."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told

ROWS, SINCE = 160, 90
Row = dict[str, Any]
PART = "rewards/is_right/mean"


def fault(folder: Path, change: Callable[[Row, int], None], seed: int = 0) -> Row | None:
    """The finding about the reward function of a run in which the task is learnt and each row is changed."""
    draw, lines = random.Random(seed), []
    for step in range(1, ROWS + 1):
        right = 0.3 + 0.4 * step / ROWS + draw.gauss(0, 0.03)
        row: Row = {
            "step": step,
            PART: right,
            "rewards/in_format/mean": 0.6 + 0.001 * step + draw.gauss(0, 0.01),
            "completions/mean_length": 300 + draw.gauss(0, 12),
            "entropy": 0.8 - 0.001 * step + draw.gauss(0, 0.02),
            "grad_norm": 0.4 + draw.gauss(0, 0.03),
            "kl": 0.0005 * step,
        }
        change(row, step)
        row["reward"] = (row.get(PART) or 0.0) + row["rewards/in_format/mean"]
        lines.append(json.dumps(row))
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    found = [f for f in told(folder)[2]["findings"] if f["id"] == "reward-function-fault" and f["status"] == "active"]
    return found[0] if found else None


def repeated(row: Row, step: int) -> None:
    if step > SINCE:
        row[PART] = 0.5


def at_the_floor(row: Row, step: int) -> None:
    if step > SINCE:
        row[PART] = 0.0


def without_a_number(row: Row, step: int) -> None:
    if step > SINCE:
        row[PART] = None


def not_logged(row: Row, step: int) -> None:
    if step > SINCE:
        del row[PART]


@pytest.mark.parametrize("change", [repeated, at_the_floor, without_a_number, not_logged])
@pytest.mark.parametrize("seed", range(2))
def test_a_part_that_is_not_measured_any_more_is_named(
    tmp_path: Path, change: Callable[[Row, int], None], seed: int
) -> None:
    found = fault(tmp_path / "run", change, seed)
    assert found is not None
    assert found["severity"] == "critical"
    assert "is_right" in found["summary"]
    assert abs(found["onset_step"] - SINCE) <= 2


@pytest.mark.parametrize("seed", range(2))
def test_a_part_whose_sign_turned_is_named_though_the_total_keeps_its_sign(tmp_path: Path, seed: int) -> None:
    def turned(row: Row, step: int) -> None:
        row[PART] *= -1.0 if step > SINCE else 1.0

    found = fault(tmp_path / "run", turned, seed)
    assert found is not None
    assert found["severity"] == "critical"
    assert "is_right" in found["summary"]
    assert "sign" in found["causes"][0]["text"]
    assert found["causes"][0]["status"] == "supported"


def as_it_is(row: Row, step: int) -> None:
    pass


def learnt_to_the_end(row: Row, step: int) -> None:
    row["rewards/in_format/mean"] = min(1.0, row["rewards/in_format/mean"] + 0.35 * step / SINCE)


def for_some_prompts(row: Row, step: int) -> None:
    if step % 3 == 0 or step > ROWS - 30:
        row[PART] = None


def by_another_policy(row: Row, step: int) -> None:
    if step > SINCE:
        row |= {PART: 0.0, "entropy": 0.01, "completions/mean_length": 20.0}


@pytest.mark.parametrize("change", [as_it_is, learnt_to_the_end, for_some_prompts, by_another_policy])
def test_a_part_that_is_learnt_or_lost_or_meant_for_some_prompts_is_not_blamed(
    tmp_path: Path, change: Callable[[Row, int], None]
) -> None:
    assert fault(tmp_path / "run", change) is None


@pytest.mark.parametrize(("right", "blamed"), [(1.0, True), (0.0, False)])
def test_parts_that_give_all_answers_the_same_from_the_start(tmp_path: Path, right: float, blamed: bool) -> None:
    def constant(row: Row, step: int) -> None:
        row |= {PART: right, "rewards/in_format/mean": 1.0, "reward_std": 0.0}

    assert (fault(tmp_path / "run", constant) is not None) == blamed

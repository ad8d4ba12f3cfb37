"""A part of the reward that is given up for the others is told; what a longer answer costs is not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rltui.cli import main
from rltui.run.table import Floats

N = 200
T = np.arange(N) / N


def findings(folder: Path, part: str, course: Floats, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """Of a run whose accuracy rises and pays for most of the total."""
    rng = np.random.default_rng(3)
    accuracy = 0.2 + 0.4 * T + 0.02 * rng.standard_normal(N)
    other = course + 0.02 * rng.standard_normal(N) * course
    rows = [
        {
            "step": i + 1,
            "reward": float(accuracy[i] + 0.2 * other[i]),
            "rewards/accuracy_reward/mean": float(accuracy[i]),
            f"rewards/{part}/mean": float(other[i]),
            "kl": float(0.001 + 0.05 * T[i]),
        }
        for i in range(N)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    main(["report", str(folder), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    return [(f["id"], f["subject"] or "") for f in found if f["severity"] != "info"]


@pytest.mark.parametrize("part", ["language_consistency_reward", "safety", "xml_format_reward"])
def test_a_part_that_is_given_up(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert findings(tmp_path, part, 0.95 - 0.7 * T, capsys) == [("reward-part-lost", part)]


@pytest.mark.parametrize(
    ("part", "course"),
    [
        ("language_consistency_reward", 0.95 - 0.2 * T),  # some of it pays for the gain
        ("length_reward", 0.95 - 0.7 * T),  # it thinks longer
        ("short_answer_bonus", 0.95 - 0.7 * T),
        ("language_consistency_reward", 0.3 + 0.6 * T),
        ("repetition_penalty_reward", -0.02 - 0.3 * T),
    ],
)
def test_a_part_that_pays_for_the_gain(
    part: str, course: Floats, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "reward-part-lost" not in [rule for rule, _ in findings(tmp_path, part, course, capsys)]

"""What a comparison calls healthy has no open finding."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.cli import main


def drifting(folder: Path, kl_to: float) -> None:
    """A run that learns in its first third; from then on its distance from the reference grows to `kl_to`."""
    rng = random.Random(11)
    folder.mkdir()
    rows = []
    for i in range(1, 401):
        rows.append(
            {
                "step": i,
                "reward": 0.2 + 0.4 * min(1.0, i / 130) + rng.gauss(0, 0.02),
                "kl": 0.02 + (kl_to - 0.02) * max(0.0, (i - 130) / 270) + rng.gauss(0, 0.003),
                "entropy": 0.8 + rng.gauss(0, 0.01),
            }
        )
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def written(folder: Path, slow_from: int | None) -> None:
    """A run that learns; its steps take four times as long from some step on."""
    rng = random.Random(7)
    folder.mkdir()
    rows = []
    for i in range(1, 201):
        slow = 4.0 if slow_from is not None and i >= slow_from else 1.0
        rows.append(
            {
                "step": i,
                "reward": 0.2 + 0.5 * i / 200 + rng.gauss(0, 0.01),
                "step_time": 10.0 * slow * (1 + rng.gauss(0, 0.02)),
                "entropy": 0.8 - 0.2 * i / 200 + rng.gauss(0, 0.01),
            }
        )
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_run_with_an_open_warning_is_good_for_its_reward_and_not_called_healthy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path / "plain", None)
    written(tmp_path / "slowed", 100)
    assert main(["compare", str(tmp_path)]) == 0
    page = capsys.readouterr().out
    good = page[page.index("## Good") : page.index("## Bad") if "## Bad" in page else None]
    lines = {name: next(x for x in good.splitlines() if f"`{name}`" in x) for name in ("plain", "slowed")}
    assert "healthy" in lines["plain"]
    assert "healthy" not in lines["slowed"]
    assert "Steps got slower" in lines["slowed"]


def test_a_run_that_is_to_stop_without_being_solved_is_not_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    drifting(tmp_path / "near", 0.02)
    drifting(tmp_path / "far", 0.16)
    assert main(["compare", str(tmp_path)]) == 0
    page = capsys.readouterr().out
    groups = {part.split(":")[0].strip(): part for part in page.split("\n## ")}
    assert "`near`" in groups["Good"]
    line = next(line for line in groups["Bad"].splitlines() if "`far`" in line)
    assert "STOP" in line
    assert "KL" in line

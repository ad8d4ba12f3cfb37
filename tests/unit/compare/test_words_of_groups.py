"""What a comparison calls healthy has no open finding."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from rltui.cli import main


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

"""The block of what moved: in every report, apart from the verdict, by the facts that every other place shows."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main


def report(folder: Path, capsys: pytest.CaptureFixture[str], kl: float, entropy: float) -> dict[str, Any]:
    """200 rows whose KL and entropy go to so many times their start; the gradient norm stays."""
    chance = random.Random(4)
    with (folder / "metrics.jsonl").open("w") as file:
        for i in range(200):
            row = {
                "step": i + 1,
                "reward": 0.5 + chance.gauss(0, 0.02),
                "kl": 0.02 * (1 + (kl - 1) * i / 199) + chance.gauss(0, 0.0005),
                "entropy": 0.8 * (1 + (entropy - 1) * i / 199) + chance.gauss(0, 0.005),
                "grad_norm": 0.4 + chance.gauss(0, 0.02),
            }
            file.write(json.dumps(row) + "\n")
    (folder / "config.json").write_text(json.dumps({"max_steps": 200, "loss_type": "grpo", "beta": 0.01}))
    assert main(["report", str(folder), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_what_moved_is_told_with_its_windows_and_how_it_reads(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = report(tmp_path, capsys, kl=4.0, entropy=0.5)
    moved = {one["metric"]: one for one in found["moved"]}
    assert set(moved) == {"kl_ref", "entropy"}
    for name, one in moved.items():
        assert (one["first"], one["last"]) == (found["metrics"][name]["first"], found["metrics"][name]["last"])
    assert "more than doubled" in moved["kl_ref"]["text"]
    assert main(["report", str(tmp_path), "--long"]) == 0
    assert f"Moved since the start:\n\n- {found['moved'][0]['text']}" in capsys.readouterr().out


def test_of_a_level_run_nothing_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report(tmp_path, capsys, kl=1.0, entropy=1.0)["moved"] == []
    assert main(["report", str(tmp_path), "--long"]) == 0
    assert "Moved since" not in capsys.readouterr().out


def test_a_move_without_a_remark_is_told_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moved = report(tmp_path, capsys, kl=1.0, entropy=1.1)["moved"]
    assert [one["metric"] for one in moved] == ["entropy"]
    assert moved[0]["text"].startswith("entropy 0.8")


@pytest.mark.parametrize("window", [3, 40])
def test_windows_that_the_user_says_are_those_of_every_place(
    window: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report(tmp_path, capsys, kl=4.0, entropy=0.5)
    assert main(["report", str(tmp_path), "--format", "json", "--window", str(window)]) == 0
    found = json.loads(capsys.readouterr().out)
    rows = [json.loads(line)["reward"] for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    table = found["metrics"]["reward_mean"]
    assert table["last"] == pytest.approx(sum(rows[-window:]) / window, rel=1e-4)
    course = found["facts"]["score"]
    assert (course["first"], course["last"]) == (table["first"], table["last"])
    proofs = [e for f in found["findings"] for e in f["evidence"] if e["metric"] in found["metrics"] and e["last"]]
    assert proofs
    for proof in proofs:
        assert proof["last"] == found["metrics"][proof["metric"]]["last"]
    for one in found["moved"]:
        assert one["last"] == found["metrics"][one["metric"]]["last"]

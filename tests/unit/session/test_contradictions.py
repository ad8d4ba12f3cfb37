"""Two sources of one run that tell different things: said, with both values, and not mixed."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main

from . import runs

Curve = Callable[[int], float]
OLD, NEW = 1_760_000_000, 1_760_090_000


def rising(step: int) -> float:
    return 0.1 + step / 500 + random.Random(step).gauss(0, 0.01)


def falling(step: int) -> float:
    return 0.9 - step / 500 + random.Random(-step).gauss(0, 0.01)


def console(folder: Path, steps: range, reward: Curve, written: float, digits: int = 4, **more: Curve) -> None:
    path = folder / "train.log"
    cells = {"reward": reward, **more}
    path.write_text(
        "".join(
            f"[GRPO] step {s}/300 | " + " | ".join(f"{key}: {of(s):.{digits}f}" for key, of in cells.items()) + "\n"
            for s in steps
        )
    )
    os.utime(path, (written, written))


def rows(folder: Path, steps: range, reward: Curve, written: float, ahead: int = 0, **more: Curve) -> None:
    path = folder / "metrics.jsonl"
    cells = {"reward": reward, **more}
    path.write_text(
        "".join(json.dumps({"step": s + ahead, **{key: of(s) for key, of in cells.items()}}) + "\n" for s in steps)
    )
    os.utime(path, (written, written))


def reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["report", str(folder), "--format", "json"]) == 0
    out: dict[str, Any] = json.loads(capsys.readouterr().out)
    return out


def rewards(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> dict[int, float]:
    assert main(["export", str(folder), "--format", "jsonl"]) == 0
    found = map(json.loads, capsysbinary.readouterr().out.splitlines())
    return {row["step"]: row["reward_mean"] for row in found}


def told(report: dict[str, Any]) -> list[str]:
    return [text for text in report["unknowns"] if "contradicts" in text]


@pytest.mark.parametrize("fresher", ["train.log", "metrics.jsonl"])
def test_the_fresher_one_counts_alone(fresher: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = ({"train.log", "metrics.jsonl"} - {fresher}).pop()
    ages = {fresher: NEW, stale: OLD}
    console(tmp_path, range(1, 121), rising, ages["train.log"])
    rows(tmp_path, range(1, 201), falling, ages["metrics.jsonl"])
    report = reported(tmp_path, capsys)
    [text] = told(report)
    assert text.startswith(f"{stale} contradicts {fresher} since step 1: reward")
    [finding] = [one for one in report["findings"] if one["id"] == "sources-contradict"]
    assert (finding["severity"], finding["summary"]) == ("warning", f"The file {text}")
    assert main(["report", str(tmp_path)]) == 0
    assert "contradict each other" in capsys.readouterr().out
    [source] = [one for one in report["run"]["sources"] if one["path"].endswith(stale)]
    assert "contradicts" in source["note"]
    metric = report["metrics"]["reward_mean"]
    steps, curve = (120, rising) if fresher == "train.log" else (200, falling)
    assert report["run"]["steps"]["last"] == metric["count"] == steps
    assert metric["first_value"] == pytest.approx(curve(1), abs=1e-4)
    assert metric["last_value"] == pytest.approx(curve(steps), abs=1e-4)
    found = re.search(r"at step (\d+): (\S+) against (\S+?)\)", text)
    assert found is not None
    at, other = int(found[1]), {rising: falling, falling: rising}[curve]
    assert [float(found[2]), float(found[3])] == pytest.approx([other(at), curve(at)], rel=1e-3)


def test_what_came_before_the_fresher_one_stays(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """A resumed launch that writes a console only: the rows of the first launch count up to where it took over."""
    rows(tmp_path, range(1, 121), rising, OLD)
    console(tmp_path, range(61, 161), falling, NEW)
    found = rewards(tmp_path, capsysbinary)
    assert found == pytest.approx(
        {**{s: rising(s) for s in range(1, 61)}, **{s: falling(s) for s in range(61, 161)}}, abs=1e-4
    )


def test_one_metric_that_differs_is_not_filled_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The console prints a running mean under the same name: of one run all the same, and told."""
    kl: Curve = lambda s: 0.01 + random.Random(s).random() / 100  # noqa: E731
    console(tmp_path, range(1, 161), rising, NEW, loss=lambda s: 2.0 - s / 200, kl=kl)
    rows(tmp_path, range(1, 151), rising, NEW, loss=lambda s: 1.0 + random.Random(s).random(), kl=kl)
    report = reported(tmp_path, capsys)
    [text] = told(report)
    assert "train.log contradicts metrics.jsonl since step 1: loss (at" in text
    assert report["run"]["steps"]["last"] == 160, "what agrees still fills gaps"
    assert {name: report["metrics"][name]["count"] for name in ("reward_mean", "total_loss")} == {
        "reward_mean": 160,
        "total_loss": 150,
    }


@pytest.mark.parametrize("digits", [1, 2, 3, 6])
def test_rounding_is_no_contradiction(digits: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kl: Curve = lambda s: 1e-3 * (1 + random.Random(s).random())  # noqa: E731
    console(tmp_path, range(1, 101), rising, NEW, digits, kl=kl)
    rows(tmp_path, range(1, 101), rising, OLD, kl=kl)
    assert told(reported(tmp_path, capsys)) == []


def test_a_row_done_anew_is_no_contradiction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    console(tmp_path, range(1, 101), lambda s: 0.5 if 40 <= s < 43 else rising(s), NEW)
    rows(tmp_path, range(1, 101), rising, OLD)
    assert told(reported(tmp_path, capsys)) == []


@pytest.mark.parametrize("ahead", [-1, 1])
def test_a_source_that_counts_from_another_number_is_read_at_the_others_steps(
    ahead: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    console(tmp_path, range(1, 151), rising, NEW, kl=lambda s: random.Random(s).random())
    rows(tmp_path, range(1, 101), rising, NEW, ahead, loss=lambda s: random.Random(-s).random())
    report = reported(tmp_path, capsys)
    assert told(report) == []
    [note] = [one["note"] for one in report["run"]["sources"] if one["path"].endswith("train.log")]
    assert "read as theirs" in note
    assert report["run"]["steps"] == {"first": 1 + ahead, "last": 150 + ahead, "total": 300, "rows": 150}


def test_it_is_told_while_both_grow(tmp_path: Path) -> None:
    console(tmp_path, range(1, 3), rising, NEW)
    rows(tmp_path, range(1, 201), falling, OLD)
    opened = runs.opened(tmp_path, follow=True)
    for last in range(3, 40):
        console(tmp_path, range(1, last + 1), rising, NEW + last)
        opened.poll()
    opened.close()
    assert opened.run.history.table.steps.tolist() == list(range(1, 40))
    assert [one.left.endswith("metrics.jsonl") for one in opened.run.history.contradictions] == [True]

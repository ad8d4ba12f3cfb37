"""One number for one thing: a change at every width and on every page, rows that the means leave out, and what is known
of validation sets, of checkpoints and of the log's errors."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from rltui.cli import main
from rltui.plots.numbers import change
from rltui.report.model import Report

Cells = dict[str, float]


def written(folder: Path, rows: int, cells: Callable[[float, random.Random], Cells], said: str = "") -> Path:
    """A console log of verl. `said`: a line that stands again and again in its last tenth."""
    chance, lines = random.Random(5), []
    for step in range(1, rows + 1):
        t = step / rows
        row = {"actor/entropy": 0.8 + chance.gauss(0, 0.02), "response_length/mean": 300 + chance.gauss(0, 9)}
        row["actor/grad_norm"], row["actor/kl_loss"] = 0.4 + chance.gauss(0, 0.03), 0.03 * t + chance.gauss(0, 0.001)
        row |= cells(t, chance)
        lines += [said] if said and t > 0.92 else []
        lines.append(f"step:{step} - " + " - ".join(f"{key}:{value:.5f}" for key, value in row.items()))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "console.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def reported(run: Path, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, Any], str]:
    assert main(["report", str(run), "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert main(["report", str(run)]) == 0
    return found, capsys.readouterr().out


def collapse(t: float, chance: random.Random) -> Cells:
    """A reward below zero that rises, and falls below its start."""
    reward = -0.5 + min(1.0, 2.5 * t) if t < 0.6 else -0.95
    return {"critic/score/mean": reward + chance.gauss(0, 0.03), "actor/entropy": 0.8 + 4 * max(0.0, t - 0.6)}


def outage(t: float, chance: random.Random) -> Cells:
    return {"critic/score/mean": 0.0 if t > 0.9 else 0.2 + 0.5 * t + chance.gauss(0, 0.03)}


def test_a_change_is_one_number_at_every_width(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rltui.report.build import build
    from rltui.report.courses import change_of, headed_keys
    from rltui.tui.panes import findings, metrics
    from rltui.tui.view import View

    looked: list[Report] = []

    def kept(*seen: Any, **how: Any) -> Report:
        looked.append(build(*seen, **how))
        return looked[-1]

    with patch("rltui.report.build.build", kept):
        found, page = reported(written(tmp_path / "run", 160, collapse), capsys)
    own = next(m for m in found["metrics"].values() if m["key"] == "critic/score/mean")
    back = change(own["mid"], own["last"])
    line = re.search(r"^score mean .*$", page, re.M)
    assert line is not None, page
    assert line[0].endswith(f"  {back}"), line
    view = View()
    report = looked[-1]
    view.take(report)
    view.settle()
    metric = next(m for m in report.metrics.values() if m.key == "critic/score/mean")
    assert change_of(metric, headed_keys(report)["critic/score/mean"]) == back
    for width in (60, 80, 119, 120, 160):
        drawn, _, _ = findings.draw(view, width, 12, focus=True, selected=0, everything=False)
        texts = ["".join(text for text, _ in row) for row in drawn]
        rows = [text for text in texts if "Reward collapsed" in text]
        assert rows, (width, texts)
        assert (back in rows[0]) == (width > 60), (width, texts)  # the smallest screen has no column for it
    assert metrics._moved(view.metric("score_mean"), view.flagged.get("score_mean"), 1.0) == back


def test_what_the_means_leave_out_is_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, page = reported(written(tmp_path / "run", 150, outage), capsys)
    own = next(m for m in found["metrics"].values() if m["key"] == "critic/score/mean")
    assert own["min"] > own["last_value"] == 0.0
    assert own["left_out"] == 15
    assert own["missing"] == 0
    assert own["count"] + own["nan"] + own["missing"] + own["left_out"] == 150
    assert "15 rows of score mean" in page

    healthy, page = reported(written(tmp_path / "healthy", 150, lambda t, c: outage(min(t, 0.9), c)), capsys)
    assert not any(m["left_out"] for m in healthy["metrics"].values())
    assert "leave out" not in page


@pytest.mark.parametrize(
    "said",
    [
        "requests.exceptions.HTTPError: 503 Server Error: Service Unavailable for url: http://judge:8000/score",
        "[reward] judge returned HTTP 503, score 0.0",
        "2026-01-02 10:00:00 reward server: 502 Bad Gateway",
    ],
)
def test_an_error_that_the_log_names_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str) -> None:
    _, page = reported(written(tmp_path / "run", 150, outage, said), capsys)
    assert "names no such error" not in page, page
    assert said[:40] in page, page


def test_a_number_called_error_is_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, page = reported(written(tmp_path / "run", 150, outage, "MeanError: 0.41"), capsys)
    assert "MeanError" not in page


def sets(other: float) -> Callable[[float, random.Random], Cells]:
    def cells(t: float, chance: random.Random) -> Cells:
        row = {"critic/score/mean": 0.2 + 0.5 * t + chance.gauss(0, 0.03), "actor/kl_loss": 0.01 * 2.718 ** (4.5 * t)}
        if round(200 * t) % 10 == 0:
            row["val-core/gsm8k/reward/mean@1"] = 0.3 + 0.4 * t + chance.gauss(0, 0.01)
            row["val-core/math/reward/mean@1"] = 0.5 + other * t + chance.gauss(0, 0.01)
        return row

    return cells


def test_sets_that_disagree_are_not_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, page = reported(written(tmp_path / "run", 200, sets(-0.3)), capsys)
    assert found["outlook"]["kl_reward"]["validation"] == "mixed"
    assert "validation up on some sets and down on others" in page
    assert "if one beats the start" not in page
    assert "If validation is not rising" not in page

    both, page = reported(written(tmp_path / "both", 200, sets(0.3)), capsys)
    assert both["outlook"]["kl_reward"]["validation"] == "up"
    assert "on some sets" not in page


def test_the_best_checkpoint_is_named_where_one_goes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found, _ = reported(written(tmp_path / "run", 200, sets(-0.3)), capsys)
    best = found["verdict"]["best_checkpoint"]
    told = [fix["text"] for f in found["findings"] for fix in f["fixes"] if "best checkpoint" in fix["text"]]
    assert all(f"step {best['step']}" in text and "none was found" in text for text in told)


def test_runs_is_no_louder_than_the_report_about_an_outage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With all rewards alike there is no gradient: that is of the grader, too."""
    run = written(
        tmp_path / "run", 150, lambda t, c: outage(t, c) | ({"actor/grad_norm": 0.0} if t > 0.9 else {"x/y": 1.0})
    )
    found, _ = reported(run, capsys)
    assert not [f["id"] for f in found["findings"] if f["severity"] == "critical"]
    assert main(["runs", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["health"] == "warning"

    dead = written(tmp_path / "dead" / "run", 150, lambda t, c: outage(t / 2, c) | {"actor/grad_norm": 0.0})
    assert main(["runs", str(dead), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"][0]["health"] == "critical"


def test_no_share_is_lost_of_what_fell_below_zero(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = {}
    for name, shift in (("above", 1.2), ("below", 0.0)):
        run = written(
            tmp_path / name,
            160,
            lambda t, c, up=shift: {  # type: ignore[misc]
                "critic/score/mean": collapse(t, c)["critic/score/mean"] + up
            },
        )
        found, page = reported(run, capsys)
        said[name] = page + json.dumps(found, ensure_ascii=False)
        assert any(f["id"] == "reward-peak-decline" for f in found["findings"])
    assert re.search(r"rows\), \d+ % lower", said["above"])
    assert "% lower" not in said["below"]


def test_compare_counts_the_steps_of_an_outage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = []
    for name, rows in (("out", 150), ("well", 200)):
        chance, lines = random.Random(5), []
        for step in range(1, rows + 1):
            failing = name == "out" and step > 135
            row = {"reward": 0.0 if failing else 0.2 + 0.5 * step / rows + chance.gauss(0, 0.03)}
            row |= {"entropy": 0.8 + chance.gauss(0, 0.02), "completions/mean_length": 300 + chance.gauss(0, 9)}
            row |= {"kl": 0.03 * step / rows + chance.gauss(0, 0.001), "epoch": step / rows}
            lines.append(json.dumps({"step": step, **row}))
        runs.append(tmp_path / name)
        runs[-1].mkdir()
        (runs[-1] / "metrics.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["compare", *map(str, runs), "--format", "json"]) == 0
    costs = {run["id"]: run["cost"]["steps"] for run in json.loads(capsys.readouterr().out)["runs"]}
    assert costs == {"out": 150, "well": 200}


def level(t: float, chance: random.Random) -> Cells:
    """A reward that rises, beside a loss about zero and a length that stay where they are, and a KL that grows."""
    loss, length = chance.gauss(0, 0.01), 300 + chance.gauss(0, 8)
    reward = 0.2 + 0.5 * t + chance.gauss(0, 0.02)
    return {
        "critic/score/mean": reward,
        "actor/pg_loss": loss,
        "response_length/mean": length,
        "actor/entropy": 0.8 - 0.2 * t + chance.gauss(0, 0.01),
    }


@pytest.mark.parametrize("long", [False, True])
def test_noise_is_told_as_no_change(tmp_path: Path, capsys: pytest.CaptureFixture[str], long: bool) -> None:
    """`loss 0.0033 → −0.0021 → 0.0012  −65 %` says more than it knows; the entropy fell by a quarter."""
    assert main(["report", str(written(tmp_path / "run", 120, level)), *(["--long"] if long else [])]) == 0
    page = capsys.readouterr().out
    lines = {name: re.search(rf"^(?:\| )?{name} .*$", page, re.M) for name in ("policy loss", "length mean", "entropy")}
    told = {name: line[0] for name, line in lines.items() if line is not None}
    assert set(told) >= {"length mean", "entropy"}, page
    for name, line in told.items():
        moved = line.split(" | ")[4] if long else line.rsplit("  ", 1)[-1]
        assert (moved.strip() == "steady") == (name != "entropy"), line

"""Several files of one run: what was read from where, what restarts, what is told once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.cli import main

from . import runs


def report(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main(["report", *words, "--format", "json"]) == 0
    out: dict[str, object] = json.loads(capsys.readouterr().out)
    return out


def test_format_in_forces_a_reader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "notes.txt"
    log.write_text("no metrics at all\n" * 3 + runs.lines(1, 5))
    forced = report(capsys, str(log), "--format-in", "jsonl")
    run = forced["run"]
    assert isinstance(run, dict)
    assert run["steps"]["rows"] == 5
    (source,) = run["sources"]
    assert (source["format"], source["rows"], source["skipped"]) == ("jsonl", 5, 3)
    assert "line 1" in source["note"]


def test_rows_of_one_step_are_averaged_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "metrics.jsonl"
    rows = [{"step": s, "reward": value} for s in range(1, 31) for value in (s / 100, 1 - s / 100)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = report(capsys, str(log))["run"]
    assert isinstance(run, dict)
    assert "averaged by step: 60" in run["sources"][0]["note"], "samples, or two runs that no row tells apart"
    parts = [{"step": s, key: s / 10} for s in range(1, 31) for key in ("reward", "kl", "kl")]
    log.write_text("".join(json.dumps(row) + "\n" for row in parts))  # parts of a row, one of them twice
    run = report(capsys, str(log))["run"]
    assert isinstance(run, dict)
    assert run["sources"][0]["note"] == ""


def test_map_reads_a_key_as_a_metric(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(json.dumps({"step": s, "my/own": s / 10}) + "\n" for s in range(1, 30)))
    metrics = report(capsys, str(log), "--map", "score_mean=my/own")["metrics"]
    assert isinstance(metrics, dict)
    assert metrics["score_mean"]["key"] == "my/own"
    assert metrics["score_mean"]["last_value"] == 2.9


def test_a_resumed_run_in_several_containers_restarts_once(labelled_run: Callable[[str], Path]) -> None:
    run = runs.opened(labelled_run("zoo/g54-add-s0")).run
    assert run.history.table.restarts == [151]
    assert run.history.table.steps.tolist() == list(range(1, 251))
    assert {source.format for source in run.sources if source.used} >= {"tensorboard", "wandb", "trl-console"}


@pytest.mark.parametrize("name", ["g01-add-s0", "g53-sort-s2", "v01-add-s0"])
def test_containers_of_one_run_agree_and_are_no_restart(labelled_run: Callable[[str], Path], name: str) -> None:
    run = runs.opened(labelled_run(f"zoo/{name}"))
    assert run.run.history.table.restarts == []
    compared = 0
    tables = [feed.part.table for feed in run.feeds if feed.part.table.n]
    assert len(tables) > 1
    best = tables[0]
    for other in tables[1:]:
        for key in set(best.columns) & set(other.columns):
            a, b = best.series(key), other.series(key)
            assert a is not None
            assert b is not None
            values = dict(zip(a.steps.tolist(), a.values.tolist(), strict=True))
            for step, value in zip(b.steps.tolist(), b.values.tolist(), strict=True):
                if step in values and value == value:
                    compared += 1
                    assert value == pytest.approx(values[step], rel=1e-3, abs=1e-6), (key, step)
    assert compared > 100


def test_what_two_logs_of_a_run_tell_is_told_once(tmp_path: Path) -> None:
    text = "".join(
        f"step:{s} - critic/score/mean:{0.1 * s} - actor/grad_norm:0.5 - actor/entropy:0.7\n" for s in range(1, 9)
    )
    text += "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: boom\n"
    (tmp_path / "console.log").write_text(text)
    (tmp_path / "copy.log").write_text("starting\n" + text)
    run = runs.opened(tmp_path)
    told = [note for note in run.frame().notes if note.kind == "traceback"]
    assert len([f for f in run.feeds if f.format.endswith("console")]) == 2
    assert len(told) == 1


def test_report_says_what_was_read_how_fresh_it_is_and_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"step": s, "reward": s / 10, "kl": 0.1, "timestamp": 1795216631 + s} for s in range(1, 21)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + "torn\n")
    (tmp_path / "console.log").write_text("".join(f"step:{s} - critic/rewards/mean:{s / 10}\n" for s in range(1, 21)))
    captured = tmp_path / "wandb" / "offline-run-20261120_231711-8p9c9fdv" / "files" / "output.log"
    captured.parent.mkdir(parents=True)
    captured.write_text((tmp_path / "console.log").read_text())
    run = report(capsys, str(tmp_path))["run"]
    assert isinstance(run, dict)
    told = {Path(s["path"]).name: s for s in run["sources"]}
    assert list(told) == ["metrics.jsonl", "console.log", "output.log"]
    assert [(s["rows"], s["skipped"], s["used"]) for s in told.values()] == [
        (20, 1, True),
        (20, 0, True),
        (0, 0, False),
    ]
    assert [s["newest"] for s in told.values()] == ["2026-11-20T23:17:31+00:00", None, None]
    assert main(["report", str(tmp_path), "--long"]) == 0
    text = capsys.readouterr().out
    newest = "2026-11-20T23:17:31+00:00"
    assert f"| `metrics.jsonl` | jsonl | 20 | 1 | {newest} | skipped: 1 line that is not JSON (first at" in text
    assert "the first of them counts" in text
    assert (
        "Not used: `wandb/offline-run-20261120_231711-8p9c9fdv/files/output.log` (the console as W&B captured" in text
    )

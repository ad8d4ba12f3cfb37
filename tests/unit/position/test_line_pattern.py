"""A log in words that nobody could guess: the line that recurs is shown with a pattern, and the pattern reads it."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.readers.console import line_pattern
from rltui.session.live import LiveRun
from rltui.tui.start import SessionOpener
from tests.unit.position.reports import report_of
from tests.unit.session.runs import frames_until

STYLES = {
    "hash and arrow": "2026-03-01 10:00:00 INFO main: finished #{i} [{i}3ms] -> 0.{i:03} / 1.5",
    "prose": "we have now seen {i} waves, and the crowd gave 0.{i:03} points (before: 0.5)",
    "columns": "w{i} | 0.{i:03} | 12",
    "quotes": "it's wave {i}: 0.{i:03} 'points'",
    "braces": "wave<{i}> {{0.{i:03}}} [7]",
    "behind an odd time": "at 10h{i:02}:07 wave {i} got 0.{i:03}",
    "behind minutes": "{{10:{i:02}:07}} wave {i} got 0.{i:03}",
}


def written(path: Path, style: str) -> Path:
    noise = "loading on CUDA\n"
    path.write_text(noise + "".join(f"{STYLES[style].format(i=i)}\nsome words\n" for i in range(1, 61)))
    return path


def suggestion(text: str) -> list[str]:
    """The words of the `--line` option that a text names."""
    return shlex.split(text[text.index("--line ") :].splitlines()[0])[:2]


@pytest.mark.parametrize("name", ["train.log", "text.dat"])
@pytest.mark.parametrize("style", STYLES)
def test_the_suggested_pattern_reads_the_log(
    style: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file is called: it may be refused, or be a log without a row; both say what would read it."""
    log = written(tmp_path / name, style)
    assert main(["report", str(log), "--format", "json"]) == (0 if name == "train.log" else 2)
    option = suggestion(capsys.readouterr().err)
    report = report_of(log, capsys, *option)
    assert report["run"]["steps"] == {"first": 1, "last": 60, "total": None, "rows": 60}
    values = {m["key"]: m["last_value"] for m in report["metrics"].values()}
    assert any(value == pytest.approx(0.060) for value in values.values()), values


def test_the_report_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = report_of(written(tmp_path / "train.log", "prose"), capsys)
    note = report["run"]["sources"][0]["note"]
    assert "60 lines, the first at line 2" in note
    assert "--line 'we have now seen {step} waves" in note


CRASH = """Traceback (most recent call last):
  File "train.py", line 5, in <module>
RuntimeError: no more waves
"""
PATTERN = ["--line", "we have now seen {step} waves, ... gave {reward_mean} points (before: {})"]


@pytest.mark.parametrize("command", ["report", "watch", "compare", "rltui"])
def test_every_command_takes_it(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = written(tmp_path / "train.log", "prose")
    with log.open("a") as out:
        out.write(CRASH)  # what a watch waits for
    other = written(tmp_path / "other.log", "prose")
    words = {
        "report": ["report", str(log), *PATTERN],
        "watch": ["watch", str(log), *PATTERN],
        "compare": ["compare", str(log), str(other), *PATTERN],
        "rltui": [str(log), *PATTERN],
    }[command]
    assert main(words) in (0, 1)
    out = capsys.readouterr().out
    assert re.search(r"\b0?\.06\d*\b", out) or "step 60" in out or " 60" in out, out


def test_the_list_of_runs_takes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path / "train.log", "prose")
    assert main(["runs", str(tmp_path), "--format", "json", *PATTERN]) == 0
    assert [run["last_step"] for run in json.loads(capsys.readouterr().out)["runs"]] == [60]


def test_the_screen_takes_it_and_follows(tmp_path: Path) -> None:
    log = written(tmp_path / "train.log", "prose")
    line_pattern.use(PATTERN[1:])
    opener = SessionOpener([str(log)], {}, None)
    opener.find()
    live = opener.open(0)
    assert isinstance(live, LiveRun)
    frames_until(live, lambda: live.opened.run.history.table.head_step == 60)
    with log.open("a") as out:
        out.write(STYLES["prose"].format(i=61) + "\n")
    frames_until(live, lambda: live.opened.run.history.table.head_step == 61)
    live.close()


def test_several_patterns_make_one_row_of_a_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"wave {i} begins\n  crowd gave {i}.5 points\n  cost 0.{i:03}\n" for i in range(1, 41)))
    options = ["--line", "wave {step} begins", "--line", "gave {points} points", "--line", "cost {cost}"]
    report = report_of(log, capsys, *options)
    assert report["run"]["steps"]["rows"] == 40
    assert {m["key"]: (m["count"], m["last_value"]) for m in report["metrics"].values()} == {
        "points": (40, 40.5),
        "cost": (40, 0.040),
    }


def test_without_a_step_rows_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"crowd gave {i}.5 points\n" for i in range(1, 41)))
    report = report_of(log, capsys, "--line", "gave {points} points")
    assert report["run"]["steps"]["rows"] == 40
    assert report["run"]["rows_counted"]


@pytest.mark.parametrize("plan", ["inf", "NaN", "1e300"])
def test_a_plan_that_is_no_number_of_steps_costs_no_row(
    plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(f"wave {i} of {plan} gave {i}.5 points\n" for i in range(1, 41)))
    report = report_of(log, capsys, "--line", "wave {step} of {total} gave {points} points")
    assert report["run"]["steps"] == {"first": 1, "last": 40, "total": None, "rows": 40}


@pytest.mark.parametrize("pattern", ["no number at all", "{a} {a}", "{} of {}"])
def test_a_pattern_that_says_nothing_is_refused(
    pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = written(tmp_path / "train.log", "prose")
    assert main(["report", str(log), "--line", pattern]) == 2
    assert "--line" in capsys.readouterr().err

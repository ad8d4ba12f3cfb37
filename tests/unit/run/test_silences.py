"""Hours without a row are told, with the steps between which they are."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rltui.cli import main
from tests.unit.readers.reported import reported
from tests.unjudged import unjudged

BEGUN = datetime(2026, 3, 4, 11)


def _log(path: Path, pauses: dict[int, timedelta], words: dict[int, str]) -> Path:
    """Rows of 80 steps, one a minute. `pauses`: before these steps. `words`: a line before these steps."""
    now, lines = BEGUN, []
    for step in range(1, 81):
        now += timedelta(minutes=1) + pauses.get(step, timedelta())
        stamp = now.strftime("%Y-%m-%d %H:%M:%S INFO")
        lines += [f"{stamp} {words[step]}"] if step in words else []
        lines.append(f"{stamp} step {step} loss {step / 100} reward {step / 80}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("words", [{}, {41: "resuming from step_40"}], ids=["hung", "resumed"])
def test_three_hours_without_a_row_are_told(
    words: dict[int, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _log(tmp_path / "train.log", {41: timedelta(hours=3)}, words)
    wanted = {"after": 40, "step": 41, "seconds": 10860.0, "restarted": bool(words)}
    assert reported(path)["run"]["silences"] == [wanted]
    with unjudged():
        for long in ([], ["--long"]):
            assert main(["report", str(path), *long]) == 0
            told = "- Without a row: 3.0 h between steps 40 and 41" + (", where it was started again" if words else "")
            assert told in capsys.readouterr().out


def test_a_restart_that_repeats_steps_says_how_long_nothing_ran(tmp_path: Path) -> None:
    path = _log(tmp_path / "train.log", {}, {})
    later = _log(tmp_path / "later.log", {1: timedelta(hours=6)}, {}).read_text().splitlines(keepends=True)
    path.write_text(
        "".join(
            [
                *path.read_text().splitlines(keepends=True)[:60],
                *(line.replace("loss 0", "loss 1") for line in later[50:]),
            ]
        )
    )
    (tmp_path / "later.log").unlink()
    report = reported(path)["run"]
    assert report["restarts"] == [51]
    assert [(one["after"], one["step"], one["restarted"]) for one in report["silences"]] == [(50, 51, True)]


def test_pauses_of_the_usual_length_are_none(tmp_path: Path) -> None:
    often = {step: timedelta(minutes=40) for step in range(10, 81, 10)}
    assert reported(_log(tmp_path / "train.log", often, {}))["run"]["silences"] == []
    short = {41: timedelta(minutes=20)}
    assert reported(_log(tmp_path / "train.log", short, {}))["run"]["silences"] == []

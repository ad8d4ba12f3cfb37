"""Dumps that do not lie with the run: where its config says that they are, and in a directory without any log."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.session.live import LiveRun
from rltui.session.locate import locate, look_again
from rltui.session.run_reader import RunReader
from tests.unit.rollouts.dumps import GOOD, VERL_LOG, verl


def run(root: Path, folder: Path) -> Path:
    root.mkdir()
    (root / "train.log").write_text(VERL_LOG)
    (root / "config.json").write_text(json.dumps({"trainer": {"rollout_data_dir": str(folder)}}))
    return root


def names(opened: RunReader) -> list[str]:
    return [Path(file.path).name for file in opened.dumps()]


def test_the_directory_that_the_config_names_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "elsewhere" / "kept"
    path = run(tmp_path / "run", folder)
    verl(folder.parent, 2, [("2+2?", GOOD, 1.0), ("2+2?", "no", 0.0)], "kept")
    (folder / "notes.log").write_text("step:9 - critic/score/mean:0.5\n")
    assert main(["rollouts", str(path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["detail"]["stats"]["samples"] == 2
    assert main(["report", str(path), "--format", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["rollouts"]["steps"], report["run"]["steps"]["last"]) == ([2], 7)


def test_a_followed_run_takes_up_new_dumps_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.session.surroundings.REST", 0.0)
    folder = tmp_path / "kept"
    found = locate([str(run(tmp_path / "run", folder))])[0]
    live = LiveRun(found)
    frame = None
    while frame is None or not frame.loading.done:
        frame = live.next_frame(1.0)
    assert frame.rollout_files == ()
    verl(tmp_path, 3, [("2+2?", GOOD, 1.0)], "kept")
    again = look_again(found, {})
    assert again is not None
    live.opened.admit(again)
    assert live.opened.frame().rollout_files == (str(folder / "3.jsonl"),)
    monkeypatch.setattr("rltui.session.surroundings.REST", 1e9)
    live.opened.admit(again)
    verl(tmp_path, 4, [("2+2?", GOOD, 1.0)], "kept")
    live.opened.admit(again)
    assert len(live.opened.frame().rollout_files) == 1, "a slow disk is not looked through again and again"
    live.close()


def test_the_runs_own_directory_and_those_around_it_are_not_read_again(tmp_path: Path) -> None:
    for name, folder in (("own", tmp_path / "own" / "rollouts"), ("below", tmp_path)):
        path = run(tmp_path / name, folder)
        verl(path, 2, [("2+2?", GOOD, 1.0)])
        opened = RunReader(locate([str(path)])[0])
        opened.load()
        assert names(opened) == ["2.jsonl"]
        opened.close()


@pytest.mark.parametrize(("folder", "read"), [("val_kept", 1), ("kept", 0)])
def test_dumps_of_validation_are_none_of_training(tmp_path: Path, folder: str, read: int) -> None:
    path = run(tmp_path / "run", tmp_path / "none")
    (path / "config.json").write_text(json.dumps({"trainer": {"validation_data_dir": str(tmp_path / folder)}}))
    verl(tmp_path, 2, [("2+2?", GOOD, 1.0)], folder)
    opened = RunReader(locate([str(path)])[0])
    opened.load()
    assert len(opened.dumps()) == read
    opened.close()


def test_dumps_without_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = verl(tmp_path, 5, [("2+2?", GOOD, 1.0), ("1+1?", "two", 0.0)])
    for path in (tmp_path / "rollouts", file):
        assert main(["rollouts", str(path), "--format", "json"]) == 0
        step = json.loads(capsys.readouterr().out)["detail"]
        assert (step["step"], step["stats"]["samples"]) == (5, 2)
    (tmp_path / "empty").mkdir()
    assert main(["rollouts", str(tmp_path / "empty")]) == 2
    assert "no training log recognised" in capsys.readouterr().err

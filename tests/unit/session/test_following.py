"""A file that is written while it is read: nothing complete is lost, nothing is read twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from rltui.session.live import LiveRun
from rltui.session.locate import locate

from . import runs


def test_every_new_line_is_read(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, 3))
    run = runs.opened(log, follow=True)
    for step in range(4, 9):
        with log.open("a") as out:
            out.write(runs.line(step))
        runs.wait_for(run, lambda step=step: step in runs.content(run))
    assert list(runs.content(run)) == list(range(1, 9))
    assert run.run.history.table.restarts == []


def test_half_a_line_waits_for_its_rest(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    text = runs.line(3)
    log.write_text(runs.lines(1, 2) + text[:20])
    run = runs.opened(log, follow=True)
    assert list(runs.content(run)) == [1, 2]
    with log.open("a") as out:
        out.write(text[20:])
    runs.wait_for(run, lambda: 3 in runs.content(run))
    assert runs.content(run)[3] == runs.content(runs.opened(log))[3]


def test_a_truncated_and_rewritten_log_keeps_what_came_before_the_restart(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, 20))
    run = runs.opened(log, follow=True)
    log.write_text(runs.line(11, score=0.9) + runs.line(12, score=0.9))
    runs.wait_for(run, lambda: runs.content(run).get(12, {}).get("critic/score/mean") == 0.9)
    assert list(runs.content(run)) == list(range(1, 13))
    assert run.run.history.table.restarts == [11]


def test_rotation_by_rename_goes_on_in_the_new_file(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, 10))
    run = runs.opened(log, follow=True)
    log.rename(tmp_path / "metrics.jsonl.1")
    log.write_text(runs.lines(11, 12))
    runs.wait_for(run, lambda: 12 in runs.content(run))
    assert list(runs.content(run)) == list(range(1, 13))
    assert run.run.history.table.restarts == []


def test_a_deleted_file_that_comes_back_is_read_once(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, 10))
    run = runs.opened(log, follow=True)
    log.unlink()
    runs.wait_for(run, lambda: run.run.sources[0].note != "")
    assert list(runs.content(run)) == list(range(1, 11))
    card = run.frame().stall
    assert card is not None
    assert card.unread == card.because[0] == "metrics.jsonl does not exist"
    log.write_text(runs.lines(1, 12))
    runs.wait_for(run, lambda: 12 in runs.content(run))
    assert list(runs.content(run)) == list(range(1, 13))
    assert run.run.sources[0].note == ""
    card = run.frame().stall
    assert card is not None
    assert card.unread == ""
    assert run.run.history.table.restarts == []


def test_permission_lost_and_regained(as_a_user: tuple[Path, Callable[[], AbstractContextManager[None]]]) -> None:
    folder, unprivileged = as_a_user
    log = folder / "metrics.jsonl"
    log.write_text(runs.lines(1, 3))
    run = runs.opened(log, follow=True)
    with unprivileged():
        log_mode(log, 0)
        runs.wait_for(run, lambda: "permission" in run.run.sources[0].note.lower())
    log_mode(log, 0o644)
    with log.open("a") as out:
        out.write(runs.line(4))
    with unprivileged():
        runs.wait_for(run, lambda: 4 in runs.content(run))
    assert run.run.sources[0].note == ""


def test_a_file_that_cannot_be_read_is_told_beside_those_that_can(
    as_a_user: tuple[Path, Callable[[], AbstractContextManager[None]]],
) -> None:
    folder, unprivileged = as_a_user
    (folder / "metrics.jsonl").write_text(runs.lines(1, 3))
    (folder / "train.log").write_text("step 1\n")
    log_mode(folder / "train.log", 0)
    with unprivileged():
        run = runs.opened(folder)
    told = {Path(source.path).name: source.note for source in run.run.sources}
    assert told == {"metrics.jsonl": "", "train.log": "cannot be read: permission denied"}


def log_mode(log: Path, mode: int) -> None:
    """Changes the permissions, as the file's owner."""
    user = os.geteuid()
    os.seteuid(os.getuid())
    try:
        log.chmod(mode)
    finally:
        os.seteuid(user)


def test_a_last_line_without_its_end_counts_once_the_file_rests(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text(runs.lines(1, 3).rstrip("\n"))
    os.utime(log, (1.7e9, 1.7e9))
    run = runs.opened(log, follow=True)
    assert list(runs.content(run)) == [1, 2, 3]
    with log.open("a") as out:
        out.write("\n" + runs.line(4))
    runs.wait_for(run, lambda: 4 in runs.content(run))
    assert list(runs.content(run)) == [1, 2, 3, 4]


def test_files_that_appear_in_the_runs_directory_are_taken_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.session.live.LOOK_AGAIN_AT_ONCE_S", 0.0)
    (tmp_path / "metrics.jsonl").write_text(runs.lines(1, 10))
    live = LiveRun(locate([str(tmp_path)])[0])
    try:
        runs.frames_until(live, lambda: live.opened.loading().done)
        header = "step,loss\n"
        (tmp_path / "metrics.csv").write_text(header + "".join(f"{step},{0.5 + step}\n" for step in range(1, 11)))
        saved = tmp_path / "checkpoints" / "global_step_10"
        saved.mkdir(parents=True)
        (saved / "trainer_state.json").write_text('{"global_step": 10, "log_history": [{"step": 10, "lr": 0.1}]}')
        runs.frames_until(live, lambda: "loss" in live.opened.run.history.table.columns)
        runs.frames_until(live, lambda: [c.step for c in live.opened.run.checkpoints] == [10])
        assert runs.content(live.opened)[3]["loss"] == 3.5
    finally:
        live.close()


def test_the_age_of_each_source_is_told(tmp_path: Path) -> None:
    log = tmp_path / "metrics.jsonl"
    log.write_text('{"step": 1, "loss": 0.5, "time": 1700000000.0}\n{"step": 2, "loss": 0.4, "time": 1700000060.0}\n')
    (source,) = runs.opened(log).run.sources
    assert source.newest == 1700000060.0
    assert source.lag == ""

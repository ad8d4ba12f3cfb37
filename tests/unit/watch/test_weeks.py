"""What a watch of weeks meets: logs that rotate, several runs, heartbeats; and that it does not grow."""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from msgspec.structs import replace

from rltui.events.changes import Changes, SeenSoFar
from rltui.events.store import folder, forget_old, identity
from rltui.report.build import build
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from rltui.settings import state_dir
from rltui.watch.loop import Options, Watch
from tests.conftest import REPO
from tests.unit.trainer import wait_for
from tests.unit.watch.test_replay import nan, outage, rising, rows

NOW = 1_790_000_000.0


class Running:
    """A watch in a thread of its own, and what it said so far."""

    def __init__(self, paths: list[Path], **options: Any) -> None:
        self.out = io.StringIO()
        made = Options(as_json=True, timeout_s=120.0, **options)
        self.watch = Watch(locate([str(path) for path in paths]), made, {}, self.out)
        self.codes: list[int] = []
        self.thread = Thread(target=lambda: self.codes.append(self.watch.run()))

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.out.getvalue().splitlines()]

    def wait_for(self, condition: Callable[[list[dict[str, Any]]], object]) -> None:
        wait_for(lambda: condition(self.events()), 90.0)


@contextmanager
def running(*paths: Path, **options: Any) -> Any:
    made = Running(list(paths), **options)
    made.thread.start()
    yield made
    made.watch.stop("over")
    made.thread.join(180)


@pytest.mark.long
def test_a_log_that_rotates_repeats_and_misses_nothing(tmp_path: Path) -> None:
    def row(step: int) -> str:
        return json.dumps({"step": step, "kl": 0.02, "entropy": 1.0, "loss": 0.1, **outage(step)}) + "\n"

    log = tmp_path / "metrics.jsonl"
    log.write_text("".join(map(row, range(1, 90))))
    with running(log, heartbeat_s=0.05) as run:
        run.wait_for(lambda events: events)
        with log.open("a") as file:
            file.write("".join(map(row, range(90, 112))))
        run.wait_for(lambda events: any(e["step"] == 111 for e in events))
        log.rename(tmp_path / "metrics.jsonl.1")
        log.write_text("".join(map(row, range(112, 130))))
        run.wait_for(lambda events: any(e["step"] == 129 for e in events))
        log.rename(tmp_path / "metrics.jsonl.2")
        log.write_text("".join(map(row, range(130, 201))))
        run.wait_for(lambda events: any(e["step"] == 200 for e in events))
    told = Counter((e["event"], e.get("finding"), e.get("subject")) for e in run.events() if e["event"] != "heartbeat")
    assert told["opened", "reward-function-fault", None] == 1
    assert told["resolved", "reward-function-fault", None] == 1
    assert max(told.values()) == 1


def test_several_runs_each_with_its_own_story(tmp_path: Path) -> None:
    well, sick = tmp_path / "well.log", tmp_path / "sick.log"
    well.write_text("".join(rows(150, lambda step: {"reward": rising(step)})))
    sick.write_text("".join(rows(150, nan)))
    with running(well, sick) as run:
        run.wait_for(lambda events: events and events[-1]["event"] == "done")
    of = {name: [e["event"] for e in run.events() if e.get("run", "").startswith(name)] for name in ("well", "sick")}
    assert of["well"].count("end") == of["sick"].count("end") == 1
    assert {e["finding"] for e in run.events() if e.get("severity") == "critical"} >= {"nonfinite-values"}
    assert all(e["run"].startswith("sick") for e in run.events() if e.get("severity") == "critical")
    assert run.codes == [1]


@pytest.mark.long
def test_heartbeats_with_check_in_entries(tmp_path: Path) -> None:
    log, status = tmp_path / "console.log", tmp_path / "STATUS.md"
    log.write_text("".join(list(rows(60, lambda step: {"reward": rising(step)}))[:50]))
    with running(log, heartbeat_s=0.05, append=str(status)) as run:
        run.wait_for(lambda events: sum(e["event"] == "heartbeat" for e in events) >= 2)
    beat = next(e for e in run.events() if e["event"] == "heartbeat")
    assert beat["step"] == 50
    text = status.read_text()
    assert text.count("## ") >= 3, "the summary and each heartbeat"
    for part in ("- Health:", "- Progress:", "- Stability:", "- Performance:", "- Notes:"):
        assert text.count(part) == text.count("## ")


def test_met_is_told_where_the_verdict_is_what_was_waited_for(tmp_path: Path) -> None:
    log, ran = tmp_path / "console.log", tmp_path / "ran"
    log.write_text("".join(rows(200, nan)))
    hook = ("sh", "-c", f"echo $RLTUI_EVENT $RLTUI_DECISION >> {ran}")
    with running(log, until="stop", command=hook, exec_on=("met",)) as run:
        run.wait_for(lambda events: events and events[-1]["event"] == "done")
    (met,) = [e for e in run.events() if e["event"] == "met"]
    assert ran.read_text() == f"met {met['decision']}\n", "the user's own hand is called once, and only then"


def test_the_record_lies_with_the_user_and_not_with_the_run(tmp_path: Path, monkeypatch: Any) -> None:
    state, log = tmp_path / "state", tmp_path / "run" / "console.log"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    log.parent.mkdir()
    log.write_text("".join(rows(150, nan)))
    before = sorted(log.parent.rglob("*"))
    with running(log.parent, keep=True) as run:
        run.wait_for(lambda events: events and events[-1]["event"] == "done")
    assert sorted(log.parent.rglob("*")) == before
    kept = Path(folder(state_dir({"XDG_STATE_HOME": str(state)}), identity("", str(log.parent)))) / "events.jsonl"
    found = [json.loads(text)["event"] for text in kept.read_text().splitlines()]
    assert found[0] == "summary"
    assert "end" in found
    assert all(file.stat().st_mode & 0o077 == 0 for file in state.rglob("*") if file.is_file()), "the user's eyes only"


def test_a_state_directory_inside_the_run_is_not_used(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "run" / "state"))
    log = tmp_path / "run" / "console.log"
    log.parent.mkdir()
    log.write_text("".join(rows(60, outage)))
    with running(log.parent, keep=True) as run:
        run.wait_for(lambda events: events and events[-1]["event"] == "done")
    assert [path.name for path in log.parent.iterdir()] == ["console.log"]


def test_one_setting_and_nothing_is_kept(tmp_path: Path, monkeypatch: Any) -> None:
    from rltui import settings

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "config" / "rltui" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[away]\nenabled = false\n")
    settings._load.cache_clear()
    log = tmp_path / "console.log"
    log.write_text("".join(rows(60, outage)))
    with running(log) as run:
        run.wait_for(lambda events: events and events[-1]["event"] == "done")
    settings._load.cache_clear()
    assert not (tmp_path / "state").exists()


def test_what_is_remembered_is_bounded_by_the_rules() -> None:
    """A thousand reports of a run that flickers: the memory holds one entry a finding."""
    opened = RunReader(locate([str(REPO / "sample_runs" / "trl-reward-flip")])[0])
    opened.load()
    report, changes = build(opened.frame(1000.0)), Changes()
    sick, well = report, replace(report, findings=())
    for _ in range(500):
        changes.of(sick)
        changes.of(well)
    assert len(changes.seen.findings) <= len(report.findings)
    assert len(json.dumps(changes.seen.as_dict())) < 10_000


def test_another_run_in_the_same_place_is_told_anew() -> None:
    opened = RunReader(locate([str(REPO / "sample_runs" / "trl-grpo-healthy")])[0])
    opened.load()
    report = build(opened.frame(1000.0))
    step = report.at_step or 0
    assert [e.kind for e in Changes(SeenSoFar(began=True, step=step + 500)).of(report)] == ["restart", "summary"]
    assert not {"restart", "summary"} & {e.kind for e in Changes(SeenSoFar(began=True, step=step)).of(report)}


def test_what_nobody_looked_at_for_long_is_forgotten(tmp_path: Path) -> None:
    for kind in ("record", "watch"):
        for name, age in (("old", 100), ("new", 10)):
            file = tmp_path / kind / name / "seen.json"
            file.parent.mkdir(parents=True)
            file.write_text("{}")
            os.utime(file, (NOW - age * 86400, NOW - age * 86400))
    (tmp_path / "snapshots").mkdir()
    forget_old(str(tmp_path), NOW)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("*/*"))
    assert left == ["record/new", "watch/new"]
    assert (tmp_path / "snapshots").is_dir()
    forget_old(str(tmp_path / "absent"), NOW)

"""One part that raises ends neither the report nor the other runs: it is named, and the rest goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.diagnosis.written import learning, report, write

ERROR = "a fault of ours"


def breaks(monkeypatch: pytest.MonkeyPatch, part: str, of: str = "") -> None:
    """The function or method, by its path, raises; only for what belongs to run `of` if that is given."""
    names, owner = part.split("."), None
    for i in range(len(names) - 1, 0, -1):
        try:
            owner = import_module(".".join(names[:i]))
        except ModuleNotFoundError:
            continue
        for name in names[i:-1]:
            owner = getattr(owner, name)
        break
    before: Callable[..., Any] = getattr(owner, names[-1])

    def raising(*args: Any, **named: Any) -> Any:
        if of and not any(of in str(getattr(one, "path", "")) for one in args):
            return before(*args, **named)
        raise RuntimeError(ERROR)

    monkeypatch.setattr(owner, names[-1], raising)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "rltui"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name in ("one", "two", "three"):
        write(tmp_path / "runs" / name, learning(60))
    (tmp_path / "runs" / "one" / "config.yaml").write_text("beta: 0.04\nlearning_rate: 1.0e-6\n")
    (tmp_path / "runs" / "one" / "checkpoint-20").mkdir()
    (tmp_path / "runs" / "one" / "checkpoint-20" / "model.safetensors").write_bytes(b"x" * 100)
    return tmp_path / "runs"


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ("rltui.session.surroundings.read_config", "config files"),
        ("rltui.run.checkpoints.find", "checkpoint directories"),
        ("rltui.session.surroundings.NamedDumps.look", "search for rollouts"),
        ("rltui.session.samples.RunSamples.read", "samples of rollouts"),
        ("rltui.run.run.Run.phases", "phase times"),
        ("rltui.diagnosis.engine.insight", "insight"),
    ],
)
def test_a_part_of_the_reading_is_named_and_the_run_is_judged(
    part: str, named: str, runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sound = report(runs / "one", capsys)
    breaks(monkeypatch, part)
    said = report(runs / "one", capsys)
    failed = {check["rule"]: check["error"] for check in said["checks_failed"]}
    assert ERROR in failed[named]
    assert said["verdict"]["decision"] == sound["verdict"]["decision"]
    assert said["checks"] >= sound["checks"] - 1  # that of the part
    assert said["run"]["steps"] == sound["run"]["steps"]


@pytest.mark.parametrize("part", ["upheld", "follow", "dated", "band_of"])
def test_what_follows_a_detector_is_named_by_its_rule(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = learning(120)
    columns["score"][70:] = 0.05
    run = write(tmp_path / "run", columns)
    breaks(monkeypatch, f"rltui.diagnosis.life.{part}")
    said = report(run, capsys)
    failed = [check["rule"] for check in said["checks_failed"]]
    assert failed
    assert "diagnosis" not in failed
    assert said["checks"] > 20


def test_a_file_whose_reader_cannot_be_made_is_left_out(
    runs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "one" / "extra.csv").write_text("step,loss\n" + "".join(f"{i},0.5\n" for i in range(1, 61)))
    breaks(monkeypatch, "rltui.readers.jsonl.JsonlReader.__init__")
    said = report(runs / "one", capsys)
    assert said["run"]["steps"]["rows"] == 60
    assert any("metrics.jsonl" in check["rule"] for check in said["checks_failed"])


@pytest.mark.parametrize(
    "words", [["runs"], ["runs", "--full"], ["report", "--all", "--format", "json"], ["compare", "--format", "json"]]
)
@pytest.mark.parametrize("part", ["rltui.run.run.Run.refresh_names", "rltui.run.run.Run.detect"])
def test_one_run_does_not_end_the_others(
    words: list[str],
    part: str,
    runs: Path,
    state: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    breaks(monkeypatch, part, of="two")
    assert main([words[0], str(runs), *words[1:]]) == 3
    said = capsys.readouterr()
    assert "one" in said.out
    assert "three" in said.out
    assert any("two" in line and ERROR in line for line in said.err.splitlines())
    if "json" in words:
        json.loads(said.out)


@pytest.mark.long
def test_a_watch_goes_on_with_the_others_and_ends_as_any_crash(
    runs: Path, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    breaks(monkeypatch, "rltui.run.run.Run.detect", of="two")
    assert main(["watch", str(runs), "--timeout", "4", "--format", "json"]) == 3
    said = capsys.readouterr()
    assert "two: " in said.err
    assert ERROR in said.err
    assert list(state.glob("crash-*.txt"))
    assert {json.loads(line).get("run") for line in said.out.splitlines()} >= {"one", "three"}

"""A check that raises is named with its error, in every place where reports are read, and nothing else stops."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rltui.cli import main
from rltui.diagnosis import conclusions, insight, remarks
from rltui.evidence import forecast
from rltui.hardware.base import HardwareSample
from rltui.rules import catalogue, registry
from tests.conftest import report_schema
from tests.unit.diagnosis.machines import HOST, START, gpus
from tests.unit.rollouts.dumps import verl

ROWS = 36
ERROR = "a detector's own fault"
COMPONENT = "rewards/correctness/mean"


def boom(*_: object, **__: object) -> Any:
    raise ZeroDivisionError(ERROR)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that logs every metric that a rule needs, with rollouts and checkpoints beside its log."""
    root = tmp_path_factory.mktemp("run")
    names = {name for rule in catalogue.rules().values() for group in rule.needs for name in group}
    keys = sorted(names - {"reward_component_mean"} | {COMPONENT})
    with (root / "metrics.jsonl").open("w") as log:
        for step in range(1, ROWS + 1):
            row = {key: 0.1 + 0.01 * ((7 * step + i) % 5) for i, key in enumerate(keys)}
            planned = {"response_length_mean": 500.0 + 8 * step, "entropy": 2.0 * 0.96**step}
            log.write(json.dumps({"step": step, "_timestamp": START + 60 * step, **row, **planned}) + "\n")
    for step in range(5, ROWS, 5):
        verl(root, step, [(f"What is {n}?", f"<answer>{n}</answer>", float(n % 2)) for n in range(16)])
    for step in (20, 30):
        saved = root / f"checkpoint-{step}"
        saved.mkdir()
        (saved / "model.safetensors").write_bytes(b"0" * 4096)
    (root / "config.yaml").write_text(
        "max_steps: 400\nmax_completion_length: 2000\nlearning_rate: 1.0e-6\nbeta: 0.04\n"
    )
    return root


def read_report(run: Path) -> dict[str, Any]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["report", str(run), "--format", "json", "--map", f"reward_component_mean={COMPONENT}"]) == 0
    data: dict[str, Any] = json.loads(out.getvalue())
    report_schema().validate(data)
    return data


sound_report = cache(read_report)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of a machine recorded with the run."""
    samples = tuple(HardwareSample(START + 10.0 * i, gpus(), HOST, source="recorded") for i in range(6 * ROWS))
    monkeypatch.setattr("rltui.session.run_reader.Recorded.of", lambda self, rows: samples)


@pytest.fixture
def sound(everything: Path, measured: None) -> dict[str, Any]:
    """The report of it where nothing fails, for all tests that compare with it: they leave it as it is."""
    return sound_report(everything)


@pytest.fixture
def report(everything: Path, measured: None) -> Callable[..., dict[str, Any]]:
    return lambda: read_report(everything)


def failed(data: dict[str, Any]) -> dict[str, str]:
    return {one["rule"]: one["error"] for one in data["checks_failed"]}


def break_rules(monkeypatch: pytest.MonkeyPatch, *rules: str) -> None:
    """Makes every detector of these rules raise, whatever it looks at: each with an error of its own."""

    def fault_of(rule: str) -> Callable[..., Any]:
        def detect(*_: object) -> Any:
            raise ZeroDivisionError(f"{ERROR} of {rule}")

        return detect

    broken = [replace(one, detect=fault_of(one.rule)) if one.rule in rules else one for one in registry.REGISTERED]
    monkeypatch.setattr(registry, "REGISTERED", broken)


def test_no_check_fails_by_itself_and_every_rule_is_asked(sound: dict[str, Any]) -> None:
    assert failed(sound) == {}
    assert sound["not_evaluable"] == []
    assert sound["checks"] == len(catalogue.rules())


PARTS = 10
"""Reports that break all rules in turn, several at a time; neighbours are in different ones."""


@pytest.mark.parametrize("part", range(PARTS))
def test_rules_that_raise_are_named_and_the_others_run(
    part: int, report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = sorted(registry.ids())[part::PARTS]
    break_rules(monkeypatch, *rules)
    data = report()
    assert set(failed(data)) == set(rules)
    for rule, error in failed(data).items():
        assert error.startswith(f"ZeroDivisionError: {ERROR} of {rule} (test_checks_failed.py:")
    assert data["checks"] == len(catalogue.rules()) - len(rules)
    assert len(data["metrics"]) > 40


def test_a_long_error_is_cut_and_keeps_its_place(
    report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*asked: object) -> None:
        raise ValueError("x" * 5000)

    rule = min(registry.ids())
    broken = [replace(one, detect=raises) if one.rule == rule else one for one in registry.REGISTERED]
    monkeypatch.setattr(registry, "REGISTERED", broken)
    error = failed(report())[rule]
    assert error.startswith("ValueError: xxx")
    assert "(test_checks_failed.py:" in error
    assert 300 <= len(error) <= 350


@pytest.mark.parametrize(
    "name", ["end_of_run", "entropy_floor", "length_limit", "host_memory", "gpu_memory", "disk_full"]
)
def test_a_forecast_that_raises_is_named(
    name: str, sound: dict[str, Any], report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = {f["what"] for f in sound["outlook"]["forecasts"]}
    monkeypatch.setattr(forecast, name, boom)
    data = report()
    assert len(failed(data)) == 1
    (named,) = failed(data)
    assert named.startswith("forecast of ")
    assert {f["what"] for f in data["outlook"]["forecasts"]} >= there - {named.removeprefix("forecast of ")}


@pytest.mark.parametrize("part", ["first_moves", "case", "worth", "invariants", "slow_step", "waits", "own_shares"])
def test_what_is_told_beyond_the_findings_may_raise(
    part: str, report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(insight, part, boom)
    assert len(failed(report())) == 1


@pytest.mark.parametrize("table", ["weighed", "fixes", "where"])
def test_causes_and_fixes_that_raise_are_named_by_their_rule(
    table: str, sound: dict[str, Any], report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    fired = {f["id"] for f in sound["findings"]}
    monkeypatch.setattr(f"rltui.diagnosis.findings.{table}", boom)
    data = report()
    named = {name.removeprefix("causes of ") for name in failed(data)}
    assert named == {f["id"] for f in data["findings"]} == fired


def test_a_remark_that_raises_is_named(report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remarks, "_move", boom)
    names = failed(report())
    assert names
    assert all(name.startswith("remark ") for name in names)


def test_a_page_that_cannot_be_read_is_named_and_its_rules_do_not_run(
    sound: dict[str, Any], report: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {i for i, rule in catalogue.rules().items() if rule.group == "reward"}
    read = catalogue.read_page
    monkeypatch.setattr(catalogue, "read_page", lambda page: boom() if page.name == "reward.json" else read(page))
    catalogue._read.cache_clear()
    try:
        data = report()
        assert set(failed(data)) == {"page reward.json"}
        assert data["checks"] < sound["checks"]
        assert not own & {f["id"] for f in data["findings"]}
    finally:
        monkeypatch.undo()
        catalogue._read.cache_clear()


def test_the_report_names_it_under_the_unknowns(
    everything: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    break_rules(monkeypatch, "reward-collapse")
    assert main(["report", str(everything), "--long"]) == 0
    unknowns = capsys.readouterr().out.split("## 9. Unknowns", 1)[1]
    assert f"`reward-collapse`: ZeroDivisionError: {ERROR}" in unknowns


def test_a_detector_that_fails_leaves_the_exit_code_to_the_findings(
    everything: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = main(["report", str(everything), "--fail-on", "critical"])
    break_rules(monkeypatch, "advantage-degenerate")
    assert main(["report", str(everything), "--fail-on", "critical"]) == before
    capsys.readouterr()


def test_a_file_whose_reader_raises_is_named_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "".join(json.dumps({"step": n, "reward": 0.1 * n, "loss": 0.5}) + "\n" for n in range(1, 20))
    (tmp_path / "metrics.jsonl").write_text(rows)
    (tmp_path / "log.csv").write_text("step,kl\n" + "".join(f"{n},0.01\n" for n in range(1, 20)))
    monkeypatch.setattr("rltui.readers.csv_file.CsvReader.feed", boom)
    assert main(["report", str(tmp_path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    broken = next(s for s in data["run"]["sources"] if s["format"] == "csv")
    assert ERROR in broken["note"]
    assert not broken["used"]
    assert data["run"]["steps"]["rows"] == 19


def test_a_diagnosis_that_fails_as_a_whole_is_no_clean_report(
    everything: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(conclusions, "judge", boom)
    assert main(["report", str(everything), "--format", "json"]) == 3
    printed = capsys.readouterr()
    data = json.loads(printed.out)
    assert data["verdict"]["decision"] == "not-enough-evidence"
    assert set(failed(data)) == {"diagnosis"}
    assert len(data["metrics"]) > 20
    assert len(printed.err.splitlines()) == 1
    assert "Traceback" not in printed.err


@pytest.mark.long
@pytest.mark.parametrize("what", ["judge", "rule"])
def test_a_watch_goes_on(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "metrics.jsonl"
    row = "".join(json.dumps({"step": n, "reward": 0.01 * n, "grad_norm": 0.5}) + "\n" for n in range(1, 30))
    log.write_text(row)
    (tmp_path / "exit").write_text("")
    if what == "judge":
        monkeypatch.setattr(conclusions, "judge", boom)
    else:
        break_rules(monkeypatch, "grad-norm-explosion")
    code = main(["watch", str(log), "--timeout", "3", "--format", "json"])
    told = capsys.readouterr()
    assert code == 0
    done = json.loads(told.out.splitlines()[-1])
    assert done["event"] == "done"
    assert "the time is over" in done["text"]
    assert ERROR in told.err

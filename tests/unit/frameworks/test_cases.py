"""Every framework by its own names: what a run of it holds is found, read and called by the field's names."""

from __future__ import annotations

from pathlib import Path

import pytest

from rltui.discovery.file_roles import role
from rltui.frameworks.load import dialect
from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.run.checkpoints import step_of
from rltui.session.run_reader import RunReader
from tests.unit.frameworks.cases import CASES, Case
from tests.unit.frameworks.more_cases import ALL_CASES
from tests.unit.frameworks.opening import opened

IDS = [f"{case.dialect}-{i}" for i, case in enumerate(ALL_CASES)]


def written(case: Case, root: Path) -> RunReader:
    for path in case.files:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(case.text(path), encoding="utf-8")
    return opened(root)


@pytest.mark.parametrize("case", ALL_CASES, ids=IDS)
def test_a_run_reads_by_its_own_names(case: Case, tmp_path: Path) -> None:
    run = written(case, tmp_path).run
    assert run.dialect == case.dialect
    assert run.framework == dialect(case.dialect).framework
    steps = run.history.table.steps
    assert (int(steps[0]), int(steps[-1])) == case.steps
    assert len(steps) == case.steps[1] - case.steps[0] + 1, "rows of one step are one row"
    assert tuple(run.history.table.restarts) == case.restarts
    for metric, value in case.last.items():
        series = run.series(metric)
        assert series is not None, metric
        assert series.values[-1] == pytest.approx(value), metric
    if case.algorithm is not None:
        assert run.algorithm == case.algorithm
    for key, value in case.config.items():
        assert run.config[key].value == value, key
        assert run.config[key].source
    for phase in case.phases:
        assert run.series(phase) is not None, phase
    if case.phases:
        assert run.phases().items
    assert run.planned_steps == case.planned
    if case.state:
        assert run.state().state == case.state


@pytest.mark.parametrize("case", ALL_CASES, ids=IDS)
def test_samples_and_checkpoints_are_found(case: Case) -> None:
    assert [role(path, False) for path in case.samples] == ["rollouts"] * len(case.samples)
    assert {path: step_of(path) for path in case.checkpoints} == case.checkpoints


def test_a_value_on_the_path_not_taken_is_inactive(tmp_path: Path) -> None:
    run = written(next(case for case in CASES if case.dialect == "verl"), tmp_path).run
    assert not run.config["kl_coef_loss"].active
    assert "use_kl_loss" in run.config["kl_coef_loss"].note
    assert run.config["lr"].active


def test_what_is_easily_misread_stands_in_the_report(tmp_path: Path) -> None:
    frame = written(next(case for case in CASES if case.dialect == "areal"), tmp_path).frame()
    report = build(frame)
    assert report.metrics["ppo_kl"].trap == "AReaL: logged as new minus old, but shown with the sign reversed"
    assert "logged as new minus old" in to_json(report)
    slime = written(next(case for case in CASES if case.dialect == "slime"), tmp_path / "slime").frame()
    assert "- step: slime: train/step counts optimizer steps" in render(build(slime), long=True)
    assert "(`ppo_actor/update/approx_kl/avg`): AReaL: logged as new minus old" in render(report, long=True)


@pytest.mark.parametrize(
    ("dialect", "metric", "value"),
    [("areal", "ppo_kl", 0.0123), ("open_instruct", "response_clip_ratio", 0.25), ("prime_rl", "mfu_actor", 0.312)],
)
def test_report_and_screen_show_canonical_units(dialect: str, metric: str, value: float, tmp_path: Path) -> None:
    """A flipped sign turned back, the share that finished as the share that was cut, a percentage as a fraction."""
    frame = written(next(case for case in CASES if case.dialect == dialect), tmp_path).frame()
    summary = build(frame).metrics[metric]
    assert summary.last_value == pytest.approx(value)
    assert frame.series[summary.key].values[-1] == pytest.approx(value)
    assert summary.key in frame.series

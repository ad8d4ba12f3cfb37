"""The shipped sample runs: each is read whole, diagnosed as it was made, and reported within the contract."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rltui.evidence.model import SEVERITY_RANK
from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from tests.conftest import REPO, report_schema

SAMPLES = REPO / "sample_runs"
STOPS = {"stop-use-best", "pause-and-fix", "abort-now"}
CONTINUES = {"continue", "continue-watch"}


@dataclass(frozen=True)
class Truth:
    """What the run is, from how it was made. `findings`: one of these must be open at warning or above; none:
    nothing critical may be. `onset`: where the fault was built in, with the tolerance in steps."""

    steps: tuple[int, int, int | None]
    rows: int
    states: set[str]
    decisions: set[str]
    findings: set[str]
    onset: tuple[int, int] | None = None
    best: tuple[int, int] | None = None


TRUTH = {
    "trl-grpo-healthy": Truth((2, 250, 250), 125, {"finished"}, CONTINUES | {"stop-use-best"}, set()),
    "trl-nan-crash": Truth(
        (1, 181, 250),
        181,
        {"crashed"},
        {"pause-and-fix", "abort-now"},
        {"nonfinite-values", "run-crashed"},
        (180, 20),
        (120, 180),
    ),
    "trl-reward-flip": Truth(
        (2, 300, 300),
        150,
        {"finished"},
        STOPS,
        {"reward-peak-decline", "reward-collapse"},
        (200, 40),
        (100, 200),
    ),
    "trl-length-bonus": Truth(
        (10, 700, 700),
        70,
        {"finished"},
        STOPS,
        {"length-explosion", "truncation-high", "reward-component-decoupling"},
        (370, 60),
        (150, 370),
    ),
    "trl-slow-reward": Truth(
        (2, 250, 250),
        125,
        {"finished"},
        CONTINUES | {"stop-use-best"},
        {"step-time-regression", "phase-bottleneck"},
        (200, 25),
    ),
    "verl-grpo-crash": Truth((1, 65, 200), 65, {"crashed"}, {"continue-watch", *STOPS}, {"run-crashed"}, (65, 2)),
    "csv-entropy-collapse": Truth((2, 250, None), 125, {"finished", "unknown"}, STOPS, {"entropy-collapse"}),
}


@cache
def reported(name: str) -> tuple[dict[str, Any], str]:
    """(JSON, Markdown) of a sample run, as `rltui report` makes them."""
    (found,) = locate([str(SAMPLES / name)])
    opened = RunReader(found)
    opened.load()
    frame = opened.frame()
    opened.close()
    report = build(frame)
    return json.loads(to_json(report)), render(report, long=True)


def test_every_sample_run_has_its_truth_and_its_line_in_the_readme() -> None:
    names = {path.name for path in SAMPLES.iterdir() if path.is_dir()}
    assert names == set(TRUTH)
    readme = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `([\w-]+)` \|", readme, re.MULTILINE)) == names


@pytest.mark.parametrize("name", TRUTH)
def test_the_report_keeps_the_schema(name: str) -> None:
    data, markdown = reported(name)
    report_schema().validate(data)
    assert len(re.findall(r"^## \d\. ", markdown, re.MULTILINE)) == 9


@pytest.mark.parametrize("name", TRUTH)
def test_every_row_is_read(name: str) -> None:
    data, _ = reported(name)
    truth = TRUTH[name]
    steps = data["run"]["steps"]
    assert (steps["first"], steps["last"], steps["total"]) == truth.steps
    assert steps["rows"] == truth.rows
    assert data["run"]["state"] in truth.states, data["run"]["state_because"]


@pytest.mark.parametrize("name", TRUTH)
def test_the_diagnosis_is_what_was_built_in(name: str) -> None:
    data, _ = reported(name)
    truth = TRUTH[name]
    assert data["verdict"]["decision"] in truth.decisions, data["verdict"]["text"]
    loud = {f["id"]: f for f in data["findings"] if SEVERITY_RANK[f["severity"]] > 0 and f["status"] == "active"}
    if not truth.findings:
        assert not [f["id"] for f in loud.values() if f["severity"] == "critical"]
        return
    seen = [loud[i] for i in truth.findings if i in loud]
    assert seen, f"open: {sorted(loud)}"
    if truth.onset is not None:
        step, tolerance = truth.onset
        assert abs(min(f["onset_step"] for f in seen) - step) <= tolerance


@pytest.mark.parametrize("name", [name for name, truth in TRUTH.items() if truth.best is not None])
def test_the_best_checkpoint_lies_before_the_fault(name: str) -> None:
    data, _ = reported(name)
    best, span = data["verdict"]["best_checkpoint"], TRUTH[name].best
    assert best is not None
    assert span is not None
    assert span[0] <= best["step"] <= span[1]
    assert best["path"] is not None


def test_three_containers_of_one_run_agree() -> None:
    sources = reported("trl-grpo-healthy")[0]["run"]["sources"]
    used = {s["format"] for s in sources if s["rows"]}
    assert len(used) == 3, sources


def test_samples_are_small_and_name_no_machine() -> None:
    files = [path for path in SAMPLES.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 3_000_000
    named = re.compile(rb"/(?:home|root|Users|data|tmp|mnt)/|hf_[A-Za-z0-9]{16}|sk-[A-Za-z0-9]{16}")
    assert [path.name for path in files if named.search(path.read_bytes())] == []


def test_two_reports_of_one_run_are_the_same_to_the_byte() -> None:
    path = Path(SAMPLES / "verl-grpo-crash")
    texts = []
    for _ in range(2):
        opened = RunReader(locate([str(path)])[0])
        opened.load()
        texts.append(to_json(build(opened.frame())))
        opened.close()
    assert texts[0] == texts[1]

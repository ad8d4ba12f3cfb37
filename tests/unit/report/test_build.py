"""The report object and its JSON."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rltui.hardware.base import GpuSample, HardwareSample, HostSample
from rltui.readers.base import Note
from rltui.report.build import build
from rltui.report.model import Report
from rltui.report.summaries import SummaryCache, report_names, summarise
from rltui.report.to_json import FIRST_KEYS, rounded, to_json
from rltui.run.run import ConfigValue, RunState
from rltui.run.source_info import SourceInfo
from rltui.session import Loading
from tests.conftest import schema_of
from tests.unit.report import fakes

VALIDATOR = jsonschema.Draft202012Validator(schema_of("report"))


def as_json(report: Report) -> dict[str, Any]:
    """The report's JSON, read back strictly and held against the schema."""

    def refuse(constant: str) -> float:
        raise AssertionError(f"{constant} in strict JSON")

    data: dict[str, Any] = json.loads(to_json(report), parse_constant=refuse)
    VALIDATOR.validate(data)
    return data


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of("report"))


def test_a_full_report_keeps_the_contract() -> None:
    data = as_json(build(fakes.sick_frame()))
    assert tuple(data)[: len(FIRST_KEYS)] == FIRST_KEYS
    assert data["as_of"] == "2026-11-20T23:17:11+00:00"
    assert data["run"]["steps"] == {"first": 1, "last": 60, "total": 200, "rows": 60}
    assert data["run"]["eta_s"] == 1400.0
    assert [f["id"] for f in data["findings"]] == ["kl-runaway", "reward-flat-from-start"]
    assert set(data["metrics"]) == {"kl_ref", "reward_mean", "val_score:math", "val_score:gsm8k"}
    assert data["config"]["kl_coef_reward"]["active"] is False
    assert data["phases"]["items"][0]["expected"] == [0.4, 0.75]
    assert data["coverage"]["missing"][0]["blocks"] == ["entropy-collapse"]
    assert data["not_evaluable"][0] == {"title": "Entropy collapse", "needs": "entropy", "enable": "log_entropy: true"}


def test_the_same_frame_gives_the_same_bytes() -> None:
    cache = SummaryCache()
    first = to_json(build(fakes.sick_frame(), cache=cache))
    assert to_json(build(fakes.sick_frame(), cache=cache)) == first
    assert to_json(build(fakes.sick_frame())) == first


def test_a_run_without_rows_is_a_full_report() -> None:
    verdict = fakes.verdict(decision="not-enough-evidence", kinds=(), confidence=0.0)
    data = as_json(build(fakes.frame(result=fakes.diagnosis(at_step=None, verdict=verdict))))
    assert data["as_of"] is None
    assert data["run"]["steps"] == {"first": None, "last": None, "total": None, "rows": 0}
    assert data["metrics"] == {}
    assert data["hardware"]["source"] == "none"


def test_nan_and_infinity_are_null_with_a_count() -> None:
    nan = float("nan")
    metrics = {"x": fakes.series("x", [1.0, nan, 3.0, nan]), "dead": fakes.series("dead", [nan, nan])}
    run = fakes.FakeRun()
    run.fake_config = {"clip": ConfigValue(float("inf"), "clip", "config"), "seeds": ConfigValue((1, nan), "s", "c")}
    data = as_json(build(fakes.frame(metrics, run)))
    x, dead = data["metrics"]["x"], data["metrics"]["dead"]
    assert (x["count"], x["nan"], x["missing"]) == (2, 2, 0)
    assert (x["first_value"], x["last_value"], x["mean"]) == (1.0, None, 2.0)
    assert (dead["count"], dead["nan"], dead["missing"]) == (0, 2, 2)
    assert dead["mean"] is dead["first"] is dead["slope_per_100_steps"] is None
    assert data["config"]["clip"]["value"] is None
    assert data["config"]["seeds"]["value"] == [1, None]


def test_windows_are_means_of_a_tenth_and_at_least_five_rows() -> None:
    line = summarise(fakes.series("x", list(range(100))), 100, None)
    assert (line.first, line.mid, line.last) == (4.5, 49.5, 94.5)
    short = summarise(fakes.series("x", list(range(12))), 12, None)
    assert (short.first, short.last) == (2.0, 9.0)
    wide = summarise(fakes.series("x", list(range(12))), 12, None, window=2)
    assert (wide.first, wide.last) == (0.5, 10.5)
    assert line.slope_per_100_steps == pytest.approx(100)
    assert line.corr_step == pytest.approx(1)
    assert line.pct_change == pytest.approx(2000)


def test_undefined_is_none_never_zero() -> None:
    from_zero = summarise(fakes.series("x", [0.0] * 10 + [1.0] * 10), 20, None)
    assert from_zero.first == 0.0
    assert from_zero.pct_change is None
    constant = summarise(fakes.series("x", [0.5] * 20), 20, None)
    assert constant.corr_step is None
    assert constant.slope_per_100_steps == 0.0
    assert summarise(fakes.series("x", [0.5]), 20, None).slope_per_100_steps is None


def test_two_keys_of_one_canonical_name_both_show() -> None:
    metrics = {key: fakes.series(key, [1.0, 2.0]) for key in ("actor/entropy", "entropy", "eval/a", "eval/b", "own")}
    names = {
        "actor/entropy": fakes.name("actor/entropy", "entropy"),
        "entropy": fakes.name("entropy", "entropy"),
        "eval/a": fakes.name("eval/a", "val_score", "a"),
        "eval/b": fakes.name("eval/b", "val_score", "a"),
        "own": fakes.name("own", None),
    }
    called = report_names(names, metrics)
    assert called["actor/entropy"] == "entropy"
    assert called["eval/a"] == "val_score:a"
    assert called["eval/b"] == "eval/b"
    assert called["own"] == "own"
    assert len(set(called.values())) == len(metrics)


def test_the_key_that_is_judged_stands_under_the_canonical_name() -> None:
    """verl logs `actor/kl_loss` 0.0 while the KL term sits in the reward; the diagnosis goes by the other key."""
    keys = ["actor/kl_loss", "critic/kl"]
    names = {key: fakes.name(key, "kl_ref") for key in keys}
    cache = SummaryCache()
    for kl, judged in (([0.0, 0.0], "actor/kl_loss"), ([0.0, 0.1], "critic/kl")):
        series = {"critic/kl": fakes.series("critic/kl", kl), "actor/kl_loss": fakes.series("actor/kl_loss", [0.0] * 2)}
        called = cache.keys(names, series, {"kl_ref": keys})
        assert called["kl_ref"] == judged
        assert {name for name, key in called.items() if key != judged} == set(keys) - {judged}


def test_a_set_under_two_keys_is_the_one_with_most_points() -> None:
    """Old verl prints the first validation as `test_score/...` and all others as `val/test_score/...`."""
    names = {key: fakes.name(key, "val_score", "gsm8k") for key in ("test_score/gsm8k", "val/test_score/gsm8k")}
    series = {key: fakes.series(key, [0.5] * points) for key, points in zip(names, (1, 9), strict=True)}
    called = SummaryCache().keys(names, series, {})
    assert called == {"test_score/gsm8k": "test_score/gsm8k", "val_score:gsm8k": "val/test_score/gsm8k"}


def test_rows_are_training_steps_and_validation_only_rows_are_not() -> None:
    run = fakes.FakeRun()
    run.fake_names = {"val": fakes.name("val", "val_score", group="validation")}
    metrics = {
        "val": fakes.series("val", [0.1, 0.2], rows=[0, 5], first_step=0),
        "a": fakes.series("a", [1.0, 1.0, 1.0], rows=[1, 2, 5], first_step=0),
        "b": fakes.series("b", [1.0], rows=[3], first_step=0),
    }
    steps = build(fakes.frame(metrics, run)).run.steps
    assert (steps.first, steps.last, steps.rows) == (0, 5, 4)


def test_a_cached_summary_follows_a_revision_in_the_middle() -> None:
    cache = SummaryCache()
    values = [1.0, 2.0, 3.0, 4.0]
    before = build(fakes.frame({"x": fakes.series("x", values)}), cache=cache).metrics["x"]
    values[1] = 20.0
    after = build(fakes.frame({"x": fakes.series("x", values)}), cache=cache).metrics["x"]
    assert (before.max, after.max) == (4.0, 20.0)


def test_rows_that_come_later_count_as_missing_of_a_rare_metric() -> None:
    cache = SummaryCache()
    for rows in (10, 30):
        metrics = {"x": fakes.series("x", [1.0] * rows), "val": fakes.series("val", [0.5], rows=[0])}
        assert build(fakes.frame(metrics), cache=cache).metrics["val"].missing == rows - 1


def test_hardware_is_the_newest_sample_and_unknown_stays_null() -> None:
    samples = (
        HardwareSample(1.0, (GpuSample("node1", 0, power_w=100.0),)),
        HardwareSample(2.0, (GpuSample("node1", 0, "H100", 71.2, 80.0, None, 700.0, 0.9, 58.0),), HostSample(1.0, 2.0)),
    )
    hardware = as_json(build(fakes.frame(hardware=samples, live=True)))["hardware"]
    assert hardware["source"] == "live"
    assert hardware["gpus"][0]["power_w"] is None
    assert hardware["gpus"][0]["processes"] == 0
    host = hardware["host"]
    assert (host["ram_used_gb"], host["ram_total_gb"], host["disk_free_gb"]) == (1.0, 2.0, None)


def test_a_followed_log_without_time_stamps_takes_the_files_time() -> None:
    run = fakes.FakeRun()
    run.sources = [SourceInfo("a.log", "console", mtime=100.0), SourceInfo("old", "x", used=False, mtime=900.0)]
    assert build(fakes.frame(run=run)).as_of is None
    run.followed = True
    assert build(fakes.frame(run=run)).as_of == "1970-01-01T00:01:40+00:00"


def test_sources_say_what_was_left_out() -> None:
    run = fakes.FakeRun()
    run.sources = [SourceInfo("a.csv", "csv", 10, {"bad line": 2, "no step": 1}, "by name")]
    source = build(fakes.frame(run=run)).run.sources[0]
    assert source.skipped == 3
    assert source.note == "by name. Skipped: 2 bad lines, 1 no step"


def test_a_run_that_goes_on_says_how_old_each_source_is_and_why() -> None:
    run = fakes.FakeRun()
    run.sources = [SourceInfo("a.wandb", "wandb", 10, newest=1000.0, lag="W&B writes every 15 s", used=True)]
    run.fake_state = RunState("running", "rows come")
    frame = replace(fakes.frame(run=run), aged_at=1012.0)
    assert build(frame).run.sources[0].note == "as of 12 s ago: W&B writes every 15 s"
    assert build(replace(frame, aged_at=None)).run.sources[0].note == "", "nobody says what time it is"
    run.fake_state = RunState("finished", "all steps are done")
    over = replace(fakes.frame(run=run), aged_at=1012.0)
    assert build(over).run.sources[0].note == ""


def test_notes_tell_crashes_and_unfinished_reading() -> None:
    notes = (
        Note("progress", "3/10", 1),
        Note("oom", "CUDA out of memory", 812),
        Note("traceback", "ValueError: x", 0, step=9),
        Note("traceback", "ValueError: x", 40, step=9),
    )
    report = build(fakes.frame(notes=notes, loading=Loading(10, 40_000_000, "console.log", False)))
    assert report.notes == (
        "still reading: 0 % of 40.0 MB",
        "line 812: oom: CUDA out of memory",
        "step 9: traceback: ValueError: x",
    )


def test_rollout_dumps_are_named_with_their_steps() -> None:
    files = ("run/rollouts/100.jsonl", "run/rollouts/20.jsonl")
    rollouts = as_json(build(replace(fakes.frame(), rollout_files=files)))["rollouts"]
    assert (rollouts["source"], rollouts["steps"], rollouts["count"]) == ("run/rollouts", [20, 100], 2)
    for name in ("completions_00040.parquet", "completions_40_0a1b2c3d4e5f77287749.table.json", "step40.jsonl"):
        assert build(replace(fakes.frame(), rollout_files=(f"run/{name}",))).rollouts.steps == (40,), name
    assert build(replace(fakes.frame(), rollout_files=("run/samples.jsonl",))).rollouts.steps == ()


def test_state_and_its_evidence() -> None:
    run = fakes.FakeRun()
    run.fake_state = RunState("crashed", "a traceback ends the log")
    report = build(fakes.frame(run=run))
    assert (report.run.state, report.run.state_because, report.run.eta_s) == (
        "crashed",
        "a traceback ends the log",
        None,
    )


def test_text_that_no_encoding_holds_is_still_written() -> None:
    run = fakes.FakeRun("half \ud800 pair")
    assert as_json(build(fakes.frame(run=run)))["run"]["id"] == "half ? pair"


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_rounding_keeps_six_digits(x: float) -> None:
    out = rounded(x)
    if not np.isfinite(x):
        assert out is None
    else:
        assert out is not None
        assert abs(out - x) <= abs(x) * 1e-5


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False, width=32), min_size=1, max_size=60))
def test_any_series_gives_a_report_that_keeps_the_schema(values: list[float]) -> None:
    data = as_json(build(fakes.frame({"x": fakes.series("x", values)})))
    x = data["metrics"]["x"]
    assert x["count"] + x["nan"] + x["missing"] == data["run"]["steps"]["rows"]

"""The machine in a report: every GPU, what they did by phase, the host, and what runs out with its error bar."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from msgspec.structs import replace

from rltui.diagnosis.engine import Engine
from rltui.hardware.base import DiskSample, GpuSample, HostSample
from rltui.report.build import build
from rltui.report.markdown import render
from rltui.report.to_json import to_json
from rltui.run.checkpoints import Checkpoint
from tests.conftest import report_schema
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import HOST, gpus, sampled
from tests.unit.report import fakes

ROWS = 120
GENERATING = 0.6


def cards(step: float) -> tuple[GpuSample, ...]:
    """Generation at 30 % of the limit, then training at 90 %; GPU 3 is hot, GPU 5 has fallen off the bus."""
    low = step % 1.0 < GENERATING
    found = gpus(power=lambda i: 210.0 if low else 630.0, used=72.0 if low else 55.0)
    hot = replace(found[3], throttle=("thermal",), sm_clock_mhz=990.0)
    return (*found[:3], hot, found[4], replace(found[5], lost=True, power_w=None, memory_used_gb=None), *found[6:])


def host(step: float) -> HostSample:
    """3 GB more a step, of 1,000 GB."""
    disks = (DiskSample("checkpoints", "/data/run", 1500.0, 7000.0),)
    return replace(HOST, ram_used_gb=300.0 + 3.0 * np.ceil(step), disks=disks, pressure_io=0.25)


def run() -> FakeRun:
    timed = {"timing_s/gen": np.full(ROWS, 36.0), "timing_s/update_actor": np.full(ROWS, 24.0)}
    found = sampled(ROWS, host, cards, timed, planned=1000)
    found.dialect = "verl"
    return found


def test_json_and_markdown_tell_gpus_phases_host_and_what_runs_out() -> None:
    seen, engine = run(), Engine()
    result = engine.advance(seen)
    insight = engine.insight(seen, ROWS, ROWS, [], "continue")
    frame = replace(fakes.frame(result=result, hardware=seen.hardware), insight=insight)
    report = build(frame)
    data = json.loads(to_json(report))
    report_schema().validate(data)
    hardware = data["hardware"]
    assert len(hardware["gpus"]) == 8
    assert hardware["gpus"][3]["throttle"] == ["thermal"]
    assert hardware["gpus"][5]["lost"] is True
    assert 0.1 < hardware["gpus"][0]["power_use"] < 0.9
    rollout, update = hardware["phases"]
    assert (rollout["power_of_limit"], update["power_of_limit"]) == (0.3, 0.9)
    assert (rollout["memory_high_gb"], update["memory_high_gb"]) == (72.0, 55.0)
    assert hardware["host"]["disks"][0]["what"] == "checkpoints"
    (memory,) = [f for f in data["outlook"]["forecasts"] if f["what"] == "host memory"]
    assert memory["unit"] == "step"
    assert memory["at"] == pytest.approx((950 - 300) / 3, abs=1.0)
    assert memory["low"] <= memory["at"] <= memory["high"]
    assert "memory limit" in memory["would_change"]
    text = render(report, long=True)
    assert "slowed: thermal" in text
    assert "does not answer" in text
    assert "20 to 40 % of the power limit is normal" in text
    assert "tasks wait for io 25 % of the time" in text
    assert "Forecast: host memory" in text
    assert "It would change with a process that ends" in text


def test_of_many_gpus_that_fill_up_the_first_is_told_and_the_rest_is_counted() -> None:
    leaking = sampled(ROWS, cards=lambda step: gpus(used=40.0 + 0.1 * step), planned=2000)
    engine = Engine()
    engine.advance(leaking)
    told = [f for f in engine.insight(leaking, ROWS, ROWS, [], "continue").forecasts if f.what == "GPU memory"]
    assert [f.text.rpartition(", and ")[2] for f in told] == ["7 more later"]


def test_without_samples_nothing_is_made_up() -> None:
    data = json.loads(to_json(build(fakes.frame())))
    assert data["hardware"]["phases"] == []
    assert data["hardware"]["gpus"] == []


def test_the_hosts_of_several_nodes() -> None:
    seen, engine = run(), Engine()
    others = (("n2", replace(HOST, ram_used_gb=900.0)),)
    seen.hardware = tuple(replace(s, others=others) for s in seen.hardware)
    report = build(fakes.frame(result=engine.advance(seen), hardware=seen.hardware))
    data = json.loads(to_json(report))
    report_schema().validate(data)
    assert data["hardware"]["host"]["node"] == "n"
    assert [(h["node"], h["ram_used_gb"]) for h in data["hardware"]["others"]] == [("n2", 900.0)]
    text = render(report, long=True)
    assert re.search(r"Host memory of n 6\d\d GB of 1", text)
    assert re.search(r"Host memory of n2 900 GB of 1", text)


def test_when_the_disk_is_full_is_told_by_the_samples_up_to_the_row_that_is_looked_at() -> None:
    """A checkpoint of 100 GB every 20 steps. Others write to the disk after row 60, and more after the newest row."""
    saved = [Checkpoint(step, f"/data/run/{step}", True, size_gb=100.0) for step in range(20, ROWS + 1, 20)]
    shared = sampled(
        ROWS, lambda step: replace(HOST, disk_free_gb=4050.0 if step <= 60 else 1050.0), planned=2000, checkpoints=saved
    )
    newest = shared.hardware[-1]
    after = replace(newest, time=newest.time + 60.0, host=replace(HOST, disk_free_gb=250.0))
    shared.hardware = (*shared.hardware, after)
    engine = Engine()
    engine.advance(shared)

    def full_at(rows: int) -> list[float]:
        told = engine.insight(shared, rows, rows, [], "continue").forecasts
        return [f.at for f in told if f.what == "disk"]

    assert full_at(60) == [60 + 20 * 41]  # 40 fit into 4,050 GB
    assert full_at(ROWS) == [ROWS + 20 * 3]  # 2 fit into 250 GB

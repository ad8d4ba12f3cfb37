"""Real processes on this machine: one eats memory, writes a file and poses as a merger; the limits are injected."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rltui.diagnosis.blocks import BlockCache
from rltui.diagnosis.engine import Engine
from rltui.diagnosis.hardware_forecast import disk_full, host_memory
from rltui.diagnosis.look import Feed, Look
from rltui.diagnosis.measured import Measured
from rltui.diagnosis.profile import Settings
from rltui.hardware.base import HardwareSample
from rltui.hardware.roles import RoleWatch
from tests.unit.diagnosis.machines import HOST, START, STEP_S, sampled

STEPS = 40
EATER = """
import sys
held, out = [], open(sys.argv[2], "wb", 0)
for line in sys.stdin:
    held.append(bytearray(b"x") * 1_500_000)
    out.write(bytes(500_000))
    print("ready", flush=True)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_that_eats_memory_and_disk_is_found_and_forecast(tmp_path: Path) -> None:
    """60 MB of memory and 20 MB of disk in 40 steps; the limits say 0.15 GB more and 0.03 GB."""
    file = tmp_path / "merged.bin"
    command = [sys.executable, "-c", EATER, "verl.model_merger", str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        samples = []
        for step in range(STEPS):
            child.stdin.write("more\n")
            child.stdin.flush()
            child.stdout.readline()
            found = tuple(p for p in RoleWatch().look() if p.pid == child.pid)
            free = 0.03 - os.path.getsize(file) / 1e9
            used = found[0].rss_gb or 0.0
            host = replace(HOST, ram_used_gb=used, ram_total_gb=0.15, disk_free_gb=free, processes=found)
            samples.append(HardwareSample(START + (step + 0.5) * STEP_S, host=host, source="recorded"))
    assert [p.role for p in found] == ["merger"]
    run = sampled(STEPS, planned=200)
    run.hardware = tuple(samples)
    findings = {f.id: f for f in Engine().advance(run).findings}
    assert findings["host-ram-creep"].severity == "warning"
    assert findings["disk-space-low"].severity == "info"
    assert f"merger (pid {child.pid}" in findings["background-interference"].summary
    seen = Measured.of(run, Look(Feed(run, BlockCache(), Settings.of(run)), STEPS, {}), now=False)
    memory, disk = host_memory(seen, 0.95), disk_full(seen)
    assert memory is not None
    base = (samples[0].host.ram_used_gb or 0.0) - 0.0015  # type: ignore[union-attr]
    assert memory.at == pytest.approx((0.95 * 0.15 - base) / 0.0015, rel=0.1)
    assert memory.low <= memory.at <= (memory.high or memory.at)
    assert disk is not None
    assert disk.at == pytest.approx(60, abs=2), "0.5 MB a step of 30 MB"

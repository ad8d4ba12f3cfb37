"""Real processes on this machine: one eats memory, writes a file and poses as a merger; the limits are injected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.machine import forecasts_of
from rltui.evidence.beside_rows import Measured
from rltui.evidence.blocks import BlockCache
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.profile import RunSettings
from rltui.hardware.base import HardwareSample
from rltui.hardware.processes import RoleWatch
from rltui.rules.registry import ids
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import HOST, START, STEP_S, sampled

STEPS = 40
EATEN_MB, WRITTEN_MB = 1.5, 0.5
ROOM_GB, DISK_GB = 0.15, 0.03
CHILD = """
import sys
eats, path = sys.argv[1] == "eats", sys.argv[2]
held, out, work = [bytearray(b"x") * 30_000_000], open(path, "wb", 0), 0
for line in sys.stdin:
    if eats:
        held.append(bytearray(b"x") * 1_500_000)
        out.write(bytes(500_000))
    else:
        out.seek(0)
        out.write(bytes(500_000))
        work += sum(i * i for i in range(20_000))
    print("ready", flush=True)
"""


def watched(tmp_path: Path, does: str, poses_as: str) -> tuple[FakeRun, list[float], int]:
    """A run of so many steps beside a real process that does its part of the work in each; memory by step, its pid."""
    file = tmp_path / "data.bin"
    command = [sys.executable, "-c", CHILD, does, str(file), poses_as]
    samples, memory = [], []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for step in range(STEPS):
            child.stdin.write("more\n")
            child.stdin.flush()
            child.stdout.readline()
            found = tuple(p for p in RoleWatch().look() if p.pid == child.pid)
            free = DISK_GB - os.path.getsize(file) / 1e9
            memory.append(found[0].rss_gb or 0.0)
            host = replace(HOST, ram_used_gb=memory[-1], ram_total_gb=ROOM_GB, processes=found)
            host = replace(host, disk_free_gb=free, disk_total_gb=DISK_GB)
            samples.append(HardwareSample(START + (step + 0.5) * STEP_S, host=host, source="recorded"))
    run = sampled(STEPS, planned=200)
    run.hardware = tuple(samples)
    return run, memory, child.pid


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_that_eats_memory_and_disk_is_found_and_forecast(tmp_path: Path) -> None:
    """60 MB of memory and 20 MB of disk in 40 steps, of 150 MB and 30 MB: the step at which each is full lies in the
    error bar of its forecast."""
    run, memory, pid = watched(tmp_path, "eats", "verl.model_merger")
    findings = {f.id: f for f in Engine().advance(run).findings}
    assert findings["host-ram-creep"].severity == "warning"
    assert findings["disk-space-low"].severity == "info"
    assert f"merger (pid {pid}" in findings["background-interference"].summary
    seen = Measured.of(run, Look(LookFeed(run, BlockCache(), RunSettings.of(run)), STEPS, {}), now=False)
    ahead = {f.what: f for f in forecasts_of(seen, Guard())}
    full_at = {
        "host memory": 1 + (0.95 * ROOM_GB - memory[0]) / (EATEN_MB / 1e3),
        "disk": DISK_GB / (WRITTEN_MB / 1e3),
    }
    assert set(ahead) == set(full_at)
    for what, true in full_at.items():
        one = ahead[what]
        assert one.high is not None
        assert one.low - 1 <= true <= one.high + 1, f"{what}: {one}"
        assert one.high - one.low < 0.2 * true, "an error bar that says something"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_a_process_that_works_hard_and_holds_what_it_has_raises_nothing(tmp_path: Path) -> None:
    run, memory, _ = watched(tmp_path, "works", "verl.trainer.main_ppo")
    assert max(memory) > 0.03
    machines = ids(Measured)
    assert [f for f in Engine().advance(run).findings if f.id in machines] == []
    seen = Measured.of(run, Look(LookFeed(run, BlockCache(), RunSettings.of(run)), STEPS, {}), now=False)
    assert forecasts_of(seen, Guard()) == ()

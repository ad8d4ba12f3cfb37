from __future__ import annotations

import math

import pytest

from rltui.hardware.base import HardwareSample, HostSample
from rltui.hardware.recorded import Recorded, sample
from rltui.readers.base import HardwareRow

ROW = {
    "gpu.0.gpu": 83.0, "gpu.0.memory": 40.0, "gpu.0.memoryAllocated": 75.0, "gpu.0.memoryAllocatedBytes": 60e9,
    "gpu.0.temp": 61.0, "gpu.0.powerWatts": 350.0, "gpu.0.powerPercent": 50.0, "gpu.11.temp": 40.0,
    "cpu": 12.5, "memory_percent": 25.0, "proc.memory.availableMB": 750_000.0, "proc.memory.rssMB": 1.0,
    "disk./.usageGB": 100.0, "disk./.usagePercent": 40.0, "disk.vda.in": 1.0, "network.sent": 5.0,
}  # fmt: skip


def test_wandb_statistics_become_a_sample() -> None:
    found = sample(1000.0, ROW, "node17")
    assert (found.time, found.source, found.note) == (1000.0, "recorded", "")
    first, last = found.gpus
    assert (first.node, first.index, last.index) == ("node17", 0, 11)
    assert (first.memory_used_gb, first.memory_total_gb) == (60.0, 80.0)
    assert (first.power_w, first.power_limit_w, first.util, first.temp_c) == (350.0, 700.0, 0.83, 61.0)
    assert (last.temp_c, last.power_w, last.memory_used_gb) == (40.0, None, None)
    host = found.host
    assert host is not None
    assert host.ram_total_gb == pytest.approx(1e6 * 1024**2 / 1e9)
    assert host.ram_used_gb == pytest.approx(0.25e6 * 1024**2 / 1e9)
    assert host.cpu == 0.125
    assert host.disk_total_gb == pytest.approx(250 * 1024**3 / 1e9)
    assert host.disk_free_gb == pytest.approx(150 * 1024**3 / 1e9)
    assert (host.load1, host.cpus) == (None, None)


def test_what_was_not_recorded_is_none() -> None:
    assert sample(1.0, {"memory_percent": 30.0}) == HardwareSample(1.0, source="recorded")
    assert sample(1.0, {"memory_percent": 100.0, "proc.memory.availableMB": 0.0}).host is None
    assert sample(1.0, {"disk./.usageGB": 1.0, "disk./data.usageGB": 2.0, "cpu": 0.0}).host == HostSample(cpu=0.0)
    assert sample(1.0, {"gpu.0.powerWatts": math.nan, "gpu.x.temp": 1.0, "gpu.0": 1.0, "gpu..temp": 2.0}).gpus == ()


def rows(*told: tuple[float, dict[str, float]]) -> list[HardwareRow]:
    return [HardwareRow(time, values) for time, values in told]


def test_rows_without_anything_known_are_left_out() -> None:
    found = Recorded().of(rows((1.0, {"network.sent": 1.0}), (2.5, ROW), (4.0, {})))
    assert [s.time for s in found] == [2.5]


def test_what_is_written_at_one_time_is_one_sample_however_it_comes() -> None:
    """GPUs and host in rows of their own, 15 s apart; a key that comes again begins another sample."""
    host = {k: v for k, v in ROW.items() if not k.startswith("gpu.")}
    gpu = {k: v for k, v in ROW.items() if k.startswith("gpu.")}
    told = rows(
        *((15.0 * i + 0.03 * j, part) for i in range(4) for j, part in enumerate((host, gpu))), (60.0, gpu), (60.5, gpu)
    )
    whole = Recorded().of(told)
    assert [(s.time, len(s.gpus), s.host is not None) for s in whole[:4]] == [(15.0 * i, 2, True) for i in range(4)]
    assert [(s.time, len(s.gpus)) for s in whole[4:]] == [(60.0, 2), (60.5, 2)]
    growing = Recorded()
    for n in range(len(told) + 1):
        assert growing.of(told[:n]) == Recorded().of(told[:n])
    first = growing.of(told)
    assert all(a is b for a, b in zip(first[:-1], growing.of([*told, *rows((75.0, host))]), strict=False)), (
        "not made anew"
    )
    assert growing.of(told[:2]) == Recorded().of(told[:2]), "the file was written anew"


def test_clocks_and_memory_errors() -> None:
    (gpu,) = sample(1.0, {"gpu.0.smClock": 1410.0, "gpu.0.uncorrectedMemoryErrors": 2.0}).gpus
    assert (gpu.sm_clock_mhz, gpu.ecc_uncorrected) == (1410.0, 2)

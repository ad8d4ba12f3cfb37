from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.agent.hardware import GroupMemory, cgroup_memory
from rltui.hardware.base import HardwareHistory, HardwareSample
from rltui.hardware.gpu import ProcessNames
from rltui.hardware.host import HostReader, disk, disks_of, pressure
from rltui.hardware.sampler import Sampler

GIB = 1024**3


def group(folder: Path, limit: object, used: int, cache: int = 0, version: int = 2) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    names = ("memory.max", "memory.current") if version == 2 else ("memory.limit_in_bytes", "memory.usage_in_bytes")
    (folder / names[0]).write_text(f"{limit}\n")
    (folder / names[1]).write_text(f"{used}\n")
    stat = "inactive_file" if version == 2 else "total_inactive_file"
    (folder / "memory.stat").write_text(f"anon 1\n{stat} {cache}\nactive_file 7\n")


def member(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "membership"
    path.write_text(text)
    return path


def test_version_2_counts_out_cache_that_can_be_dropped(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root / "slurm" / "job_7", 64 * GIB, 20 * GIB, cache=5 * GIB)
    found = cgroup_memory(member(tmp_path, "0::/slurm/job_7\n"), root)
    assert found == GroupMemory(15 * GIB, 64 * GIB)


def test_a_nested_group_is_bound_by_the_group_with_the_least_room(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root / "slurm", 100 * GIB, 99 * GIB)
    group(root / "slurm" / "job_7", 64 * GIB, 20 * GIB)
    group(root / "slurm" / "job_7" / "task_0", "max", 20 * GIB)
    found = cgroup_memory(member(tmp_path, "0::/slurm/job_7/task_0\n"), root)
    assert found == GroupMemory(99 * GIB, 100 * GIB)


def test_version_1_and_a_path_of_the_host_inside_a_container(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root / "memory", 32 * GIB, 10 * GIB, cache=GIB, version=1)
    text = "9:cpu:/docker/abc\n4:memory:/docker/abc\n0::/\n"
    assert cgroup_memory(member(tmp_path, text), root) == GroupMemory(9 * GIB, 32 * GIB)


def test_hybrid_mount_with_version_2_below_unified(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root / "unified" / "user", 8 * GIB, GIB)
    assert cgroup_memory(member(tmp_path, "0::/user\n"), root) == GroupMemory(GIB, 8 * GIB)


@pytest.mark.parametrize("text", ["", "nonsense", "0::/../../x\n", "4:memory:/a\n"])
def test_no_limit_is_none(tmp_path: Path, text: str) -> None:
    assert cgroup_memory(member(tmp_path, text), tmp_path / "cgroup") is None
    assert cgroup_memory(tmp_path / "absent", tmp_path / "cgroup") is None


def test_broken_files_do_not_raise(tmp_path: Path) -> None:
    root = tmp_path / "cgroup"
    group(root, 8 * GIB, GIB)
    (root / "memory.stat").write_text("inactive_file many\n")
    assert cgroup_memory(member(tmp_path, "0::/\n"), root) == GroupMemory(GIB, 8 * GIB)
    (root / "memory.current").write_text("")
    assert cgroup_memory(member(tmp_path, "0::/\n"), root) is None


def test_this_machine(tmp_path: Path) -> None:
    reader = HostReader(str(tmp_path))
    first, second = reader.read(), reader.read()
    assert first.cpu is None, "nothing to compare with yet"
    assert second.cpu is not None
    for sample in (first, second):
        assert sample.ram_used_gb is not None
        assert sample.ram_total_gb is not None
        assert 0 < sample.ram_used_gb < sample.ram_total_gb
        assert sample.disk_free_gb is not None
        assert sample.disk_total_gb is not None
        assert 0 <= sample.disk_free_gb <= sample.disk_total_gb
        assert sample.cpus == os.cpu_count()


def test_the_containers_limit_counts_where_it_is_below_the_machines_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rltui.hardware.host.cgroup_memory", lambda: GroupMemory(10**6, 10**7))
    limited = HostReader(None).read()
    assert (limited.ram_used_gb, limited.ram_total_gb, limited.limited_by) == (0.001, 0.01, "cgroup")
    monkeypatch.setattr("rltui.hardware.host.cgroup_memory", lambda: GroupMemory(10**6, 2**63))
    assert HostReader(None).read().limited_by is None


def test_disk_of_nowhere_is_unknown(tmp_path: Path) -> None:
    assert disk(str(tmp_path / "absent")) == (None, None)
    assert disk("nul\0byte") == (None, None)
    assert disk(None) == (None, None)


def test_process_names_are_cached_and_a_dead_pid_is_unknown() -> None:
    names = ProcessNames()
    user, command = names.of(os.getpid())
    assert user
    assert command
    assert names.of(os.getpid()) is names.of(os.getpid())
    assert names.of(2**31 - 7) == (None, None)


@given(st.integers(4, 20), st.integers(1, 200))
def test_history_is_bounded_from_its_beginning_and_whole_near_its_end(limit: int, n: int) -> None:
    history = HardwareHistory(limit)
    for i in range(n):
        history.add(HardwareSample(float(i)))
    times = [s.time for s in history.samples]
    assert len(times) <= limit
    assert times == sorted(times)
    assert times[0] == 0.0
    near = min(n, limit // 2)
    assert times[-near:] == [float(i) for i in range(n - near, n)]


PSI = "some avg10=12.50 avg60=1.00 avg300=0.10 total=42\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"


def test_pressure_and_its_absence(tmp_path: Path) -> None:
    (tmp_path / "io").write_text(PSI)
    (tmp_path / "cpu").write_text("garbage\n")
    assert pressure("io", str(tmp_path)) == 0.125
    assert pressure("cpu", str(tmp_path)) is None
    assert pressure("memory", str(tmp_path)) is None


def test_directories_of_one_file_system_are_one_disk(tmp_path: Path) -> None:
    (tmp_path / "ckpt").mkdir()
    places = {"checkpoints": str(tmp_path / "ckpt"), "log": str(tmp_path), "Ray": str(tmp_path / "absent")}
    (one,) = disks_of(places)
    assert one.what == "checkpoints, log"
    assert one.free_gb is not None
    assert one.total_gb is not None
    assert 0 <= one.free_gb <= one.total_gb


def test_the_host_tells_swap_shm_and_disks(tmp_path: Path) -> None:
    sample = HostReader(None, {"log": str(tmp_path)}).read()
    assert "log" in " ".join(d.what for d in sample.disks)
    for used, total in ((sample.swap_used_gb, sample.swap_total_gb), (sample.shm_used_gb, sample.shm_total_gb)):
        assert (used is None and total is None) or 0 <= used <= total  # type: ignore[operator]


def test_sampler_starts_once_stops_and_starts_again(tmp_path: Path) -> None:
    sampler = Sampler("here", str(tmp_path), 0.001)

    def wait_for_another() -> None:
        before, end = sampler.latest(), time.monotonic() + 180
        while sampler.latest() is before:
            assert time.monotonic() < end, "no sample"
            time.sleep(0.001)

    assert sampler.latest() is None
    sampler.start()
    sampler.start()
    assert [t.name for t in threading.enumerate()].count("hardware") == 1
    wait_for_another()
    sampler.stop()
    assert "hardware" not in [t.name for t in threading.enumerate()]
    sampler.start()
    wait_for_another()
    sampler.stop()

"""Hardware measured by the agent's own means: the same as the local readers give, through the stub driver."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rltui.agent import hardware as far_module
from rltui.hardware.base import HardwareSample
from rltui.hardware.processes import role_words
from rltui.hardware.remote import sample_from
from rltui.records import as_dict
from tests.conftest import REPO
from tests.unit.hardware.test_gpu import READ, build, compiler, run

__all__ = ["compiler"]
FAR = """import json; from rltui.agent.hardware import FarSampler
s = FarSampler('/'); s.sample(); print(json.dumps(s.sample()))"""
ALONE: dict[str, Any] = {"text": True, "start_new_session": True}
SMI = """#!/bin/sh
case "$*" in *query-gpu=*mig*|*compute-apps*) exit 2 ;; esac
echo '0, GPU-0, NVIDIA A100-SXM4-80GB, 1024, 81920, 61.53, 400.00, 7, 34'
echo '1, GPU-1, NVIDIA A100-SXM4-80GB, [N/A], 81920, [N/A], 400.00, [N/A], 34'
"""


def far(**env: str) -> HardwareSample:
    done = subprocess.run(
        [sys.executable, "-c", FAR], env={**os.environ, **env}, cwd=REPO, capture_output=True, text=True, check=True
    )
    found = sample_from(json.loads(done.stdout), "node17")
    assert found is not None
    return found


def without_driver(tmp_path: Path) -> dict[str, str]:
    """As on a machine without a GPU, also on one that has one: what is found as the library is none."""
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    return {"LD_LIBRARY_PATH": str(tmp_path)}


@pytest.mark.parametrize(
    ("mode", "old"),
    [("", False), ("", True), *((mode, False) for mode in ("hot,ecc,xid,mig", "lost", "unsupported", "noevents"))],
)
def test_nvml_through_ctypes_is_nvml_through_its_package(compiler: str, tmp_path: Path, mode: str, old: bool) -> None:
    driver = build(compiler, tmp_path, *(["-DOLD_DRIVER"] if old else []))
    stub = {"LD_LIBRARY_PATH": str(driver), "NVML_STUB": mode}
    _, _, gpus, _, _ = run(READ, driver, mode)
    mine = json.loads(json.dumps([as_dict(gpu) for gpu in far(**stub).gpus]))
    for one, other in zip(mine, gpus, strict=True):
        if one["lost"]:
            assert other["lost"]
            continue
        own = {p["pid"]: p["memory_gb"] for p in one.pop("processes")}
        theirs = {p["pid"]: p["memory_gb"] for p in other.pop("processes")}
        assert one == other, "every value, throttling, errors and MIG included"
        assert sorted(own.values()) == sorted(theirs.values()) == [1.0, 2.0]
    assert any(gpu["memory_used_gb"] for gpu in mine)


def test_nvidia_smi_where_there_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    first, second = far(PATH=f"{tmp_path}:/usr/bin:/bin", **without_driver(tmp_path)).gpus
    assert (first.name, first.util, first.power_w) == ("NVIDIA A100-SXM4-80GB", 0.07, 61.53)
    assert first.memory_total_gb == pytest.approx(85.899, abs=0.001)
    assert (second.memory_used_gb, second.power_w, second.util) == (None, None, None)


MODERN_SMI = """#!/bin/sh
case "$*" in
  *query-compute-apps*) echo 'GPU-a, 4711, 1000'; echo 'GPU-a, 12, [N/A]'; echo 'GPU-x, 1, 1' ;;
  *clocks.sm*) [ -n "$REFUSE" ] && { echo 'Field "clocks.sm" is not a valid field to query.'; exit 2; }
     echo '0, GPU-a, NVIDIA A100, 1024, 81920, 61.5, 400.0, 7, 34, 705, 1410, 0x0000000000000060, 3, Enabled' ;;
  *) echo '0, GPU-a, NVIDIA A100, 1024, 81920, 61.5, 400.0, 7, 34' ;;
esac
"""


@pytest.mark.parametrize("refuse", ["", "1"])
def test_nvidia_smi_tells_clocks_errors_and_processes_where_it_knows_them(tmp_path: Path, refuse: str) -> None:
    (tmp_path / "nvidia-smi").write_text(MODERN_SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    (gpu,) = far(PATH=f"{tmp_path}:/usr/bin:/bin", REFUSE=refuse, **without_driver(tmp_path)).gpus
    assert [(p.pid, p.memory_gb) for p in gpu.processes] == [(4711, pytest.approx(1.048576)), (12, None)]
    assert gpu.power_w == 61.5
    if refuse:
        assert (gpu.sm_clock_mhz, gpu.throttle, gpu.ecc_uncorrected, gpu.mig) == (None,) * 4
    else:
        assert (gpu.sm_clock_mhz, gpu.sm_clock_max_mhz) == (705, 1410)
        assert gpu.throttle == ("thermal", "thermal (hardware)")
        assert (gpu.ecc_uncorrected, gpu.mig) == (3, True)


def test_roles_disks_and_whose_a_process_is(tmp_path: Path) -> None:
    """Real processes: one works in the run's directory, a merger elsewhere; a plain shell that names it is none."""
    (tmp_path / "run").mkdir()
    command = [sys.executable, "-c", "print('ready', flush=True); import sys; sys.stdin.read()"]
    homes = {"verl.trainer.main_ppo": tmp_path / "run", "verl.model_merger": tmp_path}
    running = {
        word: subprocess.Popen([*command, word], cwd=home, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **ALONE)
        for word, home in homes.items()
    }
    try:
        for process in running.values():
            assert process.stdout is not None
            process.stdout.readline()
        values = far_module.FarSampler(str(tmp_path / "run"), {"checkpoints": str(tmp_path)}, role_words()).sample()
        sample = sample_from(json.loads(json.dumps(values)), "n")
    finally:
        for process in running.values():
            process.kill()
            process.communicate()
    assert sample is not None
    assert sample.host is not None
    mine = {process.pid: word for word, process in running.items()}
    told = {mine[p.pid]: (p.role, p.ours, p.aside) for p in sample.host.processes if p.pid in mine}
    assert told == {
        "verl.trainer.main_ppo": ("trainer", True, False),
        "verl.model_merger": ("merger", False, True),
    }
    assert [d.what for d in sample.host.disks] == ["checkpoints"]
    assert sample.host.shm_total_gb is None or sample.host.shm_total_gb >= 0
    zombies = [p for p in values["processes"] if p["pid"] in mine and p["zombie"]]
    assert zombies == []


def test_a_worker_that_ray_started_is_not_called_foreign_another_users_is() -> None:
    def one(pid: int, command: str, user: str, ours: bool) -> dict[str, object]:
        return {"pid": pid, "command": command, "user": user, "ours": ours, "zombie": False}

    known = [
        one(1, "python -m verl.trainer.main_ppo", "me", True),
        one(2, "ray::WorkerDict", "me", False),
        one(3, "ray::WorkerDict", "other", False),
        one(4, "python eval.py", "me", False),
    ]
    held = [{"pid": pid, "memory_gb": 9.0} for pid in (1, 2, 3, 4)]
    sample = sample_from({"time": 1.0, "gpus": [{"index": 0, "processes": held}], "processes": known}, "n")
    assert sample is not None
    assert [p.ours for p in sample.gpus[0].processes] == [True, None, False, False]


def test_without_gpus_it_says_why(tmp_path: Path) -> None:
    sample = far(PATH="/nowhere", **without_driver(tmp_path))
    assert "no NVIDIA driver" in sample.note
    assert sample.host is not None
    assert sample.host.cpus
    assert sample.host.disk_free_gb


@pytest.mark.parametrize(
    "values",
    [
        {"time": 1.0, "gpus": "x", "host": 5, "note": 7},
        {
            "time": 1.0,
            "gpus": [1, {"index": "x"}, {"index": 0, "power_w": float("nan"), "processes": [3, {"pid": "x"}]}],
        },
        {"time": 1.0, "gpus": [{"index": True}, {"index": -1}, {"index": 0, "throttle": "x", "xids": ["a"], "mig": 2}]},
        {
            "time": 1.0,
            "processes": [{"pid": "x"}, {"pid": 5, "command": 7}],
            "host": {"disks": [{"what": 1}], "cpus": -1},
        },
        {"time": 1.0, "host": {"cpu": "x", "cpus": 1.5, "ram_used_gb": True}, "note": "\x1b[2Jx"},
    ],
)
def test_what_the_far_side_makes_up_is_missing(values: dict[str, object]) -> None:
    sample = sample_from(values, "n")
    assert sample is not None
    assert "\x1b" not in sample.note
    assert all(gpu.power_w is None and gpu.processes == () for gpu in sample.gpus)
    assert sample.host is None or (sample.host.cpu, sample.host.cpus, sample.host.ram_used_gb) == (None, None, None)
    assert sample_from({"time": "x"}, "n") is None

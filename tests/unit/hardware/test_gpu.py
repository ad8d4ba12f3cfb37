"""NVML through a stub library: a subprocess loads it by the name that the real driver has."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPO

STUB = REPO / "tests" / "fixtures" / "nvml" / "stub.c"

READ = """
import json
from rltui.hardware.gpu import GpuReader
from rltui.records import as_dict
reader = GpuReader("node17")
why = reader.open()
gpus, note = reader.read()
again, _ = reader.read(processes=False)
reader.close()
print(json.dumps([why, note, [as_dict(g) for g in gpus], [len(g.processes) for g in again], reader.driver]))
"""


@pytest.fixture(scope="session")
def compiler() -> str:
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if found is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler on Linux for the stub of the NVIDIA driver")
    return found


def build(compiler: str, folder: Path, *flags: str) -> Path:
    command = [compiler, "-shared", "-fPIC", *flags, "-o", str(folder / "libnvidia-ml.so.1"), str(STUB)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def driver(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("nvml"))


@pytest.fixture(scope="session")
def old_driver(compiler: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(compiler, tmp_path_factory.mktemp("old-nvml"), "-DOLD_DRIVER")


def run(code: str, driver: Path | None, mode: str = "", **env: str) -> Any:
    path = {"LD_LIBRARY_PATH": str(driver)} if driver is not None else {}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **path, "NVML_STUB": mode, **env},
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_eight_gpus_with_their_processes(driver: Path) -> None:
    why, note, gpus, again, version = run(READ, driver, CUDA_VISIBLE_DEVICES="0")
    assert (why, note) == ("", "")
    assert version == "570.00.01"
    assert [g["index"] for g in gpus] == list(range(8)), "all GPUs, whatever CUDA_VISIBLE_DEVICES says"
    gpu = gpus[2]
    assert gpu["name"] == "NVIDIA Stub 80GB", "the escape is gone"
    assert gpu["node"] == "node17"
    assert (gpu["memory_used_gb"], gpu["memory_total_gb"]) == (62.0, 80.0)
    assert (gpu["power_w"], gpu["power_limit_w"], gpu["util"], gpu["temp_c"]) == (420.0, 700.0, 0.9, 52.0)
    gone, own = gpu["processes"]
    assert (gone["pid"], gone["memory_gb"], gone["user"], gone["command"]) == (4_000_000_000, 2.0, None, None)
    assert own["memory_gb"] == 1.0
    assert own["user"]
    assert "GpuReader" in own["command"]
    assert again == [2] * 8, "the list is kept when it is not asked for"


def test_a_gpu_that_fell_off_the_bus_leaves_the_others_alone(driver: Path) -> None:
    _, note, gpus, again, _ = run(READ, driver, "lost")
    assert note == "GPU 3: GPU is lost"
    lost = gpus.pop(3)
    values = ("memory_used_gb", "memory_total_gb", "power_w", "power_limit_w", "util", "temp_c")
    assert [lost[v] for v in values] == [None] * 6
    assert lost["index"] == 3
    assert lost["lost"]
    assert not any(g["lost"] for g in gpus)
    assert all(g[v] is not None for g in gpus for v in values)
    assert again == [2, 2, 2, 0, 2, 2, 2, 2]


def test_what_is_not_supported_is_none_and_the_rest_stays(driver: Path) -> None:
    why, note, gpus, _, _ = run(READ, driver, "unsupported")
    assert (why, note) == ("", "")
    for g in gpus:
        assert (g["power_w"], g["power_limit_w"], g["util"], g["temp_c"]) == (None,) * 4
        assert g["memory_total_gb"] == 80.0


def test_clocks_reasons_errors_and_mig(driver: Path) -> None:
    _, _, gpus, _, _ = run(READ, driver, "hot,ecc,xid,mig")
    assert [g["throttle"] for g in gpus[4:7]] == [[], ["thermal", "thermal (hardware)"], ["power cap"]]
    assert (gpus[5]["sm_clock_mhz"], gpus[5]["sm_clock_max_mhz"]) == (990, 1980)
    assert [g["ecc_uncorrected"] for g in gpus[:4]] == [0, 0, 2, 0]
    assert [g["xids"] for g in gpus[:3]] == [[], [13, 79], []]
    assert all(g["mig"] for g in gpus)


def test_an_idle_clock_is_no_throttling(driver: Path) -> None:
    _, _, gpus, _, _ = run(READ, driver)
    assert all(g["throttle"] == [] and g["mig"] is False and g["lost"] is False for g in gpus)


def test_errors_nobody_tells_are_unknown_not_none_yet(driver: Path) -> None:
    _, _, gpus, _, _ = run(READ, driver, "noevents,xid")
    assert all(g["xids"] is None and g["ecc_uncorrected"] == 0 for g in gpus)
    _, _, gpus, _, _ = run(READ, driver, "unsupported")
    new = ("sm_clock_mhz", "sm_clock_max_mhz", "throttle", "ecc_uncorrected", "xids", "mig")
    assert [gpus[0][name] for name in new] == [None] * 6


BELONGS = """
import json, os
from rltui.hardware.gpu import GpuReader
from rltui.records import as_dict
from rltui.hardware.processes import Belonging
reader = GpuReader("n", Belonging("/nowhere", lambda: [os.getpid()]))
reader.open()
gpus, _ = reader.read()
print(json.dumps([[p.ours, p.zombie] for p in gpus[0].processes]))
"""


def test_a_process_is_of_the_run_foreign_or_unknown(driver: Path) -> None:
    assert run(BELONGS, driver) == [[None, None], [True, False]], "a pid that cannot be seen is unknown"


def test_processes_without_permission_are_said_to_be_hidden(driver: Path) -> None:
    _, note, gpus, _, _ = run(READ, driver, "noperm")
    assert note == "processes are hidden: no permission"
    assert all(g["processes"] == [] and g["power_w"] is not None for g in gpus)


def test_hidden_process_memory_is_none_not_zero(driver: Path) -> None:
    _, _, gpus, _, _ = run(READ, driver, "hidden")
    assert [p["memory_gb"] for p in gpus[0]["processes"]] == [None, None]


def test_an_old_driver_lacks_functions_and_still_serves(old_driver: Path) -> None:
    why, _, gpus, again, _ = run(READ, old_driver)
    assert why == ""
    assert gpus[0]["memory_used_gb"] == 61.0
    assert again == [2] * 8


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("mismatch", "driver/library version mismatch"),
        ("unloaded", "installed but not loaded"),
        ("empty", "sees no GPU"),
    ],
)
def test_a_driver_that_does_not_start_says_why(driver: Path, mode: str, reason: str) -> None:
    why, _, gpus, _, _ = run(READ, driver, mode)
    assert reason in why
    assert gpus == []


def test_without_a_driver_the_reason_is_clear(tmp_path: Path) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("this machine has an NVIDIA driver")
    why, _, gpus, _, _ = run(READ, None)
    assert why == "no NVIDIA driver here: libnvidia-ml.so.1 not found" or sys.platform == "darwin"
    assert gpus == []


SLOW = """
import json, sys, time
from rltui.hardware.sampler import Sampler
sampler = Sampler("n", None, 0.01)
sampler.start()
while sampler.latest() is None:
    time.sleep(0.001)
first = sampler.latest()
for _ in range(10_000):
    sampler.latest(), sampler.history()
print(json.dumps([len(first.gpus), first.host is not None, len(sampler.history().samples)]))
sys.stdout.flush()
sampler.stop()
"""


def test_a_slow_driver_holds_up_no_reader(driver: Path) -> None:
    """Eight GPUs of two seconds each: readers ask ten thousand times, have the host, and no sample is whole yet."""
    assert run(SLOW, driver, "slow") == [0, True, 0]


SAMPLES = """
import json, time
from rltui.hardware.sampler import Sampler
sampler = Sampler("n", ".", 0.001)
sampler.start()
end = time.monotonic() + 180
while len(sampler.history().samples) < 7 and time.monotonic() < end:
    time.sleep(0.001)
sampler.stop()
history = sampler.history()
print(json.dumps([
    [len(s.gpus) for s in history.samples[:7]], [len(s.gpus[0].processes) for s in history.samples[:7]],
    [s.time for s in history.samples] == sorted(s.time for s in history.samples),
    history.samples[-1].host.disk_free_gb > 0, sampler.latest() == history.samples[-1], history.limit,
]))
"""


def test_sampler_keeps_a_history(driver: Path) -> None:
    assert run(SAMPLES, driver) == [[8] * 7, [2] * 7, True, True, True, 600]

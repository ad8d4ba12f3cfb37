"""Hardware measured by the agent's own means: the same as the local readers give, through the stub driver."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rltui.hardware.base import HardwareSample
from rltui.hardware.remote import sample_from
from tests.conftest import REPO
from tests.unit.hardware.test_gpu import READ, build, compiler, run

__all__ = ["compiler"]
FAR = "import json; from rltui.hardware.far import Sampler; s = Sampler('/'); s.sample(); print(json.dumps(s.sample()))"
SMI = """#!/bin/sh
echo '0, NVIDIA A100-SXM4-80GB, 1024, 81920, 61.53, 400.00, 7, 34'
echo '1, NVIDIA A100-SXM4-80GB, [N/A], 81920, [N/A], 400.00, [N/A], 34'
"""


def far(**env: str) -> HardwareSample:
    done = subprocess.run(
        [sys.executable, "-c", FAR], env={**os.environ, **env}, cwd=REPO, capture_output=True, text=True, check=True
    )
    found = sample_from(json.loads(done.stdout), "node17")
    assert found is not None
    return found


def test_nvml_through_ctypes_is_nvml_through_its_package(compiler: str, tmp_path: Path) -> None:
    driver = build(compiler, tmp_path)
    _, _, gpus, _, _ = run(READ, driver)
    mine = json.loads(json.dumps([dataclasses.asdict(gpu) for gpu in far(LD_LIBRARY_PATH=str(driver)).gpus]))
    for one, other in zip(mine, gpus, strict=True):
        told = {k: v for k, v in one.items() if k != "processes" and v is not None}
        assert {"memory_used_gb", "power_w", "power_limit_w", "util", "temp_c"} <= set(told)
        assert told == {k: other[k] for k in told}, "it tells less, and the same"
    assert any(gpu["power_w"] for gpu in mine)


def test_nvidia_smi_where_there_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "nvidia-smi").write_text(SMI)
    (tmp_path / "nvidia-smi").chmod(0o755)
    first, second = far(PATH=f"{tmp_path}:/usr/bin:/bin").gpus
    assert (first.name, first.util, first.power_w) == ("NVIDIA A100-SXM4-80GB", 0.07, 61.53)
    assert first.memory_total_gb == pytest.approx(85.899, abs=0.001)
    assert (second.memory_used_gb, second.power_w, second.util) == (None, None, None)


def test_without_gpus_it_says_why() -> None:
    sample = far(PATH="/nowhere")
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

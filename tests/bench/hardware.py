"""What it costs to watch the machine: `python -m tests.bench.hardware`. Needs Linux and a C compiler.

Eight GPUs of the stub driver; the newest of 720 samples of them are judged at every row. Exit code 1 where a must is
missed: 0.3 % of a core for sampling, here and on the far side of ssh; 5 ms for a row in all (P15).
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from rltui.diagnosis.engine import Engine
from tests.unit.diagnosis.machines import gpus, sampled

ROOT = Path(__file__).resolve().parents[2]
INTERVAL_S = 2.0
SAMPLES, ROWS = 720, 1000
SHARE, ROW_MS = 0.3, 5.0

SAMPLE = """
import json, sys, time
far = sys.argv[1] == "far"
if far:
    from rltui.agent.hardware import FarSampler
    from rltui.hardware.processes import role_words
    sampler = FarSampler("/tmp", {"log": "/tmp"}, role_words())
    once = lambda i: sampler.sample()
else:
    from rltui.hardware.gpu import GpuReader
    from rltui.hardware.host import HostReader
    from rltui.hardware.processes import Belonging
    from rltui.hardware.sampler import PROCESSES_EVERY, ROLES_EVERY
    belongs = Belonging("/tmp", lambda: ())
    gpu, host = GpuReader("n", belongs), HostReader("/tmp", {"log": "/tmp"}, belongs)
    gpu.open()
    once = lambda i: (gpu.read(i % PROCESSES_EVERY == 0), host.read(i % ROLES_EVERY == 0))
once(0)
start = time.thread_time()
for i in range(100):
    once(i)
print(json.dumps((time.thread_time() - start) / 100))
"""


def sampling(driver: Path, where: str) -> float:
    """Percent of a core that sampling takes every two seconds."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(driver)}
    done = subprocess.run(
        [sys.executable, "-c", SAMPLE, where], cwd=ROOT, env=env, capture_output=True, text=True, check=True
    )
    return 100 * float(json.loads(done.stdout)) / INTERVAL_S


def judging() -> tuple[float, float]:
    """Milliseconds of CPU to judge a new row with the machine and without it."""
    phases = {"timing_s/gen": np.full(ROWS, 36.0), "timing_s/update_actor": np.full(ROWS, 24.0)}
    run = sampled(
        ROWS, cards=lambda step: gpus(power=lambda i: (210.0 if step % 1 < 0.6 else 630.0) + i), columns=phases
    )
    run.dialect = "verl"
    samples, each = run.hardware, []
    for kept in (samples[-SAMPLES:], ()):
        engine, spent = Engine(), list[float]()
        run.hardware = kept[: SAMPLES - 20]
        engine.advance(run)
        for i in range(20):
            run.hardware = kept[: SAMPLES - 20 + i]
            start = time.thread_time()
            engine.advance(run)
            spent.append(1e3 * (time.thread_time() - start))
        each.append(statistics.median(spent))
    return each[0], each[1]


def main() -> int:
    compiler = shutil.which("cc")
    if compiler is None:
        print("needs a C compiler")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        stub = [compiler, "-shared", "-fPIC", "-o", f"{folder}/libnvidia-ml.so.1", "tests/fixtures/nvml/stub.c"]
        subprocess.run(stub, cwd=ROOT, check=True)
        shares = {where: sampling(Path(folder), where) for where in ("here", "far")}
    with_it, without = judging()
    for where, share in shares.items():
        print(f"{'MISSED' if share > SHARE else 'ok':6} {share:6.3f} %   (must {SHARE} % of a core) sampling, {where}")
    word = "MISSED" if with_it > ROW_MS else "ok"
    print(f"{word:6} {with_it:6.2f} ms  (must {ROW_MS}) judging a row; {without:.2f} ms without the machine")
    return int(with_it > ROW_MS or max(shares.values()) > SHARE)


if __name__ == "__main__":
    sys.exit(main())

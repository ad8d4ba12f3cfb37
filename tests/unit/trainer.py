"""A real child process that writes a log like a trainer, to be stopped, continued and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SCRIPT = """
import json, sys, time
path, step_s, virtual_s, busy_after = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
step, began = 0, time.time()
with open(path, "a", buffering=1) as log:
    while True:
        step += 1
        reward = min(0.9, 0.1 + 0.002 * step) + 0.02 * (step % 5)
        row = {"step": step, "reward": reward, "loss": 0.1, "kl": 0.01, "entropy": 1.0, "grad_norm": 0.5,
               "timestamp": began + virtual_s * step}
        log.write(json.dumps(row) + "\\n")
        until = time.time() + step_s
        while step == busy_after or time.time() < until:
            if step == busy_after: sum(range(10000))
            else: time.sleep(step_s / 10)
"""


@contextmanager
def trainer(
    log: Path, step_s: float = 0.05, virtual_s: float = 10.0, busy_after: int = -1
) -> Iterator[subprocess.Popen[bytes]]:
    """Writes a row every `step_s` seconds, stamped as if it were `virtual_s`; after row `busy_after` it computes and
    writes no more. Killed at the end."""
    words = [sys.executable, "-c", SCRIPT, str(log), str(step_s), str(virtual_s), str(busy_after)]
    child = subprocess.Popen(words, start_new_session=True)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def wait_for(condition: Callable[[], object], limit_s: float = 20.0) -> None:
    """Returns once the condition holds; fails after `limit_s`."""
    ends = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < ends, "waited in vain"
        time.sleep(0.01)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if os.path.exists(path) else 0

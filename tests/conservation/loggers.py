"""Logs known values with the loggers of verl, the libraries below them, and the csv writers of Python and pandas.

    python loggers.py TRUTH TOTAL FIRST LAST SEED KILLED

Runs in the folder that gets the files; VERL is the folder of verl's unpacked package.
"""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.fixtures.writers.make import load

Log = Callable[[dict[str, float], int], None]
KEYS = (
    *("critic/rewards/mean", "critic/score/mean", "actor/pg_loss", "actor/grad_norm", "actor/kl_loss", "actor/entropy"),
    *("response_length/mean", "prompt_length/mean", "timing_s/gen", "timing_s/step"),
)
BACKENDS = ("wandb", "swanlab", "trackio", "mlflow", "tensorboard", "console", "file")


def values(step: int, seed: int) -> dict[str, float]:
    """Of each step and seed others; multiples of 1/256 below 4096, which a float32 holds."""
    return {
        key: math.floor(256 * (seed / 2 + at + (1 + math.sin(step * (at + 1) / 7)) / 3 + step / 256)) / 256
        for at, key in enumerate(KEYS)
    }


def main(truth: str, total: int, first: int, last: int, seed: int, killed: bool) -> None:
    from tqdm import tqdm

    loggers, finish = opened(first, total)
    held = os.open(truth, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    bar = tqdm(total=total, initial=first - 1, desc="Training Progress")
    for step in range(first, last + 1):
        row = values(step, seed)
        os.write(held, (json.dumps({"step": step, "values": row}) + "\n").encode())
        for log in loggers:
            log(dict(row), step)
        bar.update(1)
    if killed:
        os.kill(os.getpid(), signal.SIGKILL)
    bar.close()
    finish()


def opened(first: int, total: int) -> tuple[list[Log], Callable[[], None]]:
    import torch  # noqa: F401  (its SummaryWriter is what verl's adapter takes)
    import watchdog.observers
    from watchdog.observers.polling import PollingObserver

    watchdog.observers.Observer = PollingObserver  # of SwanLab: the kernel's may be used up
    root = Path(os.environ["VERL"])
    sys.modules["verl"], sys.modules["verl.utils"] = MagicMock(), MagicMock()
    sys.modules["verl.utils.logger"] = load(root / "verl/utils/logger/aggregate_logger.py", "torch")
    config = {"trainer": {"total_training_steps": total}, "algorithm": {"adv_estimator": "grpo"}}
    tracking: Any = load(root / "verl/utils/tracking.py").Tracking("p", "e", list(BACKENDS), config)
    if first > 1:  # what its trainer prints then
        print(f"Setting global step to {first - 1}")
        print(f"Resuming from checkpoints/global_step_{first - 1}")
    flushed, held, framed = csv_writer("flushed.csv", True), csv_writer("held.csv", False), pandas_frame("frame.csv")
    return [tracking.log, flushed, held, pandas_rows("rows.csv"), framed, tensorboardx("tensorboardX")], tracking.finish


def csv_writer(path: str, flush: bool) -> Log:
    """A row a step behind those that are there; `flush`: at once, else as Python's buffer empties."""
    new = not os.path.exists(path) or not os.path.getsize(path)
    file = open(path, "a", newline="")  # noqa: SIM115  (open as long as the run)
    out = csv.DictWriter(file, ["step", *KEYS])
    if new:
        out.writeheader()

    def log(row: dict[str, float], step: int) -> None:
        out.writerow({"step": step, **row})
        if flush:
            file.flush()

    return log


def pandas_rows(path: str) -> Log:
    import pandas

    def log(row: dict[str, float], step: int) -> None:
        pandas.DataFrame([{"step": step, **row}]).to_csv(path, mode="a", header=not os.path.exists(path), index=False)

    return log


def pandas_frame(path: str) -> Log:
    """The whole frame anew at each step, with its index."""
    import pandas

    rows: list[dict[str, float]] = []
    if os.path.exists(path):
        rows = pandas.read_csv(path, index_col=0).to_dict("records")

    def log(row: dict[str, float], step: int) -> None:
        rows.append({"step": step, **row})
        pandas.DataFrame(rows).to_csv(path)

    return log


def tensorboardx(path: str) -> Log:
    import tensorboardX

    writer = tensorboardX.SummaryWriter(path, flush_secs=1)

    def log(row: dict[str, float], step: int) -> None:
        for key, value in row.items():
            writer.add_scalar(key, value, step)

    return log


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:6]), sys.argv[6] == "1")  # type: ignore[call-arg]

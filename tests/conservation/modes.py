"""The ways in which a log comes about: launches one after the other, and what stands between a program and its log."""

from __future__ import annotations

from dataclasses import dataclass

ROWS, FEW_ROWS = 200, 60
"""Of the runs that `pytest -m writers` makes, and of the recorded ones."""
PACKAGES = (
    "trl==1.16.0",
    "transformers==5.23.0",
    "accelerate==1.15.0",
    "datasets==5.2.0",
    "torch==2.13.0",
    "tensorboard==2.21.0",
    "tensorboardX==2.6.5",
    "wandb==0.31.0",
    "mlflow==3.17.2",
    "trackio==0.43.0",
    "swanlab==0.10.3",
    "pandas==3.1.1",
    "tabulate==0.10.0",
    "orjson==3.13.0",
)
UNPACKED = {"verl": ["0.9.1"]}
"""Packages of which only the loggers are loaded."""


@dataclass(frozen=True)
class Launch:
    """Logs the steps `first` to `last`, then ends or is killed (SIGKILL). `seed`: other values with another one."""

    first: int
    last: int
    killed: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Mode:
    """`shell`: what stands around the program, "{}"; it runs in the folder of the log, `train.log`."""

    launches: tuple[Launch, ...]
    shell: str = "{} >> train.log 2>&1"
    unbuffered: bool = False


def modes(rows: int) -> dict[str, Mode]:
    """Name -> mode, of runs that are planned to have so many rows."""
    half, killed = rows // 2, rows * 3 // 5 - 1  # a row before the sixth of ten checkpoints
    whole = (Launch(1, rows),)
    first = Launch(1, killed, killed=True)
    return {
        "unbuffered": Mode(whole, unbuffered=True),
        "buffered": Mode(whole),
        "killed": Mode((first,)),
        "resumed": Mode((Launch(1, half), Launch(half + 1, rows))),
        "replayed": Mode((first, Launch(half + 1, rows, seed=1)), unbuffered=True),
        "replayed-unchanged": Mode((first, Launch(half + 1, rows)), unbuffered=True),
        "appended": Mode((Launch(1, rows), Launch(1, rows, seed=1))),
        "tee": Mode(whole, "{} 2>&1 | tee train.log"),
        "nohup": Mode(whole, "nohup {} && mv nohup.out train.log"),
    }


MODES = tuple(modes(ROWS))

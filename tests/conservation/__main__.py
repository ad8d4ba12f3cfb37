"""Writes the runs: see the package."""

from __future__ import annotations

import contextlib
import os
import pty
import shlex
import subprocess
import sys
from pathlib import Path

from tests.conservation.modes import ROWS, Mode, modes

HERE = Path(__file__).parent
PROGRAMS = {"loggers": ("loggers.py",), "train": ("train.py",), "printed": ("train.py", "no-bar")}


def write(python: Path, program: str, rows: int, mode: Mode, out: Path, verl: Path) -> None:
    """The launches of a mode, one after the other, as a shell starts them."""
    out.mkdir(parents=True)
    for launch in mode.launches:
        words = [
            python,
            *(["-u"] if mode.unbuffered else []),
            HERE / PROGRAMS[program][0],
            out.parent / f"{out.name}.jsonl",
        ]
        words += [rows, launch.first, launch.last, launch.seed, int(launch.killed), *PROGRAMS[program][1:]]
        command = mode.shell.format(shlex.join(map(str, words)))
        master, slave = pty.openpty()  # nohup looks whether its output goes to a terminal
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=out, env=environment(out, verl), stdin=slave, stdout=slave
        )
        os.close(slave)
        with contextlib.suppress(OSError):  # raised when nobody holds the terminal any more
            while os.read(master, 1 << 16):
                pass
        os.close(master)
        status = process.wait()
        if status and not launch.killed:
            raise RuntimeError(f"{program} in {out} ended with {status}: {(out / 'train.log').read_text()[-2000:]}")


def environment(out: Path, verl: Path) -> dict[str, str]:
    return os.environ | {
        "VERL": str(verl),
        "HOME": str(out.parent / "home"),
        "WANDB_MODE": "offline",
        "WANDB_SILENT": "true",
        "WANDB_CONSOLE": "off",
        "WANDB__DISABLE_META": "true",
        "WANDB__DISABLE_STATS": "true",
        "SWANLAB_MODE": "offline",
        "SWANLAB_LOG_DIR": str(out / "swanlog"),
        "TRACKIO_DIR": str(out / "trackio"),
        "MLFLOW_TRACKING_URI": f"sqlite:///{out / 'mlflow.db'}",
        "TENSORBOARD_DIR": str(out / "tensorboard_log"),
        "VERL_FILE_LOGGER_PATH": str(out / "file.jsonl"),
        "TOKENIZERS_PARALLELISM": "false",
        "OMP_NUM_THREADS": "1",
    }


def main(python: str, verl: str, out: str, *wanted: str) -> None:
    rows = next((int(word) for word in wanted if word.isdigit()), ROWS)
    for program in [name for name in PROGRAMS if name in wanted] or PROGRAMS:
        for name, mode in modes(rows).items():
            if name in wanted or not set(wanted) & modes(rows).keys():
                write(Path(python), program, rows, mode, Path(out) / program / name, Path(verl))
                print(program, name, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])

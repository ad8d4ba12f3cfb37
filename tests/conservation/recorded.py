"""Runs of few rows that the writers made, packed: what the default tests read.

python -m tests.conservation.recorded OUT    # what `python -m tests.conservation PYTHON VERL OUT 60` wrote
"""

from __future__ import annotations

import sys
import tarfile
from functools import cache
from pathlib import Path

HERE = Path(__file__).with_name("recorded")
TEXT = ("train.log", "file.jsonl", "*.csv")
KEPT = {
    ("loggers", "replayed"): (*TEXT, "tensorboard_log", "swanlog/run-*/*.swanlab", "trackio/p.db"),
    ("loggers", "appended"): (*TEXT, "tensorboard_log"),
}
"""Program, mode -> what is kept of it, if it is more than text: the trackers' files are large."""


def names() -> list[str]:
    """`PROGRAM-MODE` of each recorded run."""
    return sorted(path.name.removesuffix(".tar.xz") for path in HERE.glob("*.tar.xz"))


def holds(name: str, path: str) -> bool:
    return any(member.startswith(f"{name}/{path}") for member in members(name))


@cache
def members(name: str) -> list[str]:
    with tarfile.open(HERE / f"{name}.tar.xz") as packed:
        return packed.getnames()


def unpacked(name: str, folder: Path) -> Path:
    """The run in a folder of its own, its truth beside it."""
    with tarfile.open(HERE / f"{name}.tar.xz") as packed:
        packed.extractall(folder, filter="data")
    return folder / name


def main(out: Path) -> None:
    HERE.mkdir(exist_ok=True)
    for truth in sorted(out.glob("*/*.jsonl")):
        program, mode = truth.parent.name, truth.stem
        folder = truth.with_suffix("")
        with tarfile.open(HERE / f"{program}-{mode}.tar.xz", "w:xz", preset=9, format=tarfile.GNU_FORMAT) as packed:
            packed.add(truth, f"{program}-{mode}.jsonl", filter=_nobody)
            for pattern in KEPT.get((program, mode), TEXT):
                for path in sorted(folder.glob(pattern)):
                    packed.add(path, f"{program}-{mode}/{path.relative_to(folder)}", filter=_nobody)


def _nobody(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Runs that name themselves: those of a tracker's database, and those of an MLflow file store."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass

from rltui.readers.base import ContainedRun
from rltui.run.file_roles import MLFLOW_RUN

FORMATS = ("sqlite", "mlflow-files")
"""What `sniff` says of the files that such runs are in."""

RUN_MARK = "#"
"""Between a database and the name of one of its runs, in what the user types and sees."""


@dataclass(frozen=True, slots=True)
class TrackedRun:
    """A run in a database or store. `folder` is where the database, or the folder with the store, lies."""

    folder: str
    path: str
    format: str
    key: str
    label: str


def no_runs(path: str, format: str) -> list[ContainedRun]:
    """For callers that look into no database."""
    return []


def tracked(root: str, found: list[tuple[str, list[ContainedRun]]]) -> list[TrackedRun]:
    """The runs in files below `root`, labelled by their names. The only run of a database needs no label: whatever else
    lies there is that run's."""
    names = Counter(run.name for _, runs in found for run in runs)
    out = []
    for path, runs in found:
        for run in runs:
            is_store = run.format == "mlflow-files"
            label = run.name if names[run.name] == 1 else f"{run.name}-{run.key[:8]}"
            folder = _above_store(path, root) if is_store else os.path.dirname(path)
            out.append(TrackedRun(folder, path, run.format, run.key, label if is_store or len(runs) > 1 else ""))
    return out


def argument(path: str, name: str) -> str:
    """What the user types for one of several runs: `DATABASE#NAME`, or the run's folder in a file store."""
    return os.path.dirname(path) if os.path.basename(path) == MLFLOW_RUN else f"{path}{RUN_MARK}{name}"


def _above_store(meta: str, root: str) -> str:
    """Where the store of a run lies, at most the root: `mlruns/<experiment>/<run>/meta.yaml`."""
    folder = os.path.dirname(meta)
    for _ in range(3):
        if folder == root:
            break
        folder = os.path.dirname(folder)
    return folder

"""Readers by the names that `sniff` returns and `--format-in` takes."""

from __future__ import annotations

from rltui.readers.base import ContainedRun, DatabaseReader, Reader
from rltui.readers.formats import formats

FORMATS = tuple(name for name, known in formats().items() if known.held == "in a file")
DATABASES = tuple(name for name, known in formats().items() if known.held == "in a database")
"""Formats whose runs lie in a SQLite file, read by a `DatabaseReader`."""


def make(format: str, name: str = "", run: str = "") -> Reader:
    """A fresh reader for one file, whose base name tells what its content leaves open; `run`: the one to read of a file
    that holds several. Raises ValueError for a format that is not in `FORMATS`."""
    if format in ("verl-console", "trl-console", "console"):
        from rltui.readers.console.reader import ConsoleReader

        return ConsoleReader(format)
    if format in ("jsonl", "samples"):
        from rltui.readers.jsonl import JsonlReader

        return JsonlReader(samples=format == "samples", run=run)
    if format == "json":
        from rltui.readers.document import JsonReader

        return JsonReader(name, run)
    if format == "csv":
        from rltui.readers.csv_file import CsvReader

        return CsvReader(name, run)
    if format == "trainer-state":
        from rltui.readers.document import TrainerStateReader

        return TrainerStateReader()
    if format == "notebook":
        from rltui.readers.notebook import NotebookReader

        return NotebookReader()
    if format == "page":
        from rltui.readers.page import PageReader

        return PageReader()
    if format == "tensorboard":
        from rltui.readers.tensorboard.events import TfeventsReader

        return TfeventsReader()
    if format == "wandb":
        from rltui.readers.wandb.reader import WandbReader

        return WandbReader()
    if format == "swanlab":
        from rltui.readers.trackers.swanlab import SwanlabReader

        return SwanlabReader()
    raise ValueError(f"no reader for {format!r}: choose one of {', '.join(FORMATS)}")


def make_unpacking(format: str, name: str = "", run: str = "") -> Reader:
    """The same behind a door that unpacks compressed and UTF-16 bytes."""
    from rltui.readers.compressed import UnpackingReader

    return UnpackingReader(make(format, name, run))


def make_database(format: str, run: str) -> DatabaseReader:
    """A fresh reader for one run of a database. Raises ValueError for a format that is not in `DATABASES`."""
    if format == "trackio":
        from rltui.readers.trackers.trackio import TrackioReader

        return TrackioReader(run)
    if format == "mlflow":
        from rltui.readers.trackers.mlflow import MlflowReader

        return MlflowReader(run)
    raise ValueError(f"no database reader for {format!r}")


def runs_in_database(database: bytes, wal: bytes) -> list[ContainedRun]:
    """The runs of a SQLite file, the oldest first; none where it is no tracker's or cannot be read."""
    from rltui.readers.trackers import mlflow, trackio
    from rltui.readers.trackers.sqlite_bytes import Damaged, open_bytes

    try:
        connection = open_bytes(database, wal)
    except Damaged:
        return []
    try:
        return trackio.runs(connection) or mlflow.runs(connection)
    finally:
        connection.close()

"""The formats that metrics come in: what is known of each, in one table for discovery, readers and sessions, and its
reader.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read
from rltui.readers.base import ContainedRun, DatabaseReader, Reader

SEVERAL = "several"
"""What `sniff` says of a file that may hold several runs, or one metric of some: its runs have formats."""
SAMPLES = "samples"
"""The format of samples with their steps: a run only where nothing else is there."""
MESSAGES = "messages"
"""What is said of a log that holds warnings and errors and no metric: it belongs to a run, and is none by itself."""

Held = Literal["in a file", "in a database", "in a folder", "by a service"]


class Format(Record):
    """A container or the text that a trainer prints. `rank`: of two that hold a cell of the same step and key, the
    higher one is believed: files written for machines before printed text, which is rounded, and that before a copy
    inside a checkpoint, which is late. `held`: one run a file, or several in a database, in small files of a folder,
    by a service.

    `begins`: a file that is no single document can be read from any line on, from a block's border, or from anywhere
    (its reader finds the next record by itself). `states_step`: its rows state their step. `copies`: what it holds
    stands in the others too, late (a checkpoint's state) or to be counted from the first row (printed rows without a
    step); alone it tells nothing from its end. `prints`: it holds what the program printed, warnings and errors too.
    `lag`: how far its writer is behind, in words.
    """

    rank: int
    held: Held = "in a file"
    begins: Literal["line", "block", "anywhere"] = "line"
    states_step: bool = False
    copies: bool = False
    prints: bool = False
    lag: str = ""


@kept
def formats() -> dict[str, Format]:
    """By the names that `sniff` returns and `--format-in` takes."""
    return read(Path(__file__).with_name("data") / "formats.json", dict[str, Format])


@cache
def in_order_of_belief() -> tuple[str, ...]:
    """The names, the most believed first."""
    return tuple(sorted(formats(), key=lambda name: -formats()[name].rank))


@cache
def formats_held(how: Held) -> tuple[str, ...]:
    """The names of those whose runs are held so."""
    return tuple(name for name, known in formats().items() if known.held == how)


def make(format: str, name: str = "", run: str = "") -> Reader:
    """A fresh reader for one file, whose base name tells what its content leaves open; `run`: the one to read of a file
    that holds several. Raises ValueError for a format that is not held in a file."""
    if format in ("verl-console", "trl-console", "console"):
        from rltui.readers.console.reader import ConsoleReader

        return ConsoleReader(format)
    if format == "wrapped-console":
        from rltui.readers.console.hard_wraps import WrappedConsole

        return WrappedConsole()
    if format in ("jsonl", "samples"):
        from rltui.readers.jsonl import JsonlReader

        return JsonlReader(samples=format == "samples", run=run)
    if format == "json":
        from rltui.readers.document import JsonReader

        return JsonReader(name, run)
    if format == "csv":
        from rltui.readers.csv_file import CsvReader

        return CsvReader(name, run)
    if format in ("parquet", "arrow"):
        from rltui.readers.column_file import ColumnReader

        return ColumnReader(format, name, run)
    if format == "trainer-state":
        from rltui.readers.document import TrainerStateReader

        return TrainerStateReader()
    if format == "notebook":
        from rltui.readers.pages import NotebookReader

        return NotebookReader()
    if format == "page":
        from rltui.readers.pages import PageReader

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
    raise ValueError(f"no reader for {format!r}: choose one of {', '.join(formats_held('in a file'))}")


def make_unpacking(format: str, name: str = "", run: str = "") -> Reader:
    """The same behind a door that unpacks compressed and UTF-16 bytes."""
    from rltui.readers.compressed import UnpackingReader

    return UnpackingReader(make(format, name, run))


def make_database(format: str, run: str) -> DatabaseReader:
    """A fresh reader for one run of a database. Raises ValueError for a format that is not held in one."""
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

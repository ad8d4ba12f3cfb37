"""The formats of metrics: the properties and the reader of each, in one table for discovery, readers and sessions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rltui.data_files import Record, kept, read
from rltui.readers.base import ContainedRun, DatabaseReader, Reader

if TYPE_CHECKING:
    from rltui.readers.console.notes import NoteFinder

SEVERAL = "several"
"""`sniff` returns this for a file that may hold several runs, or one metric of several runs. Each of its runs has a
format."""
SAMPLES = "samples"
"""The format of samples with their steps. They are a run only if no other file is."""
MESSAGES = "messages"
"""The format of a log with warnings and errors but no metric. It belongs to a run, but is not a run by itself."""

CONSOLES = frozenset(("verl-console", "trl-console", "console"))
"""All of these are one format, named by the dialect that its first lines show."""

Held = Literal["in a file", "in a database", "in a folder", "by a service"]


class Format(Record):
    """A container, or the text that a trainer prints.

    `rank`: if two formats hold a cell of the same step and key, the one with the higher rank counts. Files written for
    machines rank above printed text, which is rounded, and printed text above a copy inside a checkpoint, which is
    late. `held`: where its runs are: one in each file, several in a database, in small files of a folder, or at a
    service.

    `begins`: where reading can begin if the file is not a single document: at any line, at the border of a block, or
    anywhere (its reader finds the next record by itself). `states_step`: its rows state their step. `copies`: the other
    files of the run hold the same, and this one holds it late (a checkpoint's state), or its rows must be counted from
    the first one on (printed rows without a step); its end cannot be read alone. `prints`: it holds what the program
    printed, with warnings and errors. `lag`: how far its writer is behind, in words.
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
    """The formats by the names that `sniff` returns and `--format-in` accepts."""
    return read(Path(__file__).with_name("data") / "formats.json", dict[str, Format])


def alike(one: str, other: str) -> bool:
    """Whether files of both formats are read in the same way."""
    return one == other or {one, other} <= CONSOLES


@cache
def in_order_of_belief() -> tuple[str, ...]:
    """The names of the formats, the highest rank first."""
    return tuple(sorted(formats(), key=lambda name: -formats()[name].rank))


@cache
def formats_held(how: Held) -> tuple[str, ...]:
    """The names of the formats whose runs are held in this way."""
    return tuple(name for name, known in formats().items() if known.held == how)


def make(format: str, name: str = "", run: str = "") -> Reader:
    """A new reader for one file. `name`: the file's base name, used if the content is ambiguous; `run`: the run to
    read, if the file holds several. Raises ValueError for a format that is not held in a file."""
    if format in CONSOLES:
        from rltui.readers.console.launches import ConsoleLog

        return ConsoleLog(format, run)
    if format == "wrapped-console":
        from rltui.readers.console.hard_wraps import WrappedConsole

        return WrappedConsole()
    if format in ("jsonl", "samples"):
        from rltui.readers.jsonl import JsonlReader

        return JsonlReader(samples=format == "samples", run=run, notes=_notes)
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


def _notes() -> NoteFinder:
    from rltui.readers.console.notes import NoteFinder  # few files of rows hold other lines

    return NoteFinder()


def make_unpacking(format: str, name: str = "", run: str = "") -> Reader:
    """A new reader like that of `make`, for bytes that may be compressed or UTF-16."""
    from rltui.readers.compressed import UnpackingReader

    return UnpackingReader(make(format, name, run))


def make_database(format: str, run: str) -> DatabaseReader:
    """A new reader for one run of a database. Raises ValueError for a format that is not held in a database."""
    if format == "trackio":
        from rltui.readers.trackers.trackio import TrackioReader

        return TrackioReader(run)
    if format == "mlflow":
        from rltui.readers.trackers.mlflow import MlflowReader

        return MlflowReader(run)
    raise ValueError(f"no database reader for {format!r}")


def runs_in_database(database: bytes, wal: bytes) -> list[ContainedRun]:
    """The runs of a SQLite file, the oldest first; none if it is not a tracker's or cannot be read."""
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

"""Readers by the names that `sniff` returns and `--format-in` takes."""

from __future__ import annotations

from rltui.readers.base import Reader

FORMATS = ("verl-console", "trl-console", "console", "jsonl", "csv", "trainer-state", "tensorboard", "wandb")


def make(format: str) -> Reader:
    """A fresh reader for one file. Raises ValueError for a name that is not in `FORMATS`."""
    if format in ("verl-console", "trl-console", "console"):
        from rltui.readers.console import ConsoleReader

        return ConsoleReader(format)
    if format == "jsonl":
        from rltui.readers.jsonl import JsonlReader

        return JsonlReader()
    if format == "csv":
        from rltui.readers.csv_file import CsvReader

        return CsvReader()
    if format == "trainer-state":
        from rltui.readers.trainer_state import TrainerStateReader

        return TrainerStateReader()
    if format == "tensorboard":
        from rltui.readers.tfevents import TfeventsReader

        return TfeventsReader()
    if format == "wandb":
        from rltui.readers.wandb import WandbReader

        return WandbReader()
    raise ValueError(f"no reader for {format!r}: choose one of {', '.join(FORMATS)}")

"""What is known of each format that metrics come in: the one table for discovery, readers and sessions."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal

from rltui.data_files import Record, kept, read

SEVERAL = "several"
"""What `sniff` says of a file that may hold several runs, or one metric of some: its runs have formats."""
SAMPLES = "samples"
"""The format of samples with their steps: a run only where nothing else is there."""
MESSAGES = "messages"
"""What is said of a log that holds warnings and errors and no metric: it belongs to a run, and is none by itself."""


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
    held: Literal["in a file", "in a database", "in a folder", "by a service"] = "in a file"
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

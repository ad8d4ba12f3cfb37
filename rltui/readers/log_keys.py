"""The keys of JSON lines that hold what a program printed. They are listed in a data file (`data/log_keys.json`)."""

from __future__ import annotations

from pathlib import Path

from rltui.data_files import Record, kept, read


class LogKeys(Record):
    """An entry of a log service has one key of `line` (the program's line) and one of `stamp`. A logger's line has one
    key of `message` and one of `level`, which no row of metrics has, and may have one of `time`.

    `place`: numbers that the logger itself adds; `record`: objects that it adds; `fields`: objects whose name does not
    become part of the names of the numbers in them."""

    line: tuple[str, ...]
    stamp: tuple[str, ...]
    message: tuple[str, ...]
    level: tuple[str, ...]
    time: tuple[str, ...]
    place: tuple[str, ...]
    record: tuple[str, ...]
    fields: tuple[str, ...]

    @property
    def own_numbers(self) -> frozenset[str]:
        """Numbers that the logger adds itself, which are not metrics."""
        return frozenset((*self.place, *self.level, *self.time))


@kept
def log_keys() -> LogKeys:
    return read(Path(__file__).with_name("data") / "log_keys.json", LogKeys)

"""The headings of the metrics pane, as `overview.toml` names them."""

from __future__ import annotations

from pathlib import Path

from rltui.data_files import Record, kept, read


class Heading(Record):
    """A heading of the metrics pane. `first`: the canonical names of its metrics, the most important first."""

    name: str
    groups: tuple[str, ...]
    first: tuple[str, ...]


class Overview(Record):
    heading: tuple[Heading, ...]


@kept
def headings() -> tuple[Heading, ...]:
    return read(Path(__file__).with_name("overview.toml"), Overview).heading

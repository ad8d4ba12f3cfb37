"""What a screen may know of a run's data, beside the numbers of the report: the recording that came with it, and the
types of its parts. Screens import these names from here and nothing from the floors below that fill them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.readers.base import LogLine, Note
    from rltui.run.checkpoints import Checkpoint
    from rltui.run.columns import Floats, Series
    from rltui.run.hardware_columns import ColumnCache, SampleColumns
    from rltui.run.phase_hardware import PhaseHardware
    from rltui.run.stall import StallCard
    from rltui.session.frame import Recording

__all__ = [
    "Checkpoint",
    "Floats",
    "LogLine",
    "Note",
    "PhaseHardware",
    "Recording",
    "SampleColumns",
    "Series",
    "StallCard",
    "sample_columns",
]


@cache
def _columns() -> ColumnCache:
    from rltui.run.hardware_columns import ColumnCache  # not at the top: the first paint needs no numpy

    return ColumnCache()


def sample_columns(recording: Recording | None) -> SampleColumns:
    """The hardware samples as columns; of a recording that has more of them than the last one only these are added."""
    return _columns().of(recording.hardware if recording is not None else ())

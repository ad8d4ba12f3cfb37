"""What a screen may know about a run's data besides the numbers of the report: the recording that came with it, and the
types of its parts. Screens import these names from here and not from the modules that fill them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rltui.evidence.model import Evidence
    from rltui.readers.base import LogLine, Note
    from rltui.run.checkpoints import Checkpoint
    from rltui.run.columns import Floats, Series
    from rltui.run.hardware import ColumnCache, PhaseHardware, SampleColumns
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
    "evidence_label",
    "evidence_series",
    "sample_columns",
]

MACHINE = {
    "gpu.memory_used_gb": ("memory of", "GB"),
    "gpu.power_w": ("power of", "W"),
    "host.ram_used_gb": ("memory of", "GB"),
    "host.free_gb": ("free disk of", "GB"),
}
"""What evidence may be measured on the machine, and how that is called: see `rltui.evidence.beside_rows.Measured`."""


@cache
def _columns() -> ColumnCache:
    from rltui.run.hardware import ColumnCache  # not at the top: the first paint needs no numpy

    return ColumnCache()


def evidence_label(evidence: Evidence) -> tuple[str, str] | None:
    """The name and unit of a measurement on the machine; None for a metric of the log."""
    named = MACHINE.get(evidence.metric)
    return None if named is None else (f"{named[0]} {evidence.key}", named[1])


def evidence_series(recording: Recording, evidence: Evidence) -> Series | None:
    """What was measured on the machine for a finding, by step: the highest value within each step, or the lowest for
    free space. None for a metric of the log, and if no row has a time."""
    if evidence.metric not in MACHINE:
        return None
    from rltui.run.columns import Series
    from rltui.run.hardware import per_step

    seen, run = sample_columns(recording), recording.run
    of, _, column = evidence.metric.partition(".")
    if of == "gpu":
        at = next((i for i, gpu in enumerate(seen.gpus) if f"{gpu[0]} GPU {gpu[1]}".strip() == evidence.key), None)
        values = None if at is None else seen.gpu[column][:, at]
    else:
        values = seen.host[column] if len(seen) else None
    if values is None or not run.rows:
        return None
    ends = run.ends()
    rows, best = per_step(ends, seen.times, values, least=column == "free_gb")
    known = best == best
    rows = rows[known]
    return Series(evidence.metric, run.steps[rows], best[known], rows, ends[rows], True)


def sample_columns(recording: Recording | None) -> SampleColumns:
    """The hardware samples as columns; of a recording that has more of them than the last one only these are added."""
    return _columns().of(recording.hardware if recording is not None else ())

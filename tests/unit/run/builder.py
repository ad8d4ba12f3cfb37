"""Small runs for the tests of this floor."""

from __future__ import annotations

import math
from array import array
from collections.abc import Mapping, Sequence

from rltui.readers.base import Note, NoteKind, Rows
from rltui.run.history import Part
from rltui.run.run import Run

LOG = "console.log"


def rows(
    columns: Mapping[str, Sequence[float | None]], first: int = 1, every: int = 1, start: float | None = None
) -> Rows:
    """Columns of equal length; None is a cell that was not logged. One row every `every` steps, 10 s a step."""
    count = max(len(values) for values in columns.values())
    steps = [first + i * every for i in range(count)]
    times = [math.nan if start is None else start + 10.0 * step for step in steps]
    cells = {k: array("d", [math.nan if v is None else v for v in values]) for k, values in columns.items()}
    return Rows(array("q", steps), array("d", times), cells)


def run_of(block: Rows, config: Mapping[str, object] | None = None, source: str = LOG) -> Run:
    """A run with one log that holds these rows, identified."""
    run = Run("r", "/runs/r")
    part = Part(source, (20, 0.0))
    run.history.add_part(part)
    run.history.add(part, block)
    times = [t for t in block.times if t == t]
    run.as_of = max(times) if times else None
    if config:
        run.add_config(config, "printed config")
    run.identify()
    return run


def note(kind: NoteKind, text: str, line: int = 1, step: int | None = None, total: int | None = None) -> Note:
    return Note(kind, text, line, step, total)


def trl(steps: int = 20, **extra: Sequence[float | None]) -> dict[str, Sequence[float | None]]:
    """Columns of a TRL run."""
    names = ("reward", "loss", "kl", "completions/mean_length", "frac_reward_zero_std")
    return {**{name: [0.1 * (i % 7) + 0.1 for i in range(steps)] for name in names}, **extra}

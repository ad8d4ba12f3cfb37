"""Steps that take longer than others: those that validate or save a checkpoint."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.frameworks.schema import PHASE
from rltui.run.checkpoints import Checkpoint
from rltui.run.config import Config
from rltui.run.names import Names
from rltui.run.notes import Notes
from rltui.run.progress import RECENT
from rltui.run.table import Table


def marked_steps(table: Table, names: Names, checkpoints: Iterable[Checkpoint], notes: Notes) -> set[int]:
    """Recent steps that validated or saved a checkpoint. `names`: those of the current table."""
    marks = {c.step for c in checkpoints}
    marks |= {n.step for kind in ("checkpoint", "validation") for n in notes.of_kind(kind) if n.step is not None}
    rare = [key for key, meaning in names.meanings.items() if meaning.group == "validation"]
    timers = [key for phase in ("validation", "checkpoint") for key in names.sources(PHASE + phase)]
    for key in (*rare, *timers):
        series = table.series(key)
        if series is not None:
            steps, values = series.steps[-RECENT:], series.values[-RECENT:]
            marks.update(steps[values > 0].tolist() if key in timers else steps.tolist())
    return marks


def planned_periods(config: Config, dialect: str, plan: int) -> set[int]:
    """Planned intervals of validation and checkpoints, in steps. TRL also accepts shares of the plan, which are below
    1."""
    stated = {config.positive(dialect, name) for name in ("test_freq", "save_freq")}
    return {round(p if p >= 1 else p * plan) for p in stated if p is not None}

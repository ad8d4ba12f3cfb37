"""Whether each value that was logged comes back at its step; what does not has to be lost by the writer itself."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rltui.run.attempts import attempts
from rltui.run.run import Run
from tests.conservation.modes import Mode

Rows = dict[int, dict[str, float]]
"""Step -> key -> value."""
SUMMARY = "train_runtime"
"""The row that ends a training of transformers: its totals, no row of a step."""


@dataclass(frozen=True)
class Source:
    """`path`: what a user names, below the run's folder. `relative`: how precisely its writer keeps a value.
    `restarts`: what the writer does with earlier launches: "goes on" behind them, makes "another" run, or "overwrites"
    them. `buffers`: what a killed writer still held is lost. `appends`: its files only ever grow, so that they can be
    followed from any of their beginnings."""

    path: str
    format: str
    relative: float = 1e-12
    restarts: str = "goes on"
    buffers: bool = False
    appends: bool = False


FLOAT32, FOUR_DIGITS = 1e-6, 6e-4
SOURCES = {
    "loggers": (
        Source("train.log", "verl-console", appends=True),
        Source("file.jsonl", "jsonl", restarts="overwrites", appends=True),
        Source("flushed.csv", "csv", appends=True),
        Source("held.csv", "csv", buffers=True, appends=True),
        Source("rows.csv", "csv", appends=True),
        Source("frame.csv", "csv"),
        Source("tensorboard_log", "tensorboard", FLOAT32, appends=True),
        Source("tensorboardX", "tensorboard", FLOAT32, buffers=True, appends=True),
        Source("wandb", "wandb", restarts="another", buffers=True, appends=True),
        Source("swanlog", "swanlab", restarts="another", buffers=True, appends=True),
        Source("mlflow.db", "mlflow", restarts="another"),
        Source("trackio", "trackio", restarts="another", buffers=True),
    ),
    "train": (
        Source("train.log", "trl-console", FOUR_DIGITS, buffers=True, appends=True),
        Source("out/runs", "tensorboard", FLOAT32, restarts="another", appends=True),
        Source("out/checkpoint-*/trainer_state.json", "trainer-state", buffers=True),
        Source("wandb", "wandb", restarts="another", buffers=True, appends=True),
        Source("mlflow.db", "mlflow", restarts="another", buffers=True),
        Source("trackio", "trackio", restarts="another", buffers=True),
    ),
    "printed": (Source("train.log", "trl-console", FOUR_DIGITS, buffers=True, appends=True),),
}


def logged(truth: Path, mode: Mode) -> list[Rows]:
    """What each launch gave to its writers."""
    lines = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    launches: list[Rows] = []
    before = math.inf
    for line in lines:
        if SUMMARY in line["values"]:
            continue
        step = line["step"]
        if not launches or step <= before or (step > mode.launches[len(launches) - 1].last):
            launches.append({})
        launches[-1][step] = line["values"]
        before = step
    assert [(min(rows), max(rows)) for rows in launches] == [(one.first, one.last) for one in mode.launches]
    return launches


def merged(launches: Iterable[Rows]) -> Rows:
    """The rows of one run: where a launch begins, what an earlier one logged from there on gives way."""
    out: Rows = {}
    for rows in launches:
        first = min(rows)
        out = {step: cells for step, cells in out.items() if step < first} | rows
    return out


def read(run: Run) -> Rows:
    """The cells of a run, as it was read; what was logged as NaN is NaN."""
    table = run.history.table
    return {int(step): table.cells(at) for at, step in enumerate(table.steps.tolist())}


def differences(written: Rows, found: Rows, relative: float) -> list[str]:
    """What of the found cells is not what was written."""
    out = []
    for step, cells in found.items():
        if step not in written:
            out.append(f"step {step} was never logged")
            continue
        for key, value in written[step].items():
            if key in cells and not math.isclose(cells[key], value, rel_tol=relative, abs_tol=1e-12):
                out.append(f"step {step}: {key} is {cells[key]}, was {value}")
    return out


def lost(written: Rows, found: Rows) -> list[int]:
    """The steps of which a cell did not come back."""
    return [step for step, cells in written.items() if not cells.keys() <= found.get(step, {}).keys()]


def problems(source: Source, mode: Mode, launches: list[Rows], runs: list[Run]) -> list[str]:
    """What does not come back. Each run holds one launch or several that follow each other; all launches are held."""
    left = set(range(len(launches)))
    if source.restarts == "overwrites":
        left = {len(launches) - 1}
    out = []
    for run in runs:
        tried = [_of(source, mode, launches, held, run) for held in _slices(len(launches))]
        best, held = min(tried, key=lambda one: len(one[0]))
        out += [f"{problem}" for problem in best]
        left -= set(held)
    if source.buffers:  # a launch that was killed before its writer wrote anything
        left = {at for at in left if not mode.launches[at].killed}
    return out + [f"launch {at + 1} is in no run" for at in sorted(left)]


def _slices(n: int) -> list[range]:
    return [range(first, last) for first in range(n) for last in range(first + 1, n + 1)]


def _of(source: Source, mode: Mode, launches: list[Rows], held: range, run: Run) -> tuple[list[str], range]:
    found, written = read(run), merged(launches[at] for at in held)
    out = differences(written, found, source.relative)
    missing = lost(written, found)
    for step in missing:
        launch = max(at for at in held if step in launches[at])
        until = min(launches[launch + 1]) if launch + 1 in held else math.inf
        seen = [other for other in found if other in launches[launch] and other < until and other not in missing]
        if not (source.buffers and mode.launches[launch].killed and step > max(seen, default=0)):
            out.append(f"step {step} is lost")
    expected = _replaced(launches, held)
    told = {at.first: at.rows for at in attempts(run.history, run.notes)}
    for first, steps in expected.items():
        if told.get(first, 0) != len(steps) and not source.buffers:
            out.append(f"the {len(steps)} rows from step {first} on that were done again are told as {told.get(first)}")
    return out, held


def _replaced(launches: list[Rows], held: range) -> dict[int, list[int]]:
    """First step -> steps of a launch that a later one logged again with other values."""
    out = {}
    for at in held[1:]:
        before, first = launches[at - 1], min(launches[at])
        again = [step for step in before if step >= first]
        if any(before[step] != launches[at].get(step) for step in again):
            out[first] = again
    return out

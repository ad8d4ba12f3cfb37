"""The same run logged to several containers holds the same numbers in each. Needs the labelled runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import isclose, isnan
from pathlib import Path

import pytest

from rltui.readers.tensorboard.events import TfeventsReader
from rltui.readers.wandb.reader import WandbReader
from tests.unit.readers_binary.collect import Steps, by_step, read

Find = Callable[[str], Path]
PROFILE = "profiling/Time taken: "
ONLY_IN_SUMMARY = {
    f"train/{k}"
    for k in ("total_flos", "train_loss", "train_runtime", "train_samples_per_second", "train_steps_per_second")
}
"""Totals that transformers writes to the W&B summary, not to its history."""


def _all_of(pattern: str, run: Path, reader: type[WandbReader] | type[TfeventsReader]) -> Steps:
    files = sorted(run.glob(pattern))
    assert files
    steps: Steps = {}
    for file in files:
        parser = reader()
        for step, cells in by_step(read(parser, file.read_bytes())).items():
            steps.setdefault(step, {}).update(cells)
        assert not parser.skipped
    return steps


def _trainer_state(run: Path) -> Steps:
    """Rows of the largest trainer_state.json; keys as transformers writes them to its other backends."""
    path = max(run.glob("outputs/**/trainer_state.json"), key=lambda p: p.stat().st_size)
    steps: Steps = {}
    for row in json.loads(path.read_text())["log_history"]:
        cells = {
            f"eval/{k[5:]}" if k.startswith("eval_") else f"train/{k}": float(v)
            for k, v in row.items()
            if k != "step" and isinstance(v, int | float)
        }
        steps.setdefault(row["step"], {}).update(cells)
    return steps


def _differences(mine: Steps, truth: Steps, relative: float) -> tuple[int, list[tuple[int, str, float, float]]]:
    compared = 0
    wrong = []
    for step in mine.keys() & truth.keys():
        for key in mine[step].keys() & truth[step].keys():
            a, b = mine[step][key], truth[step][key]
            compared += 1
            if not (isnan(a) and isnan(b)) and not isclose(a, b, rel_tol=relative, abs_tol=1e-37):
                wrong.append((step, key, a, b))
    return compared, wrong


@pytest.mark.parametrize("name", ["g01-add-s0", "g04-copy-s3", "g53-sort-s2", "g54-add-s0"])
def test_trl_containers_agree(labelled_run: Find, name: str) -> None:
    run = labelled_run(f"zoo/{name}")
    state = _trainer_state(run)
    board = _all_of("outputs/runs/*/events*", run, TfeventsReader)
    wandb = _all_of("wandb/*run-*/*.wandb", run, WandbReader)
    for steps, relative, left_out in ((board, 1e-6, set()), (wandb, 1e-12, ONLY_IN_SUMMARY)):
        assert state.keys() <= steps.keys() | {0}
        for step, cells in state.items():
            assert cells.keys() - left_out <= steps[step].keys(), step
        compared, wrong = _differences(steps, state, relative)
        assert compared >= 0.9 * sum(map(len, state.values()))
        assert not wrong
    compared, wrong = _differences(board, wandb, 1e-6)
    assert compared >= 1300
    assert not wrong


@pytest.mark.parametrize("name", ["g01-add-s0", "g04-copy-s3", "g53-sort-s2"])
def test_trl_timers_stand_on_the_step_they_belong_to(labelled_run: Find, name: str) -> None:
    run = labelled_run(f"zoo/{name}")
    wandb = _all_of("wandb/*run-*/*.wandb", run, WandbReader)
    timed = {step: {k: v for k, v in cells.items() if k.startswith(PROFILE)} for step, cells in wandb.items()}
    logged = sorted(step for step, cells in wandb.items() if "train/step_time" in cells)
    assert logged
    close = 0
    for step in logged:
        top_level = sum(v for k, v in timed[step].items() if k.endswith(("._prepare_inputs", ".compute_loss")))
        assert top_level > 0
        assert top_level <= wandb[step]["train/step_time"] * 1.02 + 0.002
        close += top_level > 0.5 * wandb[step]["train/step_time"]
    assert close > 0.8 * len(logged)  # these two are nearly all of a step: a shift by one step would not fit


def test_verl_containers_agree(labelled_run: Find) -> None:
    run = labelled_run("zoo/v01-add-s0")
    board = _all_of("tensorboard_log/**/events*", run, TfeventsReader)
    wandb = _all_of("wandb/*run-*/*.wandb", run, WandbReader)
    truth: Steps = {}
    for line in next(run.glob("verl_tiny/*.jsonl")).read_text().splitlines():
        row = json.loads(line)
        numbers = {k: float(v) for k, v in row["data"].items() if isinstance(v, int | float)}
        truth.setdefault(row["step"], {}).update(numbers)
    for steps, relative, missing in ((board, 1e-6, set()), (wandb, 1e-12, {159, 160})):
        assert truth.keys() - steps.keys() == missing  # the killed run's last steps never reached the .wandb file
        for step in steps:
            assert steps[step].keys() == truth[step].keys()
        compared, wrong = _differences(steps, truth, relative)
        assert compared > 9000
        assert not wrong

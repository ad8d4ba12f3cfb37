"""Bytes that arrive in any pieces give what they give at once: history, notes, diagnosis."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rltui.session.run_reader import RunReader

from . import runs

SAMPLES = Path(__file__).resolve().parents[3] / "sample_runs"


def told(run: RunReader) -> tuple[object, ...]:
    frame = run.frame(now=1.8e9)
    notes = [(note.kind, note.text, note.line) for note in frame.notes]
    table = run.run.history.table
    return repr(runs.content(run)), notes, table.restarts, run.run.framework, repr(frame.diagnosis)


def read_in_pieces(data: bytes, name: str, cuts: list[int]) -> tuple[object, ...]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / name
        borders = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
        log.write_bytes(data[: borders[1]])
        run: RunReader | None = None
        for start, end in pairwise(borders[1:]):
            if run is None and log.stat().st_size > 4096:  # enough to tell the format by
                run = runs.opened(log)
            with log.open("ab") as out:
                out.write(data[start:end])
            if run is not None:
                run.poll()
                run.diagnosis()
        run = run or runs.opened(log)
        run.poll()
        return told(run)


LOGS = (
    "trl-nan-crash/console.log",
    "verl-grpo-crash/console.log",
    "verl-grpo-crash/metrics.jsonl",
    "csv-entropy-collapse/metrics.csv",
    "trl-slow-reward/wandb/*/run-*.wandb",
    "trl-grpo-healthy/outputs/runs/*/events.out.tfevents.*",
)


@cache
def read_whole(log: Path) -> object:
    data = log.read_bytes()
    return read_in_pieces(data, log.name, [len(data)])


@pytest.mark.parametrize("pattern", LOGS)
@settings(max_examples=3, deadline=None)
@given(shares=st.lists(st.floats(0.05, 1.0), min_size=1, max_size=6))
def test_any_pieces(pattern: str, shares: list[float]) -> None:
    (log,) = SAMPLES.glob(pattern)
    data = log.read_bytes()
    assert read_in_pieces(data, log.name, [int(s * len(data)) for s in shares]) == read_whole(log)


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(
    every=st.integers(2, 9),
    missing=st.sets(st.integers(0, 79), max_size=10),
    back=st.none() | st.integers(5, 70),
    shares=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=5),
)
def test_any_pieces_of_rows_whose_keys_vary(
    every: int, missing: set[int], back: int | None, shares: list[float]
) -> None:
    """Validation steps have more keys, some rows lack one, the run may start again from an earlier step."""
    out = []
    steps = [*range(80), *(range(back, back + 20) if back is not None else ())]
    for i, step in enumerate(steps):
        cells = {"critic/score/mean": 0.3 + 0.005 * step + 0.01 * (i % 7), "actor/entropy": 0.8 - 0.001 * i}
        if i in missing:
            del cells["actor/entropy"]
        if step % every == 0:
            cells["val-core/gsm8k/reward/mean@1"] = 0.2 + 0.004 * step
        out.append(json.dumps({"step": step, "data": cells}) + "\n")
    data = "".join(out).encode()
    cuts = [int(share * len(data)) for share in shares]
    assert read_in_pieces(data, "metrics.jsonl", cuts) == read_in_pieces(data, "metrics.jsonl", [len(data)])


def test_a_row_of_which_the_last_brace_is_missing_changes_no_other_row() -> None:
    rows = [{"step": step, "data": {"critic/score/mean": step / 100, "actor/entropy": 0.5}} for step in range(30)]
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    whole = read_in_pieces(data, "metrics.jsonl", [len(data)])
    for cut in range(len(data) - 12, len(data)):
        assert read_in_pieces(data, "metrics.jsonl", [cut]) == whole, cut

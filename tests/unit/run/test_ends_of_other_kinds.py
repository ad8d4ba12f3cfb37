"""Ends that a log tells without the usual words: memory of the GPU as drivers and allocators say it, frames without the
line above them, and ends from outside, with which nothing is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.reported import told
from tests.unit.run.test_crashes import rows, traceback


def report(tmp_path: Path, log: str) -> tuple[str, dict[str, Any]]:
    """The page, and all that is known."""
    path = tmp_path / "train.log"
    path.write_text("Total training steps: 200\n" + log, encoding="utf-8")
    page, _, known = told(path)
    return page, known


def ended(known: dict[str, Any]) -> dict[str, Any]:
    (finding,) = (f for f in known["findings"] if f["id"] == "run-crashed")
    assert isinstance(finding, dict)
    return finding


def frames(error: str, *places: str) -> str:
    """What Ray prints of an error of a worker: no words above it."""
    return "ray::Worker.step() (pid=77, ip=10.0.0.3)\n" + traceback(error, *places).partition("\n")[2]


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: CUDA Error: out of memory at /src/allocator.cpp:91",
        "[rank3]: torch.AcceleratorError: HIP error: out of memory",
        "RuntimeError: CUDA driver error: CUDA_ERROR_OUT_OF_MEMORY",
        "jaxlib.XlaRuntimeError: RESOURCE_EXHAUSTED: XLA:GPU ran out of memory allocating 41 bytes",
        "NCCL WARN Cuda failure 'out of memory'",
    ],
)
def test_gpu_memory_by_any_allocator(error: str, tmp_path: Path) -> None:
    _, known = report(tmp_path, rows(1, 40) + error + "\n")
    assert known["run"]["state"] == "crashed"
    assert "GPU memory ran out" in ended(known)["summary"]


def test_advice_about_memory_is_no_end(tmp_path: Path) -> None:
    said = "INFO: to avoid GPU out of memory set expandable_segments\nHint: if CUDA runs out of memory lower n\n"
    _, known = report(tmp_path, rows(1, 40) + said)
    assert known["run"]["state"] != "crashed"
    assert not any(f["id"] == "run-crashed" for f in known["findings"])


@pytest.mark.parametrize(
    ("place", "phase", "first"),
    [
        ("actor.py:update_policy", "in the update", "micro-batches of the update"),
        ("fsdp.py:compute_log_prob", "in the log-probs", "micro-batches of the log-probs"),
        ("engine.py:wake_up", "while weights were sent to the sampler", "Give the sampler less"),
        ("engine.py:execute_model", "in generation", "Give the sampler less"),
        ("main.py:go", "", "micro-batches of the phase that failed"),
    ],
)
@pytest.mark.parametrize("printed", [traceback, frames])
def test_the_phase_leads_the_advice(place: str, phase: str, first: str, printed: Any, tmp_path: Path) -> None:
    _, known = report(
        tmp_path, rows(1, 40) + printed("RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", place)
    )
    found = ended(known)
    assert f"GPU memory ran out {phase}".strip() in found["summary"]
    assert first in found["fixes"][0]["text"]


def test_an_error_under_frames_alone_is_quoted(tmp_path: Path) -> None:
    _, known = report(tmp_path, rows(1, 40) + frames("my.pkg.BadBatchError: no rows", "loop.py:fit"))
    assert "BadBatchError: no rows" in ended(known)["summary"]


def test_a_stack_that_is_shown_is_no_error(tmp_path: Path) -> None:
    """`stack_info=True` of logging, and what torch shows of a forward call."""
    stack = 'Stack (most recent call last):\n  File "loop.py", line 7, in fit\n    log()\nINFO: slow batch\n'
    _, known = report(tmp_path, rows(1, 40) + stack)
    assert known["run"]["state"] != "crashed"
    assert not any(f["id"] == "run-crashed" for f in known["findings"])


FROM_OUTSIDE = {
    "time limit": "slurmstepd: error: *** STEP 9.0 ON n7 CANCELLED AT 2026-02-01T04:00:01 DUE TO TIME LIMIT ***\n",
    "another scheduler's": "=>> PBS: job killed: walltime 86432 exceeded limit 86400\n",
    "preempted": "The spot instance i-0af was reclaimed: instance is preempted\n",
    "node": "srun: error: *** JOB 12 ON n8 CANCELLED AT 2026-02-01 DUE TO NODE FAILURE ***\n",
}


@pytest.mark.parametrize("log", [rows(1, 60), rows(1, 4)], ids=["long", "short"])
@pytest.mark.parametrize("end", FROM_OUTSIDE.values(), ids=FROM_OUTSIDE)
def test_who_was_ended_from_outside_resumes(end: str, log: str, tmp_path: Path) -> None:
    page, known = report(tmp_path, log + end)
    assert (known["run"]["state"], known["verdict"]["badge"]) == ("crashed", "RESUME")
    assert ended(known)["severity"] == "warning"
    assert len(ended(known)["fixes"]) == 1
    assert "earliest error" not in page


def test_an_error_is_still_to_be_mended(tmp_path: Path) -> None:
    _, known = report(tmp_path, rows(1, 60) + traceback("ValueError: no such key", "loop.py:fit"))
    assert known["verdict"]["badge"] == "FIX · RERUN"


def test_what_was_wrong_before_the_limit_leads(tmp_path: Path) -> None:
    sick = rows(1, 60).replace(" - actor", " - response_length/clip_ratio:1.0 - actor")
    _, known = report(tmp_path, sick + FROM_OUTSIDE["time limit"])
    assert known["verdict"]["because"][0] == "truncation-high"
    assert known["verdict"]["badge"] != "RESUME"

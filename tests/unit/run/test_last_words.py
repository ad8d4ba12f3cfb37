"""How a log ends, in the words of whatever ran the trainer: launchers, shells, schedulers, scripts of one's own. They
count only if nothing came after them and nothing moves any more."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from rltui.cli import main
from tests.unit.reported import told

LONG_AGO = 1_760_000_000.0
ROWS_OF_A_LARGE_LOG = 2_500


def run(folder: Path, ends: str, plan: int | None = 200, rows: int = 60, within: str = "", at: float = LONG_AGO) -> Any:
    """What is said of the state of a home-made loop that stopped after 60 rows. `within`: a line behind each row but
    the last."""
    rng, of = random.Random(3), f"/{plan}" if plan else ""
    with (folder / "train.log").open("w") as log:
        for i in range(1, rows + 1):
            log.write(
                f"step {i}{of} | loss {1 / i:.4f} | reward {i / rows + rng.random() / 10:.3f} | kl {i / 6e3:.5f}\n"
            )
            log.write(f"{within}\n" if within and i < rows else "")
        log.write(f"{ends}\n")
    os.utime(folder / "train.log", (at, at))
    return told(folder)[2]["run"]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-01-02 16:15:21,891] [INFO] [launch.py:351:main] Process 106033 exits successfully.",
        "2026-11-02 10:00:00,001\tSUCC cli.py:63 -- Job 'raysubmit_8xk2' succeeded",
        "exit code: 0",
        "EXIT=0",
        "train.sh exited with status 0",
        "\tExit status: 0",
        "Experiment finished.",
        "Job finished successfully at Mon Nov 30 10:00:00 UTC 2026",
        "Training job ended at 10:01:12",
        "The run has completed in 3 h 12 min",
        "[2026-11-02 10:00:00] INFO - script done",
    ],
)
def test_who_ran_it_says_that_it_ended_well(line: str, tmp_path: Path) -> None:
    said = run(tmp_path, line)
    assert said["state"] == "finished"
    assert "step 60 of 200" in said["state_because"]


@pytest.mark.parametrize(
    "line",
    [
        "All done!",
        "Done.",
        "Finished training in 3h 2m",
        "Finished at 2026-11-30 10:00",
        "Completed 60 iterations.",
        "Total training time: 3:12:11",
        "Training took 312.3 s",
        "Saved final model to out/last",
        "model saved to ./out/final_model",
        "wandb: Synced 5 W&B file(s), 0 media file(s), 2 artifact file(s)",
        "=== END ===",
    ],
)
def test_a_script_says_that_it_is_done(line: str, tmp_path: Path) -> None:
    """Without a plan. Far below a plan it may be one part of the program that is done."""
    folder, planned = tmp_path / "a", tmp_path / "b"
    folder.mkdir()
    planned.mkdir()
    assert run(folder, line, plan=None)["state"] == "finished"
    assert run(planned, line)["state"] == "stalled"


@pytest.mark.parametrize(
    ("line", "because"),
    [
        ("srun: error: n1: task 0: Exited with exit code 1", "code 1"),
        ("Process exited with code 3", "code 3"),
        ("make: *** [Makefile:7: train] Error 2", "code 2"),
        ("2026-11-02 10:00:00,001\tERR cli.py:66 -- Job 'raysubmit_8xk2' failed", "failed"),
        ("subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status 1.", "code 1"),
        ("ERROR conda.cli.main_run:execute(49): `conda run python train.py` failed. (See above for error)", "failed"),
        ("[launch.py:319:sigkill_handler] Killing subprocess 1222", "failed"),
        ("exit status: 139", "SIGSEGV"),
    ],
)
def test_it_ended_with_a_code(line: str, because: str, tmp_path: Path) -> None:
    said = run(tmp_path, line)
    assert said["state"] == "crashed"
    assert because in said["state_because"]


@pytest.mark.parametrize("line", ["Process exited with code 0", "exit status: 1", "tool run completed in 3 s"])
def test_what_comes_with_each_step_is_no_end(line: str, tmp_path: Path) -> None:
    """An agent's tools end, too."""
    assert run(tmp_path, line, within=line)["state"] == "stalled"


@pytest.mark.parametrize(
    "line", ["evaluation run finished", "validation done", "rollout job completed in 12 s", "done saving"]
)
def test_a_part_that_is_done_is_no_end(line: str, tmp_path: Path) -> None:
    assert run(tmp_path, line)["state"] == "stalled"


@pytest.mark.parametrize("line", ["exit code: 0", "exit code: 1", "Job finished successfully"])
def test_rows_after_it_are_another_story(line: str, tmp_path: Path) -> None:
    more = "\n".join(f"step {i}/200 | loss {1 / i:.4f} | reward 0.9 | kl 0.01" for i in range(61, 70))
    assert run(tmp_path, f"{line}\n{more}")["state"] == "stalled"


def test_while_the_log_is_fresh_nothing_is_over(tmp_path: Path) -> None:
    assert run(tmp_path, "Process exited with code 1", at=time.time())["state"] != "crashed"


def test_an_error_before_it_is_the_reason(tmp_path: Path) -> None:
    said = run(tmp_path, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\nexit code: 1")
    assert said["state"] == "crashed"
    assert "GPU memory ran out" in said["state_because"]


@pytest.mark.long
@pytest.mark.parametrize("within", ["", "Process exited with code 1"])
@pytest.mark.parametrize("line", ["exit code: 0", "Process exited with code 1", "Done."])
@pytest.mark.parametrize("plan", [None, 20_000])
def test_the_list_says_what_the_report_says(
    plan: int | None, line: str, within: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or that it does not know: it reads only both ends of a large log."""
    said = run(tmp_path, line, plan, rows=ROWS_OF_A_LARGE_LOG, within=within)
    main(["runs", str(tmp_path), "--format", "json"])
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert row["state"] in (said["state"], "unknown", None)

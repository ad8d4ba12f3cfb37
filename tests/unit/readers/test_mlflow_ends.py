"""What MLflow's store says of a run's end: FINISHED is told of runs that raised an error, too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.readers.reported import reported

START = 1_780_000_000_000
STEPS = 40


def store(folder: Path, status: int, ended: bool = True, planned: int | None = None, turned: bool = False) -> Path:
    run = folder / "mlruns" / "0" / ("c0de" * 8)
    (run / "metrics").mkdir(parents=True)
    (run / "params").mkdir()
    for key, low in (("reward", 0.2), ("kl", 0.001)):
        rows = (f"{START + 9000 * n} {low + n / 1000} {n}\n" for n in range(1, STEPS + 1))
        (run / "metrics" / key).write_text("".join(rows))
    if planned is not None:
        (run / "params" / "max_steps").write_text(str(planned))
    end = [f"end_time: {START + 9000 * STEPS + 500}"] if ended else ["end_time: null"]
    facts = [*end, "lifecycle_stage: active", f"run_id: {'c0de' * 8}", "run_name: b", f"start_time: {START}"]
    facts = facts[::-1] if turned else facts
    (run / "meta.yaml").write_text("\n".join([*facts, f"status: {status}"]) + "\n")
    return folder


@pytest.mark.parametrize("turned", [False, True], ids=["sorted", "in another order"])
def test_a_run_that_was_closed_is_over(turned: bool, tmp_path: Path) -> None:
    run = reported(store(tmp_path, 3, turned=turned))["run"]
    assert (run["state"], run["steps"]["last"]) == ("finished", STEPS)
    assert "its tracker says that it ended, at step 40" in run["state_because"]


@pytest.mark.parametrize(
    ("status", "ended", "planned", "state"),
    [(3, True, 40, "finished"), (3, True, 90, "stalled"), (1, False, None, "unknown"), (4, True, None, "crashed")],
    ids=["its plan is done", "short of its plan", "it runs", "it failed"],
)
def test_what_closed_does_not_say(status: int, ended: bool, planned: int | None, state: str, tmp_path: Path) -> None:
    assert reported(store(tmp_path, status, ended, planned))["run"]["state"] == state

"""State, names and phases on labelled runs, read by the real readers. Skipped where there are none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rltui.readers.base import ConfigRecord, Note, Rows
from rltui.readers.formats import make
from rltui.run.history import Part
from rltui.run.run import Run

Find = Callable[[str], Path]


def read_console(path: Path) -> Run:
    """A run from its console log alone."""
    log = path if path.is_file() else next(p for p in sorted(path.iterdir()) if p.suffix in (".log", ".out"))
    run, reader = Run(path.name, str(path)), make("console")
    part = Part(str(log), (20, 0.0))
    run.history.add_part(part)
    for record in [*reader.feed(log.read_bytes()), *reader.finish()]:
        if isinstance(record, Rows):
            run.history.add(part, record)
        elif isinstance(record, Note):
            run.add_note(record, str(log))
        elif isinstance(record, ConfigRecord):
            run.add_config(record.values, record.origin)
    run.identify()
    return run


@pytest.mark.parametrize(
    ("name", "state", "last"),
    [
        ("zoo/g47-copy-s2", "crashed", 210),  # killed; the bar is painted once more after it
        ("zoo/v12-sort-s1", "crashed", 65),  # Ray prints the row of the failed step after the traceback
        ("zoo/g45-add-s0", "stalled", 170),
        ("zoo/g01-add-s0", "finished", 300),
        ("real/verl-ppo-gsm8k-qwen05b-1024x512", "finished", 434),
        ("real/verl-grpo-n4-qwen7b-econ-crash-disk", "crashed", 699),
        ("real/verl-grpo-textcraft-host-oom", "crashed", None),  # "finished" is printed after it
        ("real/verl-grpo-guicursor-2steps", "stalled", 2),  # 74 tracebacks of samples, all caught
        ("real/trl-grpo-hotpot-kl-drift", "finished", 1860),  # a row every 20 steps, 1875 planned
        ("real/trl-grpo-hotpot-v2-sighup", "crashed", 920),  # the same, hung up at 935 of 936
        ("real/trl-grpo-gsm8k-finished-then-traceback", "finished", 200),
        ("real/trl-grpo-text2sql-slurm-15", "finished", 15),
        ("real/nemorl-grpo-gemma3-1b-50", "finished", 50),
    ],
)
def test_state(labelled_run: Find, name: str, state: str, last: int | None) -> None:
    path = labelled_run(name)
    if name.startswith("real/nemorl"):
        path = next(path.glob("terminal_output*"))
    run = read_console(path)
    table = run.history.table
    assert (int(table.steps[-1]) if table.n else None) == last
    assert run.state().state == state, run.state()


def test_an_old_verl_ppo_run(labelled_run: Find) -> None:
    run = read_console(labelled_run("real/verl-ppo-gsm8k-qwen05b-1024x512"))
    assert (run.framework, run.framework_version, run.algorithm) == ("verl", "0.2-0.3", "PPO")
    for name, key in {
        "kl_ref": "critic/kl",
        "entropy": "actor/entropy_loss",
        "val_score": "val/test_score/openai/gsm8k",
        "lr": "actor/lr(1e-4)",
    }.items():
        series = run.series(name)
        assert series is not None
        assert series.key == key
    rate = run.series("lr")
    assert rate is not None
    assert rate.values[-1] == pytest.approx(1e-6)
    assert {"generation", "update", "critic update"} <= {item.name for item in run.phases().items}


def test_a_verl_run_adds_up(labelled_run: Find) -> None:
    run = read_console(labelled_run("zoo/v01-add-s0"))
    assert (run.framework, run.framework_version, run.algorithm, run.planned_steps) == ("verl", ">=0.8", "GRPO", 160)
    assert run.config["kl_coef_loss"].active
    table = run.phases()
    assert not table.overlapped
    assert sum(item.share for item in table.items) == pytest.approx(1.0, abs=0.021)
    assert {"generation", "log-probs", "reference", "update", "other"} <= {item.name for item in table.items}

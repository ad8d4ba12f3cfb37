"""Whole logs as home-made loops write them with common loggers: every value at its step, no restart invented."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.readers.reported import reported
from tests.unit.session.runs import content, opened

STEPS = range(1, 51)
Row = dict[str, float]


def stamp(n: int) -> str:
    return f"2026-01-02 10:{n:02d}:{n * 7 % 60:02d}"


def bar(n: int) -> str:
    return f"\rGRPO:  {2 * n}%|##        | {n}/50 [00:10<00:20,  1.10it/s]"


LOGS: dict[str, Callable[[int, Row], str]] = {
    "rich": lambda n, r: (
        f"[10:{n:02d}:05] INFO     step {n}/50 loss={r['loss']} reward={r['reward']}      trainer.py:88\n"
        f"                    kl={r['kl']}"
    ),
    "rich table": lambda n, r: (
        f"      Step {n}/50      \n┏━━━━━━━━┳━━━━━━━━┓\n┃ Metric ┃ Value  ┃\n┡━━━━━━━━╇━━━━━━━━┩\n"
        + "".join(f"│ {k} │ {x} │\n" for k, x in r.items())
        + "└────────┴────────┘"
    ),
    "loguru": lambda n, r: (
        f"{stamp(n)}.123 | INFO     | train:loop:42 - [GRPO] step={n} | " + " | ".join(f"{k}={x}" for k, x in r.items())
    ),
    "absl": lambda n, r: (
        f"I0102 10:{n:02d}:00.123456 140 train.py:33] Step {n}: " + ", ".join(f"{k}={x}" for k, x in r.items())
    ),
    "accelerate": lambda n, r: f"{stamp(n)} - INFO - __main__ - iteration {n}: {r}",
    "logging with extras": lambda n, r: json.dumps(
        {"asctime": stamp(n), "levelname": "INFO", "name": "grpo", "message": "train step", "step": n, **r}
    ),
    "JSON behind a word": lambda n, r: "METRICS " + json.dumps({"step": n, **r}),
    "logfmt": lambda n, r: (
        f'ts="{stamp(n)}" level=info msg="update done" step={n} ' + " ".join(f"{k}={x}" for k, x in r.items())
    ),
    "ranks": lambda n, r: "\n".join(
        f"[rank{k}]: step {n} " + " ".join(f"{name} {x + k}" for name, x in r.items()) for k in (0, 1)
    ),
    "Docker Compose": lambda n, r: (
        f"trainer-1  | {stamp(n)} INFO Update {n}/50 - " + " - ".join(f"{k}: {x:.6f}" for k, x in r.items())
    ),
    "Kubernetes": lambda n, r: (
        f"{stamp(n).replace(' ', 'T')}.123456789Z stdout F step={n} " + " ".join(f"{k}={x}" for k, x in r.items())
    ),
    "Slurm": lambda n, r: "\n".join(
        f"{k}: step {n}: " + ", ".join(f"{name} {x + k}" for name, x in r.items()) for k in (0, 1)
    ),
    "dicts through tqdm": lambda n, r: f"{bar(n)}\r{' ' * 60}\r{r}\n{bar(n)}",
    "a block": lambda n, r: f"---------- Update {n} ----------\n" + "".join(f"  {k:12s}: {x}\n" for k, x in r.items()),
}


def measured(n: int) -> Row:
    return {"loss": 2 - n / 64, "reward": n / 64, "kl": n / 128}


@pytest.mark.parametrize("log", LOGS)
def test_every_value_is_at_its_step(log: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{LOGS[log](n, measured(n))}\n" for n in STEPS))
    assert content(opened(path)) == {n: pytest.approx(measured(n), abs=1e-6) for n in STEPS}
    run = reported(path)["run"]
    assert (run["restarts"], run["attempts"], run["steps"]["last"]) == ([], [], 50)


@pytest.mark.parametrize("log", [log for log in LOGS if log not in ("rich table", "dicts through tqdm")])
def test_a_launch_that_goes_on_below_a_crash_is_an_attempt(log: str, tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    again = {n: {k: x + 1 for k, x in measured(n).items()} for n in range(31, 51)}
    crash = "Traceback (most recent call last):\n  File 'a.py', line 3, in f\nRuntimeError: CUDA out of memory\n"
    crash = "" if log == "logging with extras" else crash
    path.write_text(
        "".join(f"{LOGS[log](n, measured(n))}\n" for n in range(1, 41))
        + crash
        + "".join(f"{LOGS[log](n, row)}\n" for n, row in again.items())
    )
    expected = {n: again.get(n) or measured(n) for n in STEPS}
    assert content(opened(path)) == {n: pytest.approx(row, abs=1e-6) for n, row in expected.items()}
    assert reported(path)["run"]["restarts"] == [31]

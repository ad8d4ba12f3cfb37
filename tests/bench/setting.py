"""What all benchmarks share: how often and how long, the inputs, and the programs they are measured against."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import terminal
from tests.bench.generate import write

ROOT = Path(__file__).resolve().parents[2]
NO_PEERS = "no --peers, a virtual environment with wandb and tensorboard"


@dataclass(frozen=True, slots=True)
class Setting:
    """`peers`: a virtual environment with wandb and tensorboard, None if there is none; `seconds` of each window."""

    times: int
    steps: int
    seconds: int
    inputs: Path
    peers: Path | None

    def file(self, kind: str, steps: int | None = None) -> Path:
        return write(kind, self.inputs, steps or self.steps)

    def leet(self, file: Path) -> list[str]:
        """`wandb leet` on a run's log. Only if there are peers."""
        assert self.peers is not None
        return [str(self.peers / "bin" / "wandb"), "leet", "run", str(file)]

    def case(self, name: str, *arguments: object, python: str | Path = sys.executable) -> dict[str, float]:
        """One run of a case in a fresh process."""
        command = [str(python), "-m", "tests.bench.cases", name, *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, env=terminal.environment(), capture_output=True, text=True, check=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def cpu_s(self, *words: object) -> float:
        """CPU seconds of a command of rltui, as a user runs it."""
        command = [sys.executable, "-m", "rltui", *map(str, words)]
        before = os.times()
        subprocess.run(command, cwd=ROOT, env=terminal.environment(), stdout=subprocess.DEVNULL, check=True)
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    def median(self, name: str, *arguments: object, figure: str) -> float:
        return statistics.median(self.case(name, *arguments)[figure] for _ in range(self.times))

    def ratio(self, ours: Callable[[], float], theirs: Callable[[], float]) -> float:
        """Of the medians; in turn, so that the machine's load is the same for both."""
        both = [(ours(), theirs()) for _ in range(self.times)]
        return statistics.median(one for one, _ in both) / statistics.median(other for _, other in both)


def median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("inf")


def percentile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))] if ordered else float("inf")

"""The budgets of reading, measured: `python -m tests.bench [--times N] [--steps N] [--inputs DIR] [ID ...]`.

Exit code 1 where a must is missed. Baselines are measured beside where they can be (plain Python, orjson, a bare
Textual app; TensorBoard's own reader with `--tensorboard PYTHON`, an interpreter that has it); others are figures
recorded on another machine, scaled by what plain Python needed there and needs here, and marked so.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.bench import terminal
from tests.bench.generate import write, write_many

RECORDED = {"plain split": 2.98, "leet": 20.3, "leet MB": 573.0, "leet MB at 1k": 134.0, "EventAccumulator": 77.1}
"""CPU seconds and MB at 100,000 steps of 60 metrics: `wandb leet` 0.31.0, tensorboard 2.21.0."""

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Result:
    """`value` against limits in the same unit; the smaller the better."""

    id: str
    what: str
    value: float
    must: float
    aim: float
    against: str


class Bench:
    def __init__(self, times: int, steps: int, inputs: Path, tensorboard: str | None) -> None:
        self.times, self.steps, self.inputs, self.tensorboard = times, steps, inputs, tensorboard
        self.median = cache(self._median)

    def file(self, kind: str, steps: int | None = None) -> Path:
        return write(kind, self.inputs, steps or self.steps)

    def case(self, name: str, argument: object, python: str = sys.executable) -> dict[str, float]:
        """One run of a case in a fresh process."""
        command = [python, "-m", "tests.bench.cases", name, str(argument)]
        done = subprocess.run(command, cwd=ROOT, env=terminal.environment(), capture_output=True, text=True, check=True)
        figures: dict[str, float] = json.loads(done.stdout)
        return figures

    def _median(self, name: str, argument: object, figure: str = "cpu_s", times: int | None = None) -> float:
        return statistics.median(self.case(name, argument)[figure] for _ in range(times or self.times))

    def scaled(self, recorded: str) -> float:
        """A recorded CPU time as it would be on this machine at this number of steps."""
        return RECORDED[recorded] * self.median("plain_split", self.file("verl")) / RECORDED["plain split"]

    @staticmethod
    def newest(steps: int) -> bytes:
        """The newest step as the screen writes it, as a regular expression: thousands stand apart. The word before it
        may be on the screen already."""
        return f"{steps:,}".replace(",", ".{1,3}").encode()

    def p2(self) -> Result:
        shows = self.newest(self.steps)
        terminal.show(terminal.rltui(self.file("verl")), shows)  # compiled once, as after an installation
        ours, bare = [], []
        for _ in range(self.times):  # in turn: the machine's load is the same for both
            bare.append(terminal.show(terminal.bare(), b"bare-app").seconds or float("inf"))
            ours.append(terminal.show(terminal.rltui(self.file("verl")), shows).seconds or float("inf"))
        value = statistics.median(ours) / statistics.median(bare)
        return Result("P2", "newest step on screen, of a bare Textual app's first paint", value, 2.0, 1.3, "bare app")

    def p3(self) -> Result:
        value = self.median("load", self.file("wandb")) / self.scaled("leet")
        return Result(
            "P3", "load .wandb, diagnosis and report too, CPU", value, 0.25, 0.12, "wandb leet (recorded, scaled)"
        )

    def p4(self) -> Result:
        value = self.median("load", self.file("verl"), "read_s") / self.median("plain_split", self.file("verl"))
        return Result("P4", "read and store verl console, CPU", value, 1.0, 0.6, "plain Python split")

    def p5(self) -> Result:
        value = self.median("load", self.file("jsonl"), "read_s") / self.median("orjson_only", self.file("jsonl"))
        return Result("P5", "read and store JSONL, CPU", value, 3.0, 2.0, "orjson parse only")

    def p6(self) -> Result:
        value, against = self._events("tensorboard")
        return Result("P6", "read and store tfevents with tags in cycles, CPU", value, 1 / 25, 1 / 100, against)

    def p6_shuffled(self) -> Result:
        value, against = self._events("shuffled")
        return Result("P6x", "the same, tags in another order each step", value, 1 / 8, 1 / 10, against)

    def _events(self, kind: str) -> tuple[float, str]:
        path = self.file(kind)
        theirs, against = self.scaled("EventAccumulator"), "EventAccumulator (recorded, scaled)"
        if self.tensorboard is not None:
            theirs, against = self.case("event_accumulator", path, self.tensorboard)["cpu_s"], "EventAccumulator"
        return self.median("load", path, "read_s") / theirs, against

    def p7(self) -> Result:
        shown = terminal.show(terminal.rltui(self.file("wandb")), self.newest(self.steps), rest=True)
        return Result(
            "P7", "peak memory of the screen", shown.peak_mb / RECORDED["leet MB"], 0.45, 0.3, "leet (recorded)"
        )

    def p8(self) -> Result:
        shown = terminal.show(terminal.rltui(self.file("wandb", 1000)), self.newest(1000), rest=True)
        value = shown.peak_mb / RECORDED["leet MB at 1k"]
        return Result("P8", "peak memory of the screen, 1,000 steps", value, 1.0, 0.75, "leet (recorded)")

    def p15(self) -> Result:
        each = {steps: self.median("append", steps, "ms", 3) for steps in (10, 1000, self.steps)}
        print("      a row behind " + ", ".join(f"{steps:,}: {ms:.2f} ms" for steps, ms in each.items()))
        return Result(
            "P15", "one appended row to a report, ms of CPU, worst of three lengths", max(each.values()), 5.0, 2.0, ""
        )

    def p15_spread(self) -> Result:
        each = [self.median("append", steps, "ms", 3) for steps in (10, 1000, self.steps)]
        return Result("P15x", "the same, longest of shortest", max(each) / min(each), 2.0, 1.2, "each other")

    def p15_sick(self) -> Result:
        value = self.median("append_sick", self.steps, "ms", 3)
        return Result("P15s", "the same behind a run with open warnings and NaNs", value, 5.0, 2.0, "")

    def p16(self) -> Result:
        each = [self.case("load", self.file("jsonl")) for _ in range(self.times)]
        value = statistics.median(one["cpu_s"] - one["read_s"] for one in each)
        return Result("P16", "diagnosis and report after reading, s of CPU", value, 1.5, 0.5, "")

    def p17(self) -> Result:
        """Wall clock of the whole command, interpreter and imports included."""
        folder = write_many(self.inputs, 1000)
        command = [sys.executable, "-m", "rltui", "runs", str(folder)]
        spent = []
        for _ in range(self.times + 1):
            start = time.monotonic()
            subprocess.run(command, cwd=ROOT, env=terminal.environment(), stdout=subprocess.DEVNULL, check=True)
            spent.append(time.monotonic() - start)
        return Result("P17", "list of 1,000 runs, seconds", statistics.median(spent[1:]), 2.0, 1.0, "")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="Measures the budgets of reading.")
    parser.add_argument("ids", nargs="*", metavar="ID", help="P2 P3 ... (default: all)")
    parser.add_argument("--times", type=int, default=5, help="runs of each, of which the median counts")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--inputs", type=Path, default=Path(tempfile.gettempdir()) / "rltui-bench")
    parser.add_argument("--tensorboard", metavar="PYTHON", help="an interpreter with tensorboard")
    args = parser.parse_args()
    bench = Bench(args.times, args.steps, args.inputs, args.tensorboard)
    budgets: dict[str, Callable[[], Result]] = {
        "P2": bench.p2, "P3": bench.p3, "P4": bench.p4, "P5": bench.p5, "P6": bench.p6, "P6x": bench.p6_shuffled,
        "P7": bench.p7, "P8": bench.p8,
        "P15": bench.p15, "P15x": bench.p15_spread, "P15s": bench.p15_sick, "P16": bench.p16, "P17": bench.p17,
    }  # fmt: skip
    if unknown := [id_ for id_ in args.ids if id_ not in budgets]:
        parser.error(f"{', '.join(unknown)}: measured elsewhere or not at all; here are {', '.join(budgets)}")
    missed = 0
    for id_ in args.ids or budgets:
        result = budgets[id_]()
        word = "MISSED" if result.value > result.must else "ok" if result.value > result.aim else "ok, aim met"
        missed += result.value > result.must
        against = f"  against {result.against}" if result.against else ""
        limits = f"must {result.must:g}, aim {result.aim:g}"
        print(f"{result.id:5} {result.value:8.3f}  ({limits})  {word:12} {result.what}{against}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

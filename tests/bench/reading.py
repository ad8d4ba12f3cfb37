"""Budgets of reading and judging: CPU of fresh processes, in turn with their baselines."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache

from tests.bench import terminal
from tests.bench.generate import write_many
from tests.bench.result import Result
from tests.bench.setting import NO_PEERS, ROOT, Setting, median

FEW = 10_000
"""Steps of the TensorBoard logs: its own reader takes a minute for ten times as many."""


def console(of: Setting) -> Iterator[Result]:
    path = of.file("verl")
    value = of.ratio(lambda: of.case("load", path)["load_s"], lambda: of.case("plain_split", path)["load_s"])
    yield Result("P4", "load verl's console, CPU", value, 0.7, 0.5, "x", "a plain Python split")
    value = of.ratio(lambda: of.case("load", path)["load_wall_s"], lambda: of.case("plain_split", path)["load_wall_s"])
    yield Result("P4w", "the same, wall clock", value, 0.45, 0.3, "x", "a plain Python split")


def jsonl(of: Setting) -> Iterator[Result]:
    path = of.file("jsonl")
    loads = [(of.case("load", path), of.case("orjson_only", path)) for _ in range(of.times)]
    value = median([ours["load_s"] for ours, _ in loads]) / median([theirs["load_s"] for _, theirs in loads])
    yield Result("P5", "load JSONL, CPU", value, 2.0, 1.6, "x", "orjson, parsing only")
    value = median([ours["judge_s"] for ours, _ in loads])
    yield Result("P16", "diagnosis and report after reading, CPU", value, 1.5, 0.5, "s")


def table(of: Setting) -> Iterator[Result]:
    path = of.file("csv", 20_000)
    figures = [of.case("table", path) for _ in range(of.times)]
    value = median([one["ours_s"] for one in figures]) / median([one["polars_s"] for one in figures])
    yield Result("P5c", "read and store CSV, 20,000 x 60, CPU", value, 2.0, 1.3, "x", "polars.read_csv")


def events(of: Setting) -> Iterator[Result]:
    kinds = (("P6", "tensorboard", "in cycles", 1 / 25, 1 / 100), ("P6x", "shuffled", "in any order", 1 / 8, 1 / 10))
    for id_, kind, order, must, aim in kinds:
        what = f"load tfevents, {FEW:,} steps, tags {order}, CPU"
        if of.peers is None:
            yield Result(id_, what, None, must, aim, "x", "EventAccumulator", NO_PEERS)
            continue
        path = of.file(kind, FEW)
        theirs = of.case("event_accumulator", path, python=of.peers / "bin" / "python")["load_s"]
        value = of.median("load", path, figure="load_s") / theirs
        yield Result(id_, what, value, must, aim, "x", "EventAccumulator")


def appended(of: Setting) -> Iterator[Result]:
    rows = {steps: of.median("append", of.file("jsonl", steps), figure="ms") for steps in (10, 1000, of.steps)}
    for steps, ms in rows.items():
        yield Result("P15", f"one row behind {steps:,}: parsed, stored, judged, report ready, CPU", ms, 4.0, 2.0, "ms")
    value = max(rows.values()) / min(rows.values())
    yield Result("P15x", "the slowest of these to the quickest", value, 2.0, 1.2, "x")
    ms = of.median("append", of.file("sick"), figure="ms")
    yield Result("P15s", f"one row behind {of.steps:,} of a run with open warnings and NaNs, CPU", ms, 4.0, 2.0, "ms")


def listed(of: Setting) -> Iterator[Result]:
    folder = write_many(of.inputs, 1000)
    command = [sys.executable, "-m", "rltui", "runs", str(folder)]
    spent = [_wall(command) for _ in range(of.times + 1)][1:]
    yield Result("P17", "list of 1,000 runs", median(spent), 2.0, 1.0, "s")


def started(of: Setting) -> Iterator[Result]:
    for option in ("--help", "--version"):
        command = [sys.executable, "-m", "rltui", option]
        _wall(command)
        both = [(_wall(command), _wall([sys.executable, "-c", ""])) for _ in range(2 * of.times)]
        value = 1000 * (median([ours for ours, _ in both]) - median([bare for _, bare in both]))
        yield Result("P20", f"{option}, beyond bare Python", value, 100, 50, "ms")


def followed(of: Setting) -> Iterator[Result]:
    value = of.case("memory", of.file("jsonl", 5000))["kb_a_row"]
    yield Result("P21", "memory of a followed row beyond its plain float columns", value, 0.5, 0.2, "KB")


def _wall(command: list[str]) -> float:
    start = time.monotonic()
    subprocess.run(command, cwd=ROOT, env=_environment(), stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


@cache
def _environment() -> dict[str, str]:
    return terminal.environment()


BENCHES = {
    ("P4", "P4w"): console, ("P5", "P16"): jsonl, ("P5c",): table, ("P6", "P6x"): events,
    ("P15", "P15x", "P15s"): appended, ("P17",): listed, ("P20",): started, ("P21",): followed,
}  # fmt: skip

"""What is measured, each in a fresh process: `python -m tests.bench.cases NAME ARGUMENT` prints its figures as JSON.

`load_s` is CPU from the first byte to the last row stored, `load_wall_s` the same by the clock: imports are apart.
"""

from __future__ import annotations

import gc
import json
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


class Span:
    """CPU and wall clock from its making on."""

    def __init__(self) -> None:
        self.cpu, self.wall = time.process_time(), time.monotonic()

    def figures(self) -> dict[str, float]:
        return {"load_s": time.process_time() - self.cpu, "load_wall_s": time.monotonic() - self.wall}


def load(path: str) -> dict[str, float]:
    """The whole history of a run, then `judge_s`: diagnosis and report."""
    import numpy  # noqa: F401
    import polars  # noqa: F401

    from rltui.report.build import build
    from rltui.session.locate import locate
    from rltui.session.run_reader import RunReader

    span = Span()
    run = RunReader(locate([path])[0], follow=True)
    run.load()
    figures = span.figures()
    begun = time.process_time()
    report = build(run.frame())
    judged = time.process_time() - begun
    return {**figures, "judge_s": judged, "rows": report.run.steps.rows, "metrics": len(report.metrics)}


def plain_split(path: str) -> dict[str, float]:
    """verl's console in plain Python: split, rpartition, float, a dict of lists."""
    span = Span()
    columns: dict[str, list[float]] = {}
    with Path(path).open("rb") as file:
        for line in file:
            at = line.find(b"step:")
            if at < 0 or b" - " not in line:
                continue
            for piece in line[at:].decode().rstrip().split(" - "):
                key, _, value = piece.rpartition(":")
                if value.startswith("np."):
                    value = value[value.find("(") + 1 : -1]
                try:
                    columns.setdefault(key, []).append(float(value))
                except ValueError:
                    continue
    return {**span.figures(), "rows": len(columns.get("step", ()))}


def orjson_only(path: str) -> dict[str, float]:
    """JSON lines parsed and thrown away."""
    import orjson

    span = Span()
    rows = 0
    with Path(path).open("rb") as file:
        for line in file:
            orjson.loads(line)
            rows += 1
    return {**span.figures(), "rows": rows}


def table(path: str) -> dict[str, float]:
    """A table by our reader, in blocks as a report reads them, into a run's columns, and by polars: each once to warm
    up, then in turn."""
    import polars as pl

    from rltui.readers.base import Rows
    from rltui.readers.formats import make
    from rltui.run.table import Table
    from rltui.session.run_reader import AT_ONCE_UNSEEN

    def ours() -> None:
        reader, stored = make("csv", Path(path).name), Table()
        with Path(path).open("rb") as file:
            while block := file.read(AT_ONCE_UNSEEN):
                for record in reader.feed(block):
                    if isinstance(record, Rows):
                        stored.add(record)

    def theirs() -> None:
        pl.read_csv(path)

    def spent(read: Callable[[], None]) -> float:
        span = Span()
        read()
        return span.figures()["load_s"]

    both = [(spent(ours), spent(theirs)) for _ in range(6)][1:]
    return {"ours_s": statistics.median(x for x, _ in both), "polars_s": statistics.median(x for _, x in both)}


def event_accumulator(path: str) -> dict[str, float]:
    """TensorBoard's own reader, all scalars kept."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    span = Span()
    events = EventAccumulator(str(Path(path).parent), size_guidance={"scalars": 0})
    events.Reload()
    return {**span.figures(), "rows": len(events.Scalars(events.Tags()["scalars"][0]))}


ROWS = 60
WARM = 1000
"""Rows that are followed before memory is looked at: what is kept once is there then."""


def append(path: str) -> dict[str, float]:
    """One row after another behind those of a log: parsed, stored, diagnosed, report ready. Milliseconds of CPU a row,
    of which to store it."""
    spent, stored = _follow(path, ROWS)
    return {"ms": statistics.median(spent), "stored_ms": statistics.median(stored), "most_ms": max(spent)}


def memory(path: str) -> dict[str, float]:
    """KB that a followed row keeps beyond eight bytes a value, behind the rows of a log."""
    rows, held = 3000, []
    _follow(path, WARM + rows, lambda: held.append(resident_kb()))
    line = json.loads(Path(path).read_bytes().splitlines()[-1])
    return {"kb_a_row": (held[-1] - held[0]) / rows - 8 * len(line["data"]) / 1024, "rows": rows}


def _follow(path: str, rows: int, ends: Callable[[], object] = lambda: None) -> tuple[list[float], list[float]]:
    """Milliseconds of CPU of each row that is appended to a copy of the log, and of those to store it. `ends` is called
    behind the first ones and behind all."""
    from rltui.cli import COLLECT_AFTER
    from rltui.report.build import build
    from rltui.report.summaries import SummaryCache
    from rltui.session.locate import locate
    from rltui.session.run_reader import RunReader

    data = Path(path).read_bytes()
    last = data.splitlines(keepends=True)[-60:]
    count = data.count(b"\n")
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "metrics.jsonl"
        log.write_bytes(data)
        del data
        run, cache = RunReader(locate([str(log)])[0], follow=True), SummaryCache()
        run.load()
        build(run.frame(), cache=cache)
        gc.set_threshold(COLLECT_AFTER)  # both as in the program
        gc.freeze()
        spent: list[float] = []
        parts: list[float] = []
        for step in range(count + 1, count + 1 + rows):
            if step == count + 1 + WARM:
                ends()
            with log.open("ab") as out:
                out.write(re.sub(rb'"step":\d+', b'"step":%d' % step, last[step % len(last)], count=1))
            start = time.thread_time()
            run.poll()
            stored = time.thread_time()
            report = build(run.frame(), cache=cache)
            for name in list(report.metrics)[:12]:  # a screen of metrics
                assert report.metrics[name].last is not None
            spent.append(1e3 * (time.thread_time() - start))
            parts.append(1e3 * (stored - start))
        ends()
        assert report.run.steps.rows == count + rows
    return spent, parts


def resident_kb() -> int:
    """Memory of this process once what is free was given back."""
    from rltui.sources import memory as allocator

    gc.collect()
    allocator.give_back()
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


CASES = {case.__name__: case for case in (load, plain_split, orjson_only, table, event_accumulator, append, memory)}

if __name__ == "__main__":
    figures = CASES[sys.argv[1]](sys.argv[2])
    print(json.dumps({"cpu_s": time.process_time(), **figures}))

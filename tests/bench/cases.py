"""What is measured, each in a fresh process: `python -m tests.bench.cases NAME ARGUMENT` prints its figures as JSON."""

from __future__ import annotations

import gc
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path


def load(path: str) -> dict[str, float]:
    """The whole history of a run: `read_s` is CPU to the last row stored (interpreter and imports included), the rest
    goes into diagnosis and report."""
    from rltui.report.build import build
    from rltui.session.locate import locate
    from rltui.session.run_reader import RunReader

    run = RunReader(locate([path])[0], follow=True)
    run.load()
    read_s = time.process_time()
    report = build(run.frame())
    return {"read_s": read_s, "rows": report.run.steps.rows, "metrics": len(report.metrics)}


def plain_split(path: str) -> dict[str, float]:
    """verl's console in plain Python: split, rpartition, float, a dict of lists."""
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
    return {"rows": len(columns.get("step", ()))}


def orjson_only(path: str) -> dict[str, float]:
    """JSON lines parsed and thrown away."""
    import orjson

    rows = 0
    with Path(path).open("rb") as file:
        for line in file:
            orjson.loads(line)
            rows += 1
    return {"rows": rows}


def event_accumulator(path: str) -> dict[str, float]:
    """TensorBoard's own reader, all scalars kept."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(Path(path).parent), size_guidance={"scalars": 0})
    events.Reload()
    return {"rows": len(events.Scalars(events.Tags()["scalars"][0]))}


def append(steps: str, sick: bool = False) -> dict[str, float]:
    """One row after another behind so many: parsed, stored, diagnosed, report ready. Milliseconds of CPU a row."""
    from rltui.cli import COLLECT_AFTER
    from rltui.report.build import build
    from rltui.report.summaries import SummaryCache
    from rltui.session.locate import locate
    from rltui.session.run_reader import RunReader
    from tests.bench.generate import jsonl

    lines = b"".join(jsonl(int(steps) + 60, sick)).splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "metrics.jsonl"
        log.write_bytes(b"".join(lines[: int(steps)]))
        run, cache = RunReader(locate([str(log)])[0], follow=True), SummaryCache()
        run.load()
        build(run.frame(), cache=cache)
        gc.set_threshold(COLLECT_AFTER)  # both as in the program
        gc.freeze()
        spent: list[float] = []
        parts: list[float] = []
        for line in lines[int(steps) :]:
            with log.open("ab") as out:
                out.write(line)
            start = time.thread_time()
            run.poll()
            stored = time.thread_time()
            frame = run.frame()
            report = build(frame, cache=cache)
            for shown in list(report.metrics.values())[:12]:  # a screen of metrics
                assert shown.last is not None
            spent.append(1e3 * (time.thread_time() - start))
            parts.append(1e3 * (stored - start))
    return {"ms": statistics.median(spent), "stored_ms": statistics.median(parts), "most_ms": max(spent)}


def append_sick(steps: str) -> dict[str, float]:
    """The same of a run with open warnings and NaNs in its past."""
    return append(steps, sick=True)


CASES = {case.__name__: case for case in (load, plain_split, orjson_only, event_accumulator, append, append_sick)}


def peak_mb() -> float:
    """Peak resident memory of this process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return float("nan")


if __name__ == "__main__":
    figures = CASES[sys.argv[1]](sys.argv[2])
    print(json.dumps({"cpu_s": time.process_time(), "peak_mb": peak_mb(), **figures}))

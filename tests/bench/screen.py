"""Budgets of the screen: rltui, a bare Textual app and `wandb leet` in terminals, in turn.

A key is settled with the last byte before 60 ms of silence; CPU is that of the program and of those that it started,
over windows of many seconds; a row is on screen when the terminal's text shows its step.
"""

from __future__ import annotations

import json
import os
import random
import re
import select
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyte

from tests.bench import generate, terminal
from tests.bench.result import Result
from tests.bench.setting import NO_PEERS, ROOT, Setting, median, percentile

SETTLED_S = 0.06
QUIET_S = 0.6
LETTERS = rb"[A-Za-z]{3}"
KEYS = 24
LOADS = 4


@dataclass(frozen=True, slots=True)
class Window:
    """CPU as a share of one core, bytes and wake-ups a second."""

    cpu: float
    bytes_s: float
    wakeups_s: float


class Terminal:
    """A program in a terminal; use as a context manager."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self.fd = terminal.spawn(command)
        self.screen = pyte.Screen(160, 45)
        self.stream = pyte.ByteStream(self.screen)
        self.received = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        terminal.end(self.pid, self.fd)

    def read(self, wait_s: float) -> float | None:
        """What comes within `wait_s`, and when; None if nothing does."""
        if not select.select([self.fd], [], [], max(0.0, wait_s))[0]:
            return None
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return None
        at = time.monotonic()
        self.received += len(data)
        self.stream.feed(re.sub(rb"\x1b\[[<>=?]?[0-9;]*[uqn]|\x1b\[\?[0-9;]*\$p", b"", data))
        return at

    def text(self) -> str:
        return "\n".join(self.screen.display)

    def until(self, pattern: str, patience_s: float = 120.0) -> None:
        """Reads until the screen shows it. Raises TimeoutError."""
        start = time.monotonic()
        while time.monotonic() - start < patience_s:
            self.read(0.05)
            if re.search(pattern, self.text()):
                return
        raise TimeoutError(f"{pattern}:\n{self.text()}")

    def settle(self, quiet_s: float = QUIET_S, patience_s: float = 10.0) -> None:
        """Waits for silence, of a program that is never silent for a while."""
        start = time.monotonic()
        while self.read(quiet_s) is not None and time.monotonic() - start < patience_s:
            pass

    def key(self, key: str) -> float | None:
        """Milliseconds from a key to its settled repaint; None if nothing was painted."""
        while self.read(0.0) is not None:
            pass
        start = time.monotonic()
        os.write(self.fd, key.encode())
        last = None
        while (at := self.read(SETTLED_S if last is not None else 1.0)) is not None and at - start < 5.0:
            last = at
        return None if last is None else 1000 * (last - start)

    def keys(self, keys: str, times: int) -> list[float]:
        took = (self.key(keys[i % len(keys)]) for i in range(times))
        return [ms for ms in took if ms is not None]

    def window(self, seconds: float, each_s: Callable[[int], None] = lambda _: None) -> Window:
        """What the program costs, while `each_s` happens once a second."""
        cpu, woken, got, start = terminal.cpu_s(self.pid), self._switches(), self.received, time.monotonic()
        for second in range(int(seconds)):
            while (left := start + second - time.monotonic()) > 0:
                self.read(left)
            each_s(second)
        while (left := start + seconds - time.monotonic()) > 0:
            self.read(left)
        took = time.monotonic() - start
        spent, switched = terminal.cpu_s(self.pid) - cpu, self._switches() - woken
        return Window(spent / took, (self.received - got) / took, switched / took)

    def quit(self, key: str) -> float:
        """Milliseconds until the program is gone."""
        start = time.monotonic()
        os.write(self.fd, key.encode())
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self.read(0.002)
        return 1000 * (time.monotonic() - start)

    def _switches(self) -> int:
        total = 0
        for process in terminal.tree(self.pid):
            for task in Path(f"/proc/{process}/task").glob("*/status"):
                found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", task.read_text(), re.MULTILINE)
                total += int(found.group(1)) if found else 0
        return total


def rltui(path: Path) -> Terminal:
    return Terminal(terminal.rltui(path))


def thousands(step: int) -> str:
    """A step as the screen writes it, as a regular expression: thousands stand apart."""
    return f"{step:,}".replace(",", ".{1,3}")


def paint(of: Setting) -> Iterator[Result]:
    log, shows = of.file("verl"), thousands(of.steps).encode()
    terminal.show(terminal.rltui(log), shows)  # compiled once, as after an installation
    first, values, bare = [], [], []
    for _ in range(of.times):
        bare.append(terminal.show(terminal.bare(), LETTERS).seconds)
        first.append(terminal.show(terminal.rltui(log), LETTERS).seconds)
        values.append(terminal.show(terminal.rltui(log), shows).seconds)
    yield Result("P1", "first paint", median(first) / median(bare), 1.5, 1.15, "x", "a bare app")
    what = f"newest of {of.steps:,} steps on screen"
    yield Result("P2", what, median(values) / median(bare), 2.0, 1.3, "x", "a bare app's first paint")


def whole(of: Setting) -> Iterator[Result]:
    log, times = of.file("wandb"), max(1, of.times // 2)
    report = [of.cpu_s("report", log) for _ in range(times)]
    shown, theirs = [], []
    for _ in range(times):
        shown.append(terminal.show(terminal.rltui(log), thousands(of.steps).encode(), rest=True))
        if of.peers is not None:
            theirs.append(terminal.show(of.leet(log), b"Finished", rest=True))
    what = "load .wandb, CPU: read, diagnosis, report"
    limits = (("P3", what, 0.15, 0.1), ("P3s", "the same with the screen", 0.2, 0.15), ("P7", "peak memory", 0.3, 0.25))
    if not theirs:
        for id_, what, must, aim in limits:
            yield Result(id_, what, None, must, aim, "x", "leet", NO_PEERS)
        return
    leet = median([one.cpu_s for one in theirs])
    pairs = (
        (median(report), leet, "s"),
        (median([one.cpu_s for one in shown]), leet, "s"),
        (median([one.peak_mb for one in shown]), median([one.peak_mb for one in theirs]), "MB"),
    )
    for (id_, what, must, aim), (mine, other, unit) in zip(limits, pairs, strict=True):
        yield Result(id_, what, mine / other, must, aim, "x", "leet", f"{mine:.3g} of {other:.3g} {unit}")


def small(of: Setting) -> Iterator[Result]:
    if of.peers is None:
        yield Result("P8", "peak memory of 1,000 steps", None, 1.0, 0.75, "x", "leet", NO_PEERS)
        return
    log = of.file("wandb", 1000)
    ours = terminal.show(terminal.rltui(log), thousands(1000).encode(), rest=True).peak_mb
    theirs = terminal.show(of.leet(log), b"Finished", rest=True).peak_mb
    why = f"{ours:.3g} of {theirs:.3g} MB"
    yield Result("P8", "peak memory of 1,000 steps", ours / theirs, 1.0, 0.75, "x", "leet", why)


def idle(of: Setting) -> Iterator[Result]:
    with Terminal(terminal.bare()) as app:
        app.until("bare-app")
        app.settle()
        bare_quit = app.quit("q")
    with rltui(ROOT / "sample_runs" / "trl-reward-flip") as shown:
        shown.until("finished")
        shown.settle()
        rests = shown.window(of.seconds)
        quitting = shown.quit("Q")
    yield Result("P9", "idle on a finished run", 100 * rests.cpu, 0.9, 0.3, "% CPU")
    yield Result("P9w", "the same, wake-ups", rests.wakeups_s, 40, 12, "/s")
    yield Result("P9b", "the same, to the terminal", rests.bytes_s, 60, 60, "B/s")
    yield Result("P19", "quit", quitting / bare_quit, 2.0, 1.0, "x", "a bare app")


METRICS = [
    "actor/entropy",
    "actor/kl_loss",
    "actor/pg_loss",
    "actor/grad_norm",
    "actor/pg_clipfrac",
    "actor/ppo_kl",
    "critic/score/mean",
    "critic/rewards/mean",
    "response_length/mean",
    "response_length/clip_ratio",
    "perf/throughput",
    "timing_s/step",
]


BEHIND = 200
"""Rows of a followed log before the first that is waited for."""


def live(of: Setting) -> Iterator[Result]:
    """A log of 12 metrics that gains a row a second; `leet` follows a W&B log that does, each row flushed."""
    chance = random.Random(1)

    def row(step: int) -> bytes:
        data = {name: round(chance.gauss(*generate.LEVELS.get(name, (1.0, 0.05))), 5) for name in METRICS}
        return (json.dumps({"step": step, "data": data}) + "\n").encode()

    rows = [row(step) for step in range(1, BEHIND + of.seconds + 1)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "run" / "metrics.jsonl"
        ours, delays = _follow(terminal.rltui(log.parent), log, rows, r"step {}\b")
        theirs = None
        if of.peers is not None:
            frames = list(generate.wandb(BEHIND + of.seconds))[:-1]
            frames = [b"".join(frames[:3]), *frames[3:]]
            log = Path(folder) / "run-bench001.wandb"
            theirs, leet_delays = _follow(of.leet(log), log, frames, r"_step +{}\b")
    why = NO_PEERS if theirs is None else f"{100 * ours.cpu:.2g} of {100 * theirs.cpu:.2g} % of a core"
    value = None if theirs is None else ours.cpu / theirs.cpu
    yield Result("P10", "a row a second, CPU", value, 0.3, 0.1, "x", "leet", why)
    yield Result("P11", "the same, to the terminal", ours.bytes_s / 1000, 1.9, 1.0, "KB/s")
    value = None if theirs is None else median(delays) / median(leet_delays)
    why = NO_PEERS if theirs is None else f"{median(delays):.0f} of {median(leet_delays):.0f} ms"
    yield Result("P12", "the same, row to screen, p50", value, 0.4, 0.12, "x", "leet", why)
    yield Result("P12b", "the same, p95", percentile(delays, 0.95), 150, 60, "ms")


def _follow(command: list[str], log: Path, rows: list[bytes], shows: str) -> tuple[Window, list[float]]:
    """What a program costs while its log gains a row a second, and ms from each row to its step on the screen."""
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"".join(rows[:BEHIND]))
    delays: list[float] = []
    with Terminal(command) as shown, log.open("ab") as out:
        shown.until(shows.format(BEHIND))
        shown.settle()

        def grow(second: int) -> None:
            out.write(rows[BEHIND + second])
            out.flush()
            written = time.monotonic()
            expected = re.compile(shows.format(BEHIND + second + 1))
            while not expected.search(shown.text()) and time.monotonic() - written < 0.9:
                shown.read(0.01)
            delays.append(1000 * (time.monotonic() - written))

        return shown.window(len(rows) - BEHIND, grow), delays


def keys(of: Setting) -> Iterator[Result]:
    with rltui(of.file("verl")) as shown:
        shown.until(f"step {thousands(of.steps)}.*(finished|state unknown|live|stalled)")
        shown.settle(2.0)
        shown.keys("22", 2)
        ours = shown.keys("jjjjkkkk", KEYS)
    theirs: list[float] = []
    if of.peers is not None:
        with Terminal(of.leet(of.file("wandb"))) as shown:
            shown.until("Finished")
            shown.settle(2.0)
            theirs = shown.keys("nnnNNN", KEYS)
    yield from _both("P13", f"key to repaint at {of.steps:,} steps", ours, theirs, ((1.0, 0.6), (1.2, 0.7)))


def loading(of: Setting) -> Iterator[Result]:
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(LOADS):
        with rltui(of.file("verl")) as shown:
            shown.until(r"reading\s+[1-9]\d* %")  # the newest values are there: each key moves something
            ours += shown.keys("2jjkk", 12)
        if of.peers is not None:
            with Terminal(of.leet(of.file("wandb"))) as shown:
                shown.until(r"actor/\S+ *.*\n.*[\u2801-\u28ff]")
                theirs += shown.keys("nnNN", 12)
    yield from _both("P14", "key to repaint while loading", ours, theirs, ((0.4, 0.2), (0.65, 0.35)))


def _both(
    id_: str, what: str, ours: list[float], theirs: list[float], limits: tuple[tuple[float, float], ...]
) -> Iterator[Result]:
    """Median and 95th percentile, of leet's."""
    for (must, aim), share, name in zip(limits, (0.5, 0.95), ("p50", "p95"), strict=True):
        ms = percentile(ours, share)
        value, why = (
            (ms / percentile(theirs, share), f"{ms:.0f} of {percentile(theirs, share):.0f} ms")
            if theirs
            else (None, NO_PEERS)
        )
        yield Result(id_ + ("b" if share > 0.5 else ""), f"{what}, {name}", value, must, aim, "x", "leet", why)


BENCHES = {
    ("P1", "P2"): paint, ("P3", "P3s", "P7"): whole, ("P8",): small, ("P9", "P9w", "P9b", "P19"): idle,
    ("P10", "P11", "P12", "P12b"): live, ("P13", "P13b"): keys, ("P14", "P14b"): loading,
}  # fmt: skip

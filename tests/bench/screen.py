"""The screen from the terminal's side: keys, bytes, CPU and delays through a pseudo-terminal of 160x45.

Methods as the budgets define them: a key is settled with the last byte before 60 ms of silence; CPU is the whole
process's, from /proc, over windows of many seconds; a row is on screen when the terminal's text shows its step.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import re
import select
import signal
import statistics
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from fcntl import ioctl
from pathlib import Path
from termios import TIOCSWINSZ

import pyte

from tests.bench.generate import LEVELS, write
from tests.bench.terminal import environment

SETTLED_S = 0.06
QUIET_S = 0.6
TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    BINDINGS = [("j", "more"), ("q", "quit")]
    n = 0
    def compose(self):
        yield Static("bare-app 0")
    def action_more(self):
        self.n += 1
        self.query_one(Static).update(f"bare-app {self.n}")
Bare().run()
"""


@dataclass(frozen=True, slots=True)
class Window:
    """CPU as a share of one core, bytes and wake-ups a second."""

    cpu: float
    bytes_s: float
    wakeups_s: float


class Terminal:
    """A program in a terminal; use as a context manager."""

    def __init__(self, command: list[str]) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, environment() | {"TERM": "xterm-256color", "COLORTERM": "truecolor"})
        ioctl(self.fd, TIOCSWINSZ, struct.pack("HHHH", 45, 160, 0, 0))
        self.screen = pyte.Screen(160, 45)
        self.stream = pyte.ByteStream(self.screen)
        self.received = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)

    def read(self, wait_s: float) -> float | None:
        """What comes within `wait_s`, and when; None where nothing does."""
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

    def until(self, pattern: str, patience_s: float = 120.0) -> float:
        """Seconds until the screen shows it. Raises TimeoutError."""
        start = time.monotonic()
        while time.monotonic() - start < patience_s:
            self.read(0.05)
            if re.search(pattern, self.text()):
                return time.monotonic() - start
        raise TimeoutError(f"{pattern}:\n{self.text()}")

    def settle(self, quiet_s: float = QUIET_S) -> float | None:
        """Waits for silence; when the last byte came."""
        last = None
        while (at := self.read(quiet_s)) is not None:
            last = at
        return last

    def key(self, key: str) -> float | None:
        """Milliseconds from a key to its settled repaint; None where nothing was painted."""
        while self.read(0.0) is not None:
            pass
        start = time.monotonic()
        os.write(self.fd, key.encode())
        last = None
        while (at := self.read(SETTLED_S if last is not None else 1.0)) is not None:
            last = at
        return None if last is None else 1000 * (last - start)

    def keys(self, keys: str, times: int) -> list[float]:
        took = (self.key(keys[i % len(keys)]) for i in range(times))
        return [ms for ms in took if ms is not None]

    def window(self, seconds: float) -> Window:
        """What the program costs while nobody touches it."""
        cpu, woken, got, start = self._cpu(), self._switches(), self.received, time.monotonic()
        while (left := start + seconds - time.monotonic()) > 0:
            self.read(left)
        took = time.monotonic() - start
        return Window((self._cpu() - cpu) / took, (self.received - got) / took, (self._switches() - woken) / took)

    def quit(self, key: str) -> float:
        """Milliseconds until the program is gone."""
        start = time.monotonic()
        os.write(self.fd, key.encode())
        while os.waitpid(self.pid, os.WNOHANG) == (0, 0):
            self.read(0.002)
        return 1000 * (time.monotonic() - start)

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * TICK_S

    def _switches(self) -> int:
        total = 0
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            found = re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.MULTILINE)
            total += int(found.group(1)) if found else 0
        return total


def rltui(path: Path) -> Terminal:
    return Terminal([sys.executable, "-m", "rltui", str(path)])


def bare() -> Terminal:
    return Terminal([sys.executable, "-c", BARE])


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


def live(folder: Path, seconds: int, behind: int = 200) -> tuple[Window, list[float]]:
    """A log of 12 metrics that gains a row a second: what following it costs, and ms from each row written to its step
    on the screen."""
    log, chance = folder / "metrics.jsonl", random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)

    def row(step: int) -> str:
        data = {name: round(chance.gauss(*LEVELS.get(name, (1.0, 0.05))), 5) for name in METRICS}
        return json.dumps({"step": step, "data": data}) + "\n"

    log.write_text("".join(row(step) for step in range(1, behind + 1)), encoding="utf-8")
    delays: list[float] = []
    with rltui(folder) as terminal, log.open("a", encoding="utf-8") as out:
        terminal.until(rf"step\s+{behind}\b")
        terminal.settle()
        cpu, got, start, woken = terminal._cpu(), terminal.received, time.monotonic(), terminal._switches()
        for i in range(1, seconds + 1):
            while (left := start + i - time.monotonic()) > 0:
                terminal.read(left)
            out.write(row(behind + i))
            out.flush()
            written = time.monotonic()
            while f"step {behind + i}" not in terminal.text() and time.monotonic() - written < 0.9:
                terminal.read(0.01)
            delays.append(1000 * (time.monotonic() - written))
        took = time.monotonic() - start
        return Window(
            (terminal._cpu() - cpu) / took, (terminal.received - got) / took, (terminal._switches() - woken) / took
        ), delays


def percentile(values: list[float], share: float) -> float:
    """Of at least one value."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]


def median(values: list[float]) -> float:
    return statistics.median(values) if values else float("inf")


LEET = {"CPU": 0.10, "key ms": 35.0, "key while loading ms": 152.0, "delay ms": 246.0}
"""`wandb leet` 0.31.0 on another machine: a row a second, a page of charts at 100,000 steps."""
LOADS = 5


class Bench:
    """Each method measures budgets that go together and tells them."""

    def __init__(self, steps: int, seconds: int, inputs: Path) -> None:
        self.steps, self.seconds, self.inputs = steps, seconds, inputs
        self.missed = 0

    def tell(self, id_: str, what: str, value: float, must: float, unit: str = "") -> None:
        self.missed += value > must
        word = "MISSED" if value > must else "ok"
        print(f"{id_:5} {value:8.3g} {unit:6} (must {must:g})  {word:7} {what}", flush=True)

    def both(self, id_: str, what: str, values: list[float], p50: float, p95: float) -> None:
        """Median and 95th percentile of milliseconds."""
        self.tell(id_, f"{what}, p50", median(values), p50, "ms")
        self.tell(id_, f"{what}, p95", percentile(values, 0.95), p95, "ms")

    def idle(self) -> None:
        """P9, P19"""
        with bare() as app:
            app.until("bare-app")
            app.settle()
            bare_quit = app.quit("q")
        with rltui(Path(__file__).resolve().parents[2] / "sample_runs" / "trl-reward-flip") as terminal:
            terminal.until("finished")
            terminal.settle()
            idle = terminal.window(self.seconds)
            quitting = terminal.quit("Q")
        self.tell("P9", "idle, a finished run", 100 * idle.cpu, 0.9, "% CPU")
        self.tell("P9", "the same, wake-ups", idle.wakeups_s, 40, "/s")
        self.tell("P9", "the same, to the terminal", idle.bytes_s, 60, "B/s")
        self.tell("P19", f"quit, of a bare app's {bare_quit:.0f} ms", quitting / bare_quit, 2.0)

    def live(self) -> None:
        """P10, P11, P12"""
        with tempfile.TemporaryDirectory() as folder:
            following, delays = live(Path(folder) / "run", self.seconds)
        self.tell("P10", "a row a second, of leet's CPU (recorded)", following.cpu / LEET["CPU"], 0.3)
        self.tell("P11", "the same, to the terminal", following.bytes_s / 1000, 1.9, "KB/s")
        self.both("P12", "the same, row to screen", delays, 0.4 * LEET["delay ms"], 150)

    def keys(self) -> None:
        """P13"""
        with bare() as app:
            app.until("bare-app")
            app.settle()
            bare_key = median(app.keys("j", 20))
        with rltui(write("verl", self.inputs, self.steps)) as terminal:
            terminal.until(f"step {self.steps // 1000}.{self.steps % 1000:03}.*(finished|state unknown|live|stalled)")
            terminal.settle(2.0)
            terminal.keys("22", 2)
            moving = terminal.keys("jjjjkkkk", 24)
        what = f"key to repaint at {self.steps:,} steps (bare app {bare_key:.1f} ms)"
        self.both("P13", what, moving, LEET["key ms"], 50)

    def loading(self) -> None:
        """P14"""
        took: list[float] = []
        in_time = True
        for _ in range(LOADS):
            with rltui(write("verl", self.inputs, self.steps)) as terminal:
                terminal.until(r"reading\s+[1-9]\d* %")  # the newest values are there: each key moves something
                took += terminal.keys("2jjkk", 15)
                in_time = in_time and "reading" in terminal.text()
        what = "key to repaint while loading" if in_time else "key to repaint around the end of loading"
        self.both("P14", what, took, 0.4 * LEET["key while loading ms"], 151)


BUDGETS = {"idle": ("P9", "P19"), "live": ("P10", "P11", "P12"), "keys": ("P13",), "loading": ("P14",)}


def main() -> int:
    """P9 to P14 and P19. A bare Textual app is measured beside; figures of leet are recorded ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.screen", description="Measures the screen.")
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--inputs", type=Path, default=Path(tempfile.gettempdir()) / "rltui-bench")
    parser.add_argument("ids", nargs="*", metavar="ID", help="budgets to measure, as P14; all where none is named")
    args = parser.parse_args()
    bench = Bench(args.steps, args.seconds, args.inputs)
    for name, ids in BUDGETS.items():
        if not args.ids or set(ids) & set(args.ids):
            getattr(bench, name)()
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())

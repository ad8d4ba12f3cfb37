"""P18: a run over ssh and a link of 200 ms there and back, a row of 60 metrics a second.

The delay from a written line to a frame that holds it, bytes a second on the link (as ssh puts them there), and CPU and
memory of the agent on the far side. Needs sshd.
"""

from __future__ import annotations

import os
import random
import shlex
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from rltui.session import remote
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from tests.bench.result import Result
from tests.bench.setting import Setting
from tests.unit.remote.server import Server, sshd, write_config

DELAY_S = 0.1  # each way
KEYS = [f"{group}/{name}" for group in ("actor", "critic", "response_length", "timing_s", "perf", "rollout")
        for name in ("mean", "max", "min", "loss", "grad_norm", "entropy", "kl", "clipfrac", "lr", "time")]  # fmt: skip


def line(step: int) -> str:
    return f"step:{step} - " + " - ".join(f"{key}:{random.gauss(1, 0.1):.6f}" for key in KEYS) + "\n"


def agent(server: Server) -> tuple[float, float]:
    """(CPU seconds, memory in MB at its highest) of the agent."""
    for pid in server.sessions():
        proc = Path(f"/proc/{pid}")
        if b"rltui-agent" in (proc / "cmdline").read_bytes().split(b"\0")[-3:]:
            fields = (proc / "stat").read_text().rpartition(")")[2].split()
            peak = next(x for x in (proc / "status").read_text().splitlines() if x.startswith("VmHWM"))
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(peak.split()[1]) / 1024
    return 0.0, 0.0


def measure(seconds: int, root: Path) -> dict[str, float]:
    log, counts = root / "run" / "train.log", root / "counts"
    log.parent.mkdir()
    log.write_text("".join(map(line, range(1, 1001))))
    with sshd(root / "sshd") as server:
        words = [sys.executable, str(Path(__file__).with_name("relay.py")), "%h", "%p", str(DELAY_S), str(counts)]
        write_config(server.root, server.port)
        with server.config.open("a") as config:
            config.write(f" ProxyCommand {shlex.join(words)}\n")
        wrapper = root / "bin" / "ssh"
        wrapper.parent.mkdir()
        wrapper.write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F {server.config} "$@"\n')
        wrapper.chmod(0o755)
        os.environ["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"
        begun = time.monotonic()
        live = LiveRun(locate([server.argument(log)])[0])
        frame = live.next_frame(1.0)
        while frame is None or not frame.loading.done:
            frame = live.next_frame(1.0)
        out = {"first_whole_frame_s": time.monotonic() - begun, "history_mb": log.stat().st_size / 1e6}
        written: dict[int, float] = {}
        stopped = threading.Event()

        def write() -> None:
            step = 1000
            with log.open("a") as file:
                while not stopped.wait(1.0):
                    step += 1
                    file.write(line(step))
                    file.flush()
                    written[step] = time.monotonic()

        threading.Thread(target=write, daemon=True).start()
        delays, seen = [], 1000
        while len(delays) < 3:
            seen = take(live, seen, written, delays)
        delays.clear()
        up, down = map(int, counts.read_text().split())
        (cpu, _), start = agent(server), time.monotonic()
        while time.monotonic() - start < seconds:
            seen = take(live, seen, written, delays)
        spent = time.monotonic() - start
        up_now, down_now = map(int, counts.read_text().split())
        cpu_now, memory = agent(server)
        stopped.set()
        out |= {
            "delay_p50_s": statistics.median(delays),
            "delay_max_s": max(delays),
            "row_bytes": len(line(1)),
            "up_bytes_per_s": (up_now - up) / spent,
            "down_bytes_per_s": (down_now - down) / spent,
            "agent_cpu_percent": 100 * (cpu_now - cpu) / spent,
            "agent_memory_mb": memory,
        }
        live.close()
        live.opened.close()
        remote.close_all()
    return {name: round(value, 3) for name, value in out.items()}


def take(live: LiveRun, seen: int, written: dict[int, float], delays: list[float]) -> int:
    frame = live.next_frame(1.0)
    rows = 0 if frame is None else frame.run.rows
    if rows > seen:
        delays.append(time.monotonic() - written[rows])
        return rows
    return seen


def remote_run(of: Setting) -> Iterator[Result]:
    limits = (
        ("P18", "remote, 200 ms there and back: row to frame, p50", "delay_p50_s", 1.0, 0.6, "s"),
        ("P18l", "the same, on the link, both ways", "link_kb_per_s", 3.0, 1.0, "KB/s"),
        ("P18c", "the same, CPU of the far side", "agent_cpu_percent", 0.5, 0.5, "% CPU"),
        ("P18m", "the same, memory of the far side", "agent_memory_mb", 25, 25, "MB"),
    )
    missing = [name for name in ("/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen") if not Path(name).exists()]
    if missing:
        for id_, what, _, must, aim, unit in limits:
            yield Result(id_, what, None, must, aim, unit, why=f"no {missing[0]}")
        return
    with tempfile.TemporaryDirectory() as root:
        found = measure(of.seconds, Path(root))
    found["link_kb_per_s"] = (found["up_bytes_per_s"] + found["down_bytes_per_s"]) / 1000
    for id_, what, name, must, aim, unit in limits:
        yield Result(id_, what, found[name], must, aim, unit)


BENCHES = {("P18", "P18l", "P18c", "P18m"): remote_run}

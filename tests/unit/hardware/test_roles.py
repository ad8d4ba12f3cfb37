"""Processes by what they are for, and whether they belong to the run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rltui.hardware.base import HostProcess
from rltui.hardware.gpu import is_zombie
from rltui.hardware.processes import Belonging, RoleWatch, role_of

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
WAIT = "import sys; print(1, flush=True); sys.stdin.read()"


@contextmanager
def child(*words: str, cwd: Path | None = None, code: str = WAIT) -> Iterator[subprocess.Popen[str]]:
    """A process that waits until it is let go, in a session of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    try:
        yield process
    finally:
        process.communicate()


@pytest.mark.parametrize(
    ("command", "role"),
    [
        ("python -m verl.model_merger merge --backend fsdp", ("merger", True)),
        ("python3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8", ("trainer", False)),
        ("hf upload me/model ckpt", ("uploader", True)),
        ("python -m vllm.entrypoints.openai.api_server --model m", ("sampler", False)),
        ("ray::WorkerDict.actor_rollout_generate_sequences", ("trainer", False)),
        ("bash -c python -m verl.model_merger merge", None),
        ("vim verl/model_merger.py", None),
        ("python -m rltui main_ppo.log", None),
        ("/usr/bin/sshd -D", None),
    ],
)
def test_roles(command: str, role: tuple[str, bool] | None) -> None:
    assert role_of(command) == role


def test_a_merger_runs_beside_the_trainer(tmp_path: Path) -> None:
    """What both are is told from a made-up /proc: no process of this machine is asked."""
    for pid, command in ((10, "python\0-m\0verl.trainer.main_ppo\0"), (11, "python\0-m\0verl.model_merger\0merge\0")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "cmdline").write_bytes(command.encode())
        (tmp_path / str(pid) / "statm").write_text(f"9 {pid * 100000} 0")
    (tmp_path / "12").mkdir()  # ended in the meantime
    merger, trainer = RoleWatch(proc=str(tmp_path)).look()
    assert (merger.role, merger.aside, trainer.role, trainer.aside) == ("merger", True, "trainer", False)
    assert (merger.rss_gb or 0) > (trainer.rss_gb or 0) > 0


@linux
def test_a_real_process_that_poses_as_a_merger_is_seen_and_is_foreign(tmp_path: Path) -> None:
    with child("verl.model_merger", cwd=tmp_path) as merger:
        elsewhere = RoleWatch(Belonging(str(tmp_path / "run"), lambda: (os.getpid(),)))
        assert one(elsewhere, merger.pid).ours is True, "a child of a process of the run"
        here = RoleWatch(Belonging(str(tmp_path), lambda: ()))
        assert one(here, merger.pid).ours is True, "works in the run's directory"
        with child("main_ppo") as trainer:
            foreign = RoleWatch(Belonging(str(tmp_path / "run"), lambda: (trainer.pid,)))
            seen = one(foreign, merger.pid)
            assert (seen.role, seen.aside, seen.ours) == ("merger", True, False)
            assert one(foreign, trainer.pid).ours is True
    assert all(p.pid != merger.pid for p in here.look())


@linux
def test_a_process_that_writes_into_the_run_belongs_to_it(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    with child(
        "main_ppo", code=f"import sys; f = open({str(log)!r}, 'w'); print(1, flush=True); sys.stdin.read()"
    ) as p:
        assert Belonging(str(tmp_path), lambda: ())(p.pid) is True
        assert Belonging(str(tmp_path / "other"), lambda: ())(p.pid) is None, "a trainer: Ray may have started it"
    with child("evaluate", cwd=tmp_path) as p:
        assert Belonging(str(tmp_path / "other"), lambda: ())(p.pid) is False
    assert Belonging(str(tmp_path), lambda: ())(p.pid) is None, "gone"


@linux
def test_a_zombie_is_told_from_one_that_is_gone() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    wait_until(lambda: bool(is_zombie(process.pid)))
    process.wait()
    assert is_zombie(process.pid) is None
    assert is_zombie(os.getpid()) is False


def one(watch: RoleWatch, pid: int) -> HostProcess:
    return next(p for p in watch.look() if p.pid == pid)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 180
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)

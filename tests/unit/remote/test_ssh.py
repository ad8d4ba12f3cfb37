"""Runs followed through a real sshd: the same as here, through cuts, with ssh's own words where it fails."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.cli import main
from rltui.discovery.found import NotARun
from rltui.report.build import build
from rltui.report.to_json import to_json
from rltui.session import remote
from rltui.session.live import LiveRun
from rltui.session.locate import locate
from rltui.session.run_reader import RunReader
from rltui.sources.local import LocalPlace
from rltui.sources.ssh.command import agent_command
from rltui.sources.ssh.place import SshPlace
from rltui.sources.targets import SshTarget

from .conftest import use_config
from .server import Server, sshd, until, write_config

LINE = "step:{step} - actor/entropy_loss:{entropy:.4f} - actor/pg_clipfrac:0.01 - critic/score/mean:{score:.4f}\n"
NOW = 1_795_000_000.0


def log_line(step: int) -> str:
    return LINE.format(step=step, entropy=1.5 - step / 1000, score=step / 500)


def place_of(server: Server, **pauses: float) -> SshPlace:
    return SshPlace("loop", lambda: agent_command(SshTarget("loop", "")), **pauses)


@contextlib.contextmanager
def opened(place: SshPlace) -> Iterator[SshPlace]:
    try:
        assert place.open().state == "connected", place.link().text
        yield place
    finally:
        place.close()


def test_a_remote_run_gives_the_same_report(user_ssh: Server, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "train.log").write_text("".join(map(log_line, range(1, 200))))
    reports = []
    for argument in (str(run), user_ssh.argument(run)):
        (found,) = locate([argument])
        one = RunReader(found)
        one.load()
        reports.append(to_json(build(one.frame(NOW))))
        one.close()
    assert reports[0] == reports[1]
    assert '"rows":199' in reports[0].replace(" ", "")


def test_remote_runs_are_listed_and_compared_beside_local_ones(
    user_ssh: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.log").write_text("".join(map(log_line, range(1, 200))))
    both = [str(tmp_path / "near"), user_ssh.argument(tmp_path / "far")]
    assert main(["compare", *both, "--format", "json"]) == 0
    near, far = sorted(json.loads(capsys.readouterr().out)["runs"], key=lambda run: run["id"] != "near")
    assert (near["id"], far["id"]) == ("near", "far")
    same = ("group", "decision", "best", "se", "first", "last", "at_equal")
    assert [near[key] for key in same] == [far[key] for key in same]
    assert main(["runs", *both, "--format", "json"]) == 0
    rows = {row["id"]: row for row in json.loads(capsys.readouterr().out)["runs"]}
    assert rows["far"]["host"]
    assert not rows["near"]["host"]
    assert rows["far"]["last_step"] == rows["near"]["last_step"] == 199


def test_a_growing_remote_run_gives_the_same_frames(user_ssh: Server, tmp_path: Path) -> None:
    log = tmp_path / "run" / "train.log"
    log.parent.mkdir()
    log.write_text("".join(map(log_line, range(1, 50))))
    lives = [LiveRun(locate([argument])[0]) for argument in (str(log), user_ssh.argument(log))]
    try:
        newest = {}

        def steps() -> set[int]:
            for live in lives:
                frame = live.next_frame(0.05)
                newest[live] = frame or newest.get(live)
            return {f.run.rows if f and f.loading.done else 0 for f in newest.values()}

        until(lambda: steps() == {49})
        with log.open("a") as file:
            for step in range(50, 60):
                file.write(log_line(step))
                file.flush()
        until(lambda: steps() == {59})
        reports = [json.loads(to_json(build(live.opened.frame(NOW)))) for live in lives]
        here, there = ({k: report[k] for k in ("run", "config", "metrics", "phases", "findings")} for report in reports)
        assert here == there  # the far side's hardware is sampled: more checks run there
        until(lambda: steps() and all(f is not None and f.link for live, f in newest.items() if live is lives[1]))
        until(lambda: lives[1]._sampler is not None and lives[1]._sampler.latest() is not None)
    finally:
        for live in lives:
            live.close()
            live.opened.close()


@pytest.mark.long
@pytest.mark.parametrize("pythonless", [False, True], ids=["agent", "shell"])
def test_cuts_lose_and_repeat_nothing(
    pythonless: bool, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ssh killed here, its session killed there, the agent killed with -9, at random moments of a growing file."""
    with contextlib.ExitStack() as stack:
        if pythonless:
            tools = tmp_path / "tools"
            tools.mkdir()
            for tool in ("sh", "stat", "tail", "head", "base64"):
                (tools / tool).symlink_to(str(shutil.which(tool)))
            server = stack.enter_context(sshd(tmp_path / "sshd", str(tools)))
            monkeypatch.setattr("rltui.sources.ssh.shell._POLL_S", 0.05)
        use_config(server.config, tmp_path, monkeypatch)
        chance = random.Random(7)
        log = tmp_path / "grow.log"
        log.write_bytes(chance.randbytes(100_000))
        stopped = threading.Event()

        def write() -> None:
            with log.open("ab", buffering=0) as file:
                while not stopped.wait(0.002):
                    file.write(chance.randbytes(chance.randrange(1, 3000)))

        writer = threading.Thread(target=write)
        writer.start()
        far = stack.enter_context(opened(place_of(server, first_pause_s=0.01, longest_pause_s=0.02)))
        follower, have, resets = far.follow(str(log)), bytearray(), 0

        def read() -> int:
            nonlocal resets
            delta = follower.read()
            assert delta.offset == len(have)
            have.extend(delta.data)
            resets += delta.reset
            return len(have)

        try:
            for cut in range(6 if pythonless else 12):
                before = read()
                until(lambda before=before: read() > before)
                until_then = time.monotonic() + chance.random() * 0.03
                while time.monotonic() < until_then:
                    read()
                sessions = server.sessions()
                victim = far.pid if cut % 3 == 0 or not sessions else sessions[0] if cut % 3 == 1 else sessions[-1]
                assert victim is not None
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim, signal.SIGKILL)
        finally:
            stopped.set()
            writer.join()
        until(lambda: read() == log.stat().st_size)
        assert bytes(have) == log.read_bytes()
        assert resets == 0
        assert far.link().state == "connected"
        far.close()
        until(lambda: not server.sessions())


def test_the_frame_says_that_the_link_is_down_and_then_up(user_ssh: Server, tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(map(log_line, range(1, 20))))
    (found,) = locate([user_ssh.argument(log)])
    place = found.place
    assert isinstance(place, SshPlace)
    live = LiveRun(found)
    try:
        states: list[str] = []

        def look() -> list[str]:
            frame = live.next_frame(0.2)
            if frame is not None and frame.link is not None and frame.loading.done:
                states.append(frame.link.state)
            return states

        until(lambda: look()[-1:] == ["connected"])
        assert place.pid is not None
        os.kill(place.pid, signal.SIGKILL)
        until(lambda: look()[-1:] == ["reconnecting"])
        until(lambda: look()[-1:] == ["connected"])
    finally:
        live.close()
        live.opened.close()


def test_no_agent_is_left(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither after a clean end nor after a death of rltui itself."""
    use_config(server.config, tmp_path, monkeypatch)
    until(lambda: not server.sessions())
    script = (
        "import os, sys, time\nfrom rltui.sources.ssh.place import SshPlace\n"
        "from rltui.sources.ssh.command import agent_command\nfrom rltui.sources.targets import SshTarget\n"
        "place = SshPlace('x', lambda: agent_command(SshTarget('loop', '')))\nplace.open()\n"
        "place.follow('/etc/hostname').read(); print(place.link().state, flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"connected\n"
        assert server.sessions()
        other.kill()
    until(lambda: not server.sessions())
    with opened(place_of(server)) as place:
        assert server.sessions()
        place.close()
        until(lambda: not server.sessions())


def test_a_jump_host_and_a_master_of_the_user_work(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (server.root / "jump").mkdir(exist_ok=True)
    jump = server.root / "jump_config"
    base = server.config.read_text()
    jump.write_text(
        base + base.replace("Host loop", "Host behind") + f" ProxyCommand ssh -F {server.config} -W %h:%p loop\n"
    )
    use_config(jump, tmp_path, monkeypatch)
    (tmp_path / "a.log").write_text(log_line(1))
    try:
        (found,) = locate([f"behind:{tmp_path}/a.log"])
        assert found.place.name == "behind"
    finally:
        remote.close_all()


def failing(argument: str) -> str:
    with pytest.raises(NotARun) as refused:
        locate([argument])
    return str(refused.value)


def test_errors_come_in_sshs_own_words(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    for name in ("user_key", "known_hosts"):
        shutil.copy(server.root / name, strange / name)
    write_config(strange, server.port)
    use_config(strange / "ssh_config", tmp_path, monkeypatch)

    (strange / "known_hosts").write_text("")
    assert "Host key verification failed" in failing("loop:/tmp")

    other = strange / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)], check=True)
    key = " ".join((strange / "other.pub").read_text().split()[:2])
    (strange / "known_hosts").write_text(f"[127.0.0.1]:{server.port} {key}\n")
    words = failing("loop:/tmp")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in words
    assert "Host key verification failed" in words

    shutil.copy(server.root / "known_hosts", strange / "known_hosts")
    shutil.copy(other, strange / "user_key")
    words = failing("loop:/tmp")
    assert "Permission denied (publickey)" in words
    assert words.startswith("loop:/tmp: ")

    write_config(strange, 1)
    assert "Connection refused" in failing("loop:/tmp")
    assert "resolve" in failing("no-such-host.invalid:/tmp")
    assert "cannot be the name of a host" in failing("ssh://-oProxyCommand=x/tmp")


def test_a_path_that_is_not_there(user_ssh: Server, tmp_path: Path) -> None:
    assert failing(user_ssh.argument("/no/such")) == "loop:/no/such: /no/such does not exist"
    (tmp_path / "empty").mkdir()
    assert "no training log recognised" in failing(user_ssh.argument(tmp_path / "empty"))


def test_relative_paths_begin_at_home_and_local_paths_win(
    user_ssh: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop:here.log").write_text(log_line(1))
    monkeypatch.chdir(tmp_path)
    assert isinstance(locate(["loop:here.log"])[0].place, LocalPlace)
    home = Path.home()
    (found,) = locate([f"loop:{os.path.relpath(tmp_path / 'loop:here.log', home)}"])
    assert isinstance(found.place, SshPlace)


def test_ssh_asks_on_the_terminal_before_anything_else(server: Server, tmp_path: Path) -> None:
    """An unknown host key: ssh asks on the terminal of rltui, and what follows goes through that connection."""
    asking = tmp_path / "asking"
    asking.mkdir()
    shutil.copy(server.root / "user_key", asking / "user_key")
    (asking / "known_hosts").write_text("")
    write_config(asking, server.port)
    config = (asking / "ssh_config").read_text().replace("StrictHostKeyChecking yes", "StrictHostKeyChecking ask")
    (asking / "ssh_config").write_text(config)
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {asking}/ssh_config -o ControlPersist=1 "$@"\n')
    wrapper.chmod(0o755)
    (tmp_path / "a.log").write_text(log_line(1))
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PATH"] = f"{wrapper.parent}:{os.environ['PATH']}"
        os.execv(
            sys.executable, [sys.executable, "-m", "rltui", "report", f"loop:{tmp_path}/a.log", "-o", f"{tmp_path}/out"]
        )
    said = b""
    try:
        while select.select([terminal], [], [], 20)[0]:
            try:
                got = os.read(terminal, 4096)
            except OSError:
                break
            if not got:
                break
            said += got
            if said.endswith(b"(yes/no/[fingerprint])? "):
                os.write(terminal, b"yes\n")
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 0, said
    assert b"can't be established" in said
    assert "rltui" in (tmp_path / "out").read_text() or (tmp_path / "out").stat().st_size > 100
    until(lambda: not server.sessions())

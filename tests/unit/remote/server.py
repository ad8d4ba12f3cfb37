"""A real sshd on loopback with keys of its own, and an ssh on the PATH that knows only them."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

SSHD = Path("/usr/sbin/sshd")
PYTHON_PATH = "/usr/bin:/bin"
PATIENCE_S = 180.0


@dataclass
class Server:
    """A running sshd. `argument(path)` is what a user would type; ssh finds the keys through `config`."""

    root: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def config(self) -> Path:
        return self.root / "ssh_config"

    def argument(self, path: object) -> str:
        return f"loop:{path}"

    def sessions(self) -> list[int]:
        """Process ids of what sshd runs for its connections, and of what those run."""
        return descendants(self.process.pid)


def descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


@contextlib.contextmanager
def sshd(root: Path, path: str = PYTHON_PATH, more: str = "") -> Iterator[Server]:
    """Starts sshd as the present user; `path` is the PATH that sessions get, `more` further lines of sshd_config."""
    root.mkdir(parents=True, exist_ok=True)
    root.chmod(0o700)
    for name in ("host_key", "user_key"):
        if not (root / name).exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(root / name)], check=True)
    (root / "authorized_keys").write_text((root / "user_key.pub").read_text())
    home = root / "home"  # no start files of the shell, no keys of the user
    home.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (root / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {root}/host_key\nPidFile none\n"
        f"AuthorizedKeysFile {root}/authorized_keys\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
        f"KbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 100\nMaxSessions 100\nPrintMotd no\n"
        f"SetEnv PATH={path} HOME={home}\n{more}\n"
    )
    host_key = " ".join((root / "host_key.pub").read_text().split()[:2])
    (root / "known_hosts").write_text(f"[127.0.0.1]:{port} {host_key}\n")
    write_config(root, port)
    os.makedirs("/run/sshd", exist_ok=True) if os.getuid() == 0 else None
    log = (root / "sshd.log").open("wb")
    process = subprocess.Popen(
        [str(SSHD), "-D", "-e", "-f", str(root / "sshd_config")], stderr=log, stdin=subprocess.DEVNULL
    )
    try:
        until(lambda: _answers(port))
        yield Server(root, port, process)
    finally:
        for pid in [*descendants(process.pid), process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        log.close()


def write_config(root: Path, port: int, host: str = "loop", more: str = "") -> None:
    (root / "ssh_config").write_text(
        f"{more}Host {host}\n HostName 127.0.0.1\n Port {port}\n IdentityFile {root}/user_key\n IdentitiesOnly yes\n"
        f" UserKnownHostsFile {root}/known_hosts\n GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n"
    )


def until(condition: Callable[[], object]) -> None:
    """Waits until it holds, however busy the machine is; AssertionError if it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltui.session import remote

from .server import SSHD, Server, sshd


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One sshd for all tests."""
    if not SSHD.exists() or shutil.which("ssh") is None:
        pytest.skip("no sshd or no ssh here: install openssh-server and openssh-client")
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture
def user_ssh(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """`ssh` on the PATH reads the server's configuration, as ~/.ssh/config of a user would be read."""
    use_config(server.config, tmp_path, monkeypatch)
    yield server
    remote.close_all()


def use_config(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = tmp_path / "bin" / "ssh"
    wrapper.parent.mkdir(exist_ok=True)
    wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {config} "$@"\n')
    wrapper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{wrapper.parent}:{os.environ['PATH']}")

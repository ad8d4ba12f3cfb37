"""What a RUN argument means, and what cannot be meant."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rltui.sources.ssh.command import agent_command
from rltui.sources.targets import BadTarget, SlurmTarget, SshTarget, parse


@pytest.mark.parametrize(
    ("argument", "target"),
    [
        ("gpu1:runs/a", SshTarget("gpu1", "runs/a")),
        ("me@gpu1:/data/run 1", SshTarget("gpu1", "/data/run 1", "me")),
        ("gpu1:", SshTarget("gpu1", "")),
        ("gpu1:~/runs", SshTarget("gpu1", "runs")),
        ("gpu1:~", SshTarget("gpu1", "")),
        ("[fe80::1%eth0]:/x", SshTarget("fe80::1%eth0", "/x")),
        ("ssh://gpu1/data", SshTarget("gpu1", "/data")),
        ("ssh://me@gpu1:2222/~/runs", SshTarget("gpu1", "runs", "me", 2222)),
        ("ssh://[::1]:22/x", SshTarget("::1", "/x", None, 22)),
        ("slurm:", SlurmTarget(None)),
        ("slurm:4711_3", SlurmTarget("4711_3")),
        ("runs/a", None),
        ("/data/a:b", None),
        ("./a:b", None),
    ],
)
def test_what_is_meant(argument: str, target: object) -> None:
    assert parse(argument) == target


@pytest.mark.parametrize(
    "argument",
    [
        "-oProxyCommand=x:path",
        "ssh://-oProxyCommand=touch%20x/path",
        "ssh://-l@host/path",
        "-u@host:path",
        "ssh://host:99999/x",
        "ssh://host:x/x",
        "ssh:///x",
        "ssh://host",
        "ssh://a b/x",
        "host:a\0b",
        "slurm:-1",
        "slurm:1;ls",
    ],
)
def test_what_cannot_be_meant_never_reaches_ssh(argument: str) -> None:
    target: object = None
    with contextlib.suppress(BadTarget):
        target = parse(argument)
    assert target is None


@given(st.text(max_size=40))
def test_any_text_is_a_target_a_path_or_refused(argument: str) -> None:
    try:
        target = parse(argument)
    except BadTarget:
        return
    if isinstance(target, SshTarget):
        assert not target.host.startswith("-")
        command = agent_command(target)
        assert command[command.index("--") + 1] == target.host

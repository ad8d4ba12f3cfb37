"""GPUs of all nodes of a job in one sample; each node is asked for the run's disks and the processes that matter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from rltui.session.remote_hardware import SILENT_S, RemoteSampler
from rltui.sources.ssh.place import SshPlace

from .server import until

Taken = Callable[[dict[str, Any]], None]


class Node:
    """A connected node that samples when it is told to."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.asked: tuple[Any, ...] = ()
        self.taken: Taken | None = None

    def sample(
        self, every_s: float, disk: str | None, taken: Taken, disks: Mapping[str, str], words: Sequence[str]
    ) -> None:
        self.asked = every_s, disk, dict(disks), words
        self.taken = taken

    def no_samples(self, taken: Taken) -> None:
        self.taken = None

    def send(self, time: float, power: float, note: str = "") -> None:
        assert self.taken is not None
        gpus = [{"index": i, "power_w": power, "throttle": 0x40, "xids": [79]} for i in range(2)]
        host = {"ram_used_gb": power, "pressure_io": 0.2, "disks": [{"what": "log", "path": "/x", "free_gb": 1.0}]}
        self.taken({"time": time, "gpus": [] if note else gpus, "host": host, "note": note})


def test_gpus_of_all_nodes_and_what_each_is_asked_for() -> None:
    nodes = {name: Node(name) for name in ("node1", "node2", "node3")}
    sampler = RemoteSampler(lambda: cast("Mapping[str, SshPlace]", nodes), "/run", 0.5)
    sampler.attend({"log": "/run/logs"})
    sampler.start()
    until(lambda: all(node.taken for node in nodes.values()))
    every, disk, disks, words = nodes["node2"].asked
    assert (every, disk) == (0.5, "/run")
    assert disks["log"] == "/run/logs"
    assert "Ray" in disks
    assert "model_merger" in words
    nodes["node2"].send(1.0, 200.0)
    assert sampler.latest() is None, "the first node's clock rules"
    nodes["node3"].send(1.1, 0.0, note="no NVIDIA driver here")
    nodes["node1"].send(2.0, 100.0)
    sample = sampler.latest()
    assert sample is not None
    assert [(g.node, g.index, g.power_w) for g in sample.gpus] == [
        *[("node1", i, 100.0) for i in range(2)],
        *[("node2", i, 200.0) for i in range(2)],
    ]
    assert sample.gpus[0].throttle == ("thermal (hardware)",)
    assert sample.gpus[0].xids == (79,)
    assert sample.note == "no NVIDIA driver here"
    assert sample.host is not None
    assert (sample.host.ram_used_gb, sample.host.pressure_io) == (100.0, 0.2)
    assert [d.what for d in sample.host.disks] == ["log"]
    assert [(name, host.ram_used_gb) for name, host in sample.others] == [("node2", 200.0), ("node3", 0.0)]
    sampler.stop()
    assert all(node.taken is None for node in nodes.values())


def test_a_node_that_falls_silent_is_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("rltui.session.remote_hardware.clock", SimpleNamespace(monotonic=lambda: now[0]))
    nodes = {name: Node(name) for name in ("node1", "node2")}
    sampler = RemoteSampler(lambda: cast("Mapping[str, SshPlace]", nodes), "/run", 0.5)
    sampler.start()
    until(lambda: all(node.taken for node in nodes.values()))
    nodes["node2"].send(1.0, 200.0)
    nodes["node1"].send(1.0, 100.0)
    now[0] += SILENT_S + 1
    nodes["node1"].send(32.0, 110.0)
    sample = sampler.latest()
    assert sample is not None
    assert {g.node for g in sample.gpus} == {"node1"}
    assert sample.others == ()
    assert sample.note == "node2 sends no samples"
    nodes["node2"].send(33.0, 210.0)
    now[0] += SILENT_S - 1
    nodes["node2"].send(62.0, 220.0)
    now[0] += 2
    nodes["node2"].send(64.0, 230.0)
    sample = sampler.latest()
    assert sample is not None
    assert (sample.time, {g.node for g in sample.gpus}) == (64.0, {"node2"}), "the next node takes the lead"
    assert sample.note == "node1 sends no samples"
    sampler.stop()

"""Hardware of remote machines, sampled there and sent here. It has the same methods as the local `Sampler`."""

from __future__ import annotations

import atexit
import time as clock
from collections.abc import Callable, Mapping
from functools import partial
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rltui.hardware.base import HardwareHistory, HardwareSample
from rltui.hardware.host import RAY_DIRECTORY
from rltui.hardware.processes import role_words
from rltui.hardware.remote import sample_from
from rltui.prose import joined
from rltui.sources.slurm import Job, SlurmError, node_command, node_names
from rltui.sources.ssh.place import SshPlace

if TYPE_CHECKING:
    from rltui.discovery.found import Found

MAX_NODES = 32
SILENT_S = 30.0
"""A node that sent nothing for this long is left out, as its last values are old. The screen shows that."""


class RemoteSampler:
    """Samples one or several nodes. One sample holds the GPUs and hosts of all nodes, at the time of the first node
    that sends.

    `places` returns node name -> connected place. It is called once, in a thread, and may be slow. `disk_path`: any
    remote path on the file system whose free space counts; None for no such file system.
    """

    def __init__(
        self, places: Callable[[], Mapping[str, SshPlace]], disk_path: str | None, interval_s: float = 2.0
    ) -> None:
        self._find = places
        self._places: dict[str, SshPlace] = {}
        self._disk_path = disk_path
        self._disks: Mapping[str, str] = {}
        self._interval_s = interval_s
        self._takers: dict[str, Callable[[dict[str, Any]], None]] = {}
        self._newest: dict[str, HardwareSample] = {}
        self._heard: dict[str, float] = {}
        self._history = HardwareHistory()
        self._lock = Lock()
        self._started = self._stopped = False

    def attend(self, disks: Mapping[str, str]) -> None:
        """Takes purpose -> directory of the run. Call it before `start`."""
        self._disks = {**disks, "Ray": RAY_DIRECTORY}

    def start(self) -> None:
        """Starts sampling in a thread. Does nothing if it already runs."""
        if not self._started:
            self._started = True
            Thread(target=self._begin, name="rltui-remote-hardware", daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            takers = dict(self._takers)
        for node, taker in takers.items():
            self._places[node].no_samples(taker)

    def latest(self) -> HardwareSample | None:
        """The newest sample; None before the first."""
        with self._lock:
            return self._history.samples[-1] if self._history.samples else None

    def history(self) -> HardwareHistory:
        """A copy of the samples so far, of bounded length."""
        with self._lock:
            return HardwareHistory(self._history.limit, list(self._history.samples))

    def _begin(self) -> None:
        found = self._find()
        with self._lock:
            if self._stopped:
                return
            self._places = dict(list(found.items())[:MAX_NODES])
            self._takers = {node: partial(self._take, node) for node in self._places}
            self._heard = dict.fromkeys(self._places, clock.monotonic())
        for node, place in self._places.items():
            place.sample(self._interval_s, self._disk_path, self._takers[node], self._disks, role_words())

    def _take(self, node: str, values: dict[str, Any]) -> None:
        sample = sample_from(values, node)
        if sample is None:
            return
        with self._lock:
            self._newest[node] = sample
            self._heard[node] = now = clock.monotonic()
            sending = [name for name, heard in self._heard.items() if now - heard < SILENT_S]
            if node == sending[0]:
                nodes = {name: self._newest[name] for name in sending if name in self._newest}
                notes = [one.note for one in nodes.values() if one.note]
                notes += [f"{name} sends no samples" for name in self._heard if name not in sending]
                gpus = tuple(gpu for one in nodes.values() for gpu in one.gpus)
                others = tuple((name, one.host) for name, one in nodes.items() if name != node and one.host is not None)
                self._history.add(replace(sample, gpus=gpus, note=joined(dict.fromkeys(notes)), others=others))


def remote_sampler(found: Found) -> RemoteSampler | None:
    """A sampler for the machine that a run is on, or for the nodes of its Slurm job; None for a run on this machine. It
    is not started."""
    place, root = found.place, found.candidate.root
    if isinstance(place, SshPlace):
        return RemoteSampler(lambda: {place.name: place}, root)
    job = found.job
    if job is not None and job.has_nodes:
        return RemoteSampler(lambda: _node_places(job), root)
    return None


def _node_places(job: Job) -> dict[str, SshPlace]:
    """A place for every node of a running job, through `srun --overlap`. Nodes that cannot be reached are left out."""
    try:
        names = node_names(job)
    except SlurmError:
        return {}
    found: dict[str, SshPlace] = {}
    for name in names[:MAX_NODES]:
        place = SshPlace(name, partial(node_command, job, name))
        if place.open().state == "connected":
            found[name] = place
            atexit.register(place.close)
    return found

"""Makes samples from what the agent on a remote machine measured. The agent is untrusted: every value is checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from rltui.hardware.base import DiskSample, GpuProcess, GpuSample, HardwareSample, HostProcess, HostSample
from rltui.hardware.gpu import throttle_words
from rltui.hardware.processes import may_be_ours, role_of
from rltui.text import clean

_GPU = (
    *("memory_used_gb", "memory_total_gb", "power_w", "power_limit_w", "util", "temp_c"),
    *("sm_clock_mhz", "sm_clock_max_mhz"),
)
_HOST = (
    *("ram_used_gb", "ram_total_gb", "cpu", "load1", "disk_free_gb", "disk_total_gb"),
    *("swap_used_gb", "swap_total_gb", "shm_used_gb", "shm_total_gb"),
    *("pressure_cpu", "pressure_memory", "pressure_io"),
)
_LIMIT = 64  # GPUs of a node, processes of a GPU, disks


def sample_from(values: Mapping[str, Any], node: str) -> HardwareSample | None:
    """One sample of `node`; None if the time is missing. Any other value of a wrong kind becomes None."""
    time = _number(values.get("time"))
    if time is None:
        return None
    host = values.get("host")
    known = {one["pid"]: one for one in _mappings(values.get("processes")) if _integer(one.get("pid")) is not None}
    own = {one.get("user") for one in known.values() if one.get("ours") is True}
    for one in known.values():
        if one.get("ours") is False and one.get("user") in own and may_be_ours(_text(one.get("command")) or ""):
            one["ours"] = None
    found = [gpu for gpu in _mappings(values.get("gpus")) if _integer(gpu.get("index")) is not None]
    return HardwareSample(
        time,
        tuple(_gpu(gpu, node, known) for gpu in found),
        _host(host, known) if isinstance(host, dict) else None,
        _text(values.get("note")) or "",
    )


def _gpu(values: Mapping[str, Any], node: str, known: Mapping[int, Mapping[str, Any]]) -> GpuSample:
    processes = []
    for process in _mappings(values.get("processes")):
        pid = _integer(process.get("pid"))
        if pid is not None:
            of = known.get(pid, {})
            who = _text(of.get("user")), _text(of.get("command")), _truth(of.get("ours")), _truth(of.get("zombie"))
            processes.append(GpuProcess(pid, _number(process.get("memory_gb")), *who))
    numbers: dict[str, Any] = {name: _number(values.get(name)) for name in _GPU}
    xids = values.get("xids")
    return GpuSample(
        node,
        values["index"],
        _text(values.get("name")),
        **numbers,
        processes=tuple(sorted(processes, key=lambda p: (-(p.memory_gb or 0.0), p.pid))),
        throttle=throttle_words(_integer(values.get("throttle"))),
        ecc_uncorrected=_integer(values.get("ecc_uncorrected")),
        xids=tuple(x for x in xids[:_LIMIT] if _integer(x) is not None) if isinstance(xids, list) else None,
        mig=_truth(values.get("mig")),
        lost=values.get("lost") is True,
    )


def _host(values: Mapping[str, Any], known: Mapping[int, Mapping[str, Any]]) -> HostSample:
    numbers: dict[str, Any] = {name: _number(values.get(name)) for name in _HOST}
    disks = (
        DiskSample(what, path, _number(disk.get("free_gb")), _number(disk.get("total_gb")))
        for disk in _mappings(values.get("disks"))
        if (what := _text(disk.get("what"))) and (path := _text(disk.get("path")))
    )
    return HostSample(
        **numbers,
        cpus=_integer(values.get("cpus")),
        limited_by=_text(values.get("limited_by")),
        disks=tuple(disks),
        processes=tuple(_with_roles(known)),
    )


def _with_roles(known: Mapping[int, Mapping[str, Any]]) -> Iterator[HostProcess]:
    for pid, values in known.items():
        command = _text(values.get("command"))
        found = role_of(command) if command else None
        if found is not None:
            yield HostProcess(
                pid, found[0], command, _number(values.get("rss_gb")), _truth(values.get("ours")), found[1]
            )


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:_LIMIT] if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return float(value) if known else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64 else None


def _truth(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return clean(value, 400) or None if isinstance(value, str) else None

"""What the agent on another machine measured (`far`), as samples. It is untrusted: every value is checked."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from rltui.hardware.base import GpuProcess, GpuSample, HardwareSample, HostSample
from rltui.text import clean

_GPU = ("memory_used_gb", "memory_total_gb", "power_w", "power_limit_w", "util", "temp_c")
_HOST = ("ram_used_gb", "ram_total_gb", "cpu", "load1", "disk_free_gb", "disk_total_gb")
_LIMIT = 64  # GPUs of a node, processes of a GPU


def sample_from(values: Mapping[str, Any], node: str) -> HardwareSample | None:
    """One sample of `node`; None where the time is missing. Any other value of a wrong kind is None."""
    time = _number(values.get("time"))
    if time is None:
        return None
    host = values.get("host")
    gpus = tuple(_gpu(gpu, node) for gpu in _mappings(values.get("gpus")) if isinstance(gpu.get("index"), int))
    return HardwareSample(time, gpus, _host(host) if isinstance(host, dict) else None, _text(values.get("note")) or "")


def _gpu(values: Mapping[str, Any], node: str) -> GpuSample:
    processes = tuple(
        GpuProcess(process["pid"], _number(process.get("memory_gb")), command=_text(process.get("command")))
        for process in _mappings(values.get("processes"))
        if isinstance(process.get("pid"), int)
    )
    numbers: dict[str, Any] = {name: _number(values.get(name)) for name in _GPU}
    return GpuSample(node, values["index"], _text(values.get("name")), **numbers, processes=processes)


def _host(values: Mapping[str, Any]) -> HostSample:
    cpus = values.get("cpus")
    numbers: dict[str, Any] = {name: _number(values.get(name)) for name in _HOST}
    return HostSample(
        **numbers,
        cpus=cpus if isinstance(cpus, int) else None,
        limited_by=_text(values.get("limited_by")),
    )


def _mappings(value: Any) -> list[dict[str, Any]]:
    return [item for item in value[:_LIMIT] if isinstance(item, dict)] if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    known = isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
    return float(value) if known else None


def _text(value: Any) -> str | None:
    return clean(value, 400) or None if isinstance(value, str) else None

"""Hardware as it was recorded with the run: W&B system statistics into the same samples that a live machine gives.

Keys as W&B writes them (`gpu.0.powerWatts`, `memory_percent`, `disk./.usageGB`, ...); unknown keys are left out.
`cpu` is there the training process's share of all cores, not the machine's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from rltui.hardware.base import GpuSample, HardwareSample, HostSample

GB = 1e9


def samples(rows: Iterable[tuple[float, Mapping[str, float]]], node: str = "") -> list[HardwareSample]:
    """One sample a row of (seconds since the epoch, values) that holds anything known; in the rows' order."""
    found = (sample(time, values, node) for time, values in rows)
    return [s for s in found if s.gpus or s.host is not None]


def sample(time: float, values: Mapping[str, float], node: str = "") -> HardwareSample:
    finite = {k: v for k, v in values.items() if isinstance(v, (int, float)) and isfinite(v)}
    gpus: dict[int, dict[str, float]] = {}
    for key, value in finite.items():
        prefix, _, rest = key.partition(".")
        index, _, name = rest.partition(".")
        if prefix == "gpu" and index.isdecimal() and name:
            gpus.setdefault(int(index), {})[name] = value
    known = (_gpu(node, i, v) for i, v in sorted(gpus.items()))
    return HardwareSample(time, tuple(g for g in known if g is not None), _host(finite), source="recorded")


def _gpu(node: str, index: int, values: Mapping[str, float]) -> GpuSample | None:
    used = _over(values.get("memoryAllocatedBytes"), GB)
    power = values.get("powerWatts")
    found = GpuSample(
        node,
        index,
        memory_used_gb=used,
        memory_total_gb=_whole(used, values.get("memoryAllocated")),
        power_w=power,
        power_limit_w=values.get("enforcedPowerLimitWatts") or _whole(power, values.get("powerPercent")),
        util=_over(values.get("gpu"), 100),
        temp_c=values.get("temp"),
    )
    return found if found != GpuSample(node, index) else None


def _host(values: Mapping[str, float]) -> HostSample | None:
    share = _over(values.get("memory_percent"), 100)
    available = _over(values.get("proc.memory.availableMB"), GB / 1024**2)  # W&B's MB are 2^20 bytes
    total = available / (1 - share) if available is not None and share is not None and share < 1 else None
    free, size = _disk(values)
    found = HostSample(
        ram_used_gb=total - available if total is not None and available is not None else None,
        ram_total_gb=total,
        cpu=_over(values.get("cpu"), 100),
        disk_free_gb=free,
        disk_total_gb=size,
    )
    return found if found != HostSample() else None


def _disk(values: Mapping[str, float]) -> tuple[float | None, float | None]:
    """(free, total) GB, where one file system alone was recorded: of several, which holds the run is not known."""
    mounts = [k.removesuffix(".usageGB") for k in values if k.startswith("disk.") and k.endswith(".usageGB")]
    if len(mounts) != 1:
        return None, None
    used = _over(values.get(f"{mounts[0]}.usageGB"), GB / 1024**3)
    total = _whole(used, values.get(f"{mounts[0]}.usagePercent"))
    return (total - used, total) if total is not None and used is not None else (None, None)


def _over(value: float | None, divisor: float) -> float | None:
    return value / divisor if value is not None else None


def _whole(part: float | None, percent: float | None) -> float | None:
    """The whole of which `part` is `percent`; None where that cannot be told."""
    return part * 100 / percent if part is not None and percent is not None and percent > 0 and part > 0 else None

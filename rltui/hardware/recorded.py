"""Makes samples, like those of a live machine, from the system statistics that W&B recorded with the run.

Keys are those of W&B (`gpu.0.powerWatts`, `memory_percent`, `disk./.usageGB`, ...); unknown keys are left out. W&B's
`cpu` is the share of all cores that the training process uses, not that of the whole machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Protocol

from rltui.hardware.base import GpuSample, HardwareSample, HostSample

GB = 1e9


TOGETHER_S = 1.0
"""W&B writes what it measures at one time (GPUs, memory, disks) as several rows, milliseconds apart."""


class Row(Protocol):
    """A time in seconds since the epoch, and values by W&B's key."""

    @property
    def time(self) -> float: ...

    @property
    def values(self) -> dict[str, float]: ...


class Recorded:
    """Samples made from a growing list of rows. Only new rows are read."""

    def __init__(self) -> None:
        self._count = 0
        self._samples: list[HardwareSample] = []
        self._open = 0, 0  # first row of the newest group, which may still grow, and the number of samples before it
        self._all: tuple[HardwareSample, ...] = ()

    def of(self, rows: Sequence[Row]) -> tuple[HardwareSample, ...]:
        """One sample for all rows of one time, if they hold a known value, in the order of the rows."""
        if len(rows) == self._count:
            return self._all
        if len(rows) < self._count:
            self._samples, self._open = [], (0, 0)
        start, kept = self._open
        del self._samples[kept:]
        for first, time, values in _groups(rows, start):
            self._open = first, len(self._samples)
            found = sample(time, values)
            if found.gpus or found.host is not None:
                self._samples.append(found)
        self._count, self._all = len(rows), tuple(self._samples)
        return self._all


def _groups(rows: Sequence[Row], start: int) -> Iterator[tuple[int, float, dict[str, float]]]:
    """The first row, time and values of rows that belong together: near in time, with no key twice."""
    first, time, values = start, 0.0, dict[str, float]()
    for i in range(start, len(rows)):
        row = rows[i]
        if i > first and (abs(row.time - time) > TOGETHER_S or not values.keys().isdisjoint(row.values)):
            yield first, time, values
            first, values = i, {}
        if i == first:
            time = row.time
        values |= row.values
    if start < len(rows):
        yield first, time, values


_GPU_KEYS = frozenset(
    {
        *("memoryAllocatedBytes", "memoryAllocated", "powerWatts", "powerPercent", "enforcedPowerLimitWatts"),
        *("gpu", "temp", "smClock", "uncorrectedMemoryErrors"),
    }
)


@lru_cache(maxsize=4096)
def _place(key: str) -> tuple[int, str] | None:
    """The GPU index and the value's name in a key; None for any other key."""
    prefix, _, rest = key.partition(".")
    index, _, name = rest.partition(".")
    return (int(index), name) if prefix == "gpu" and index.isdecimal() and name in _GPU_KEYS else None


def sample(time: float, values: Mapping[str, float], node: str = "") -> HardwareSample:
    gpus: dict[int, dict[str, float]] = {}
    others: dict[str, float] = {}
    for key, value in values.items():
        if not isinstance(value, (int, float)) or not isfinite(value):
            continue
        place = _place(key)
        if place is not None:
            gpus.setdefault(place[0], {})[place[1]] = value
        elif not key.startswith("gpu."):
            others[key] = value
    known = (_gpu(node, i, v) for i, v in sorted(gpus.items()))
    return HardwareSample(time, tuple(g for g in known if g is not None), _host(others), source="recorded")


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
        sm_clock_mhz=values.get("smClock"),
        ecc_uncorrected=int(errors) if (errors := values.get("uncorrectedMemoryErrors")) is not None else None,
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
    """(free, total) GB if only one file system was recorded. With several, it is unknown which one holds the run."""
    mounts = [k.removesuffix(".usageGB") for k in values if k.startswith("disk.") and k.endswith(".usageGB")]
    if len(mounts) != 1:
        return None, None
    used = _over(values.get(f"{mounts[0]}.usageGB"), GB / 1024**3)
    total = _whole(used, values.get(f"{mounts[0]}.usagePercent"))
    return (total - used, total) if total is not None and used is not None else (None, None)


def _over(value: float | None, divisor: float) -> float | None:
    return value / divisor if value is not None else None


def _whole(part: float | None, percent: float | None) -> float | None:
    """The whole of which `part` is `percent`; None if unknown."""
    return part * 100 / percent if part is not None and percent is not None and percent > 0 and part > 0 else None

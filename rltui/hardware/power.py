"""Utilisation by power. A GPU's own figure only says that some kernel ran: a rank that waits for others shows 100 %."""

from __future__ import annotations

from collections.abc import Iterable

from rltui.hardware.base import GpuSample, HardwareSample

IDLE_SHARE = 0.15
"""Idle power over the limit where the GPU was never seen idle: about 60 of 400 W on an A100 SXM, 70 to 100 of 700 W on
an H100 SXM."""

Gpu = tuple[str, int]
"""Node and index."""


def idle_power(samples: Iterable[HardwareSample]) -> dict[Gpu, float]:
    """Watts of each GPU at rest, learned from the samples in which no kernel ran; without such a one it is absent."""
    idle: dict[Gpu, float] = {}
    for sample in samples:
        for gpu in sample.gpus:
            if gpu.util == 0.0 and gpu.power_w is not None:
                key = gpu.node, gpu.index
                idle[key] = min(gpu.power_w, idle.get(key, gpu.power_w))
    return idle


def power_utilisation(gpu: GpuSample, idle_w: float | None = None) -> float | None:
    """(power - idle) / (limit - idle), cut to 0..1; None without power or limit. `idle_w` None: `IDLE_SHARE`."""
    if gpu.power_w is None or not gpu.power_limit_w:
        return None
    idle = IDLE_SHARE * gpu.power_limit_w if idle_w is None else idle_w
    if idle >= gpu.power_limit_w:
        return None
    return min(1.0, max(0.0, (gpu.power_w - idle) / (gpu.power_limit_w - idle)))

"""Rules that look at the machine. They judge how it stands at a look and keep no notes from one look to the next."""

from __future__ import annotations

from collections.abc import Mapping

from rltui.diagnosis.catalogue import Rule
from rltui.diagnosis.measured import Measured
from rltui.diagnosis.rules import hardware, host
from rltui.diagnosis.rules.hardware import MeasuredDetector
from rltui.diagnosis.signal import Signal

GPU_RULES: Mapping[str, MeasuredDetector] = {
    "gpu-memory-pressure": hardware.gpu_memory_pressure,
    "gpu-fault-or-throttle": hardware.gpu_fault_or_throttle,
    "rollout-straggler": hardware.rollout_straggler,
}
HOST_RULES: Mapping[str, MeasuredDetector] = {
    "host-ram-creep": host.host_ram_creep,
    "disk-space-low": host.disk_space_low,
    "background-interference": host.background_interference,
}


def can_run(seen: Measured) -> dict[str, MeasuredDetector]:
    """The rules for which something was measured."""
    hosts = any(s.host is not None for s in seen.samples)
    out = {**(GPU_RULES if any(s.gpus for s in seen.samples) else {}), **(HOST_RULES if hosts else {})}
    if not hosts and seen.ram is not None:
        out["host-ram-creep"] = host.host_ram_creep
    return out


def machine_signals(seen: Measured, catalogue: Mapping[str, Rule]) -> tuple[list[str], list[tuple[str, Signal]]]:
    """Ids of the rules that ran, and what they say."""
    ran = {i: detect for i, detect in can_run(seen).items() if catalogue[i].enabled}
    return list(ran), [(i, signal) for i, detect in ran.items() for signal in detect(seen, catalogue[i].values())]

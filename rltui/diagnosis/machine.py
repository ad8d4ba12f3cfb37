"""Rules that look at the machine, and the life of what they find. They judge how it stands at a look and keep no notes;
what they found opens at once, and is resolved when two looks in a row no longer see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rltui.diagnosis.life import Life, dated, follow
from rltui.evidence.forecast import hardware_forecasts
from rltui.evidence.guard import Guard
from rltui.evidence.measured import Measured
from rltui.evidence.model import Forecast, MachineView
from rltui.evidence.signal import Signal
from rltui.rules import hardware, host
from rltui.rules.catalogue import rules, threshold
from rltui.rules.hardware import MeasuredDetector
from rltui.rules.page import Rule
from rltui.run.hardware_columns import SampleColumns

Key = tuple[str, str | None]

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

LOOKS = 1
ROWS = 0
"""A finding of the machine holds from the first look on, whether rows come or not."""

APART_S = 60.0
APART_SHARE = 0.05
"""Of the past, the machine is looked at a minute apart, and further where the samples span long: this share of it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What is remembered of the machine after a look at `rows` rows, the last of which was written at `time`."""

    lives: Mapping[Key, Life] = field(default_factory=dict)
    time: float = float("-inf")
    rows: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)  # rules that raised, at this look or before


def due(before: Machine, samples: SampleColumns, time: float) -> bool:
    """Whether a past look at a row written at `time` (NaN unknown) judges the machine."""
    if not len(samples) or not time > samples.times[0]:
        return False
    return time - before.time >= max(APART_S, APART_SHARE * (time - float(samples.times[0])))


def judge_machine(before: Machine, seen: Measured, catalogue: Mapping[str, Rule]) -> tuple[list[str], Machine]:
    """Ids of the rules that ran, and what is remembered after this look."""
    guard = Guard(before.failed)
    ran, signals = machine_signals(seen, catalogue, guard)
    lives, look = dict(before.lives), seen.look
    for rule_id in ran:
        told = {signal.subject: signal for i, signal in signals if i == rule_id}
        for subject in dict.fromkeys([*told, *(lived for i, lived in before.lives if i == rule_id)]):
            old, signal = before.lives.get((rule_id, subject), Life()), told.get(subject)
            new = follow(old, signal, look.n, look.step, LOOKS, ROWS)
            lives[rule_id, subject] = dated(new, old, signal, look) if signal and new.level > old.level else new
    return ran, Machine(lives, seen.until, look.n, guard.failed)


def can_run(seen: Measured) -> dict[str, MeasuredDetector]:
    """The rules for which something was measured, here or by the trainer."""
    gpus, hosts = any(s.gpus for s in seen.samples), any(s.host is not None for s in seen.samples)
    out = {**(GPU_RULES if gpus else {}), **(HOST_RULES if hosts else {})}
    if not gpus and seen.logged_peak is not None:
        out["gpu-memory-pressure"] = hardware.gpu_memory_pressure
    if not hosts and seen.ram is not None:
        out["host-ram-creep"] = host.host_ram_creep
    if seen.saves:
        out["checkpoint-slow"] = host.checkpoint_slow
    return out


def machine_signals(
    seen: Measured, catalogue: Mapping[str, Rule], guard: Guard
) -> tuple[list[str], list[tuple[str, Signal]]]:
    """Ids of the rules that ran, and what they say."""
    ran, told = [], []
    for rule_id, detect in can_run(seen).items():
        if rule_id in catalogue and catalogue[rule_id].enabled:
            found = guard.ask(rule_id, None, detect, seen, catalogue[rule_id].values())
            if found is not None:
                ran.append(rule_id)
                told += [(rule_id, signal) for signal in found]
    return ran, told


def forecasts_of(seen: Measured, guard: Guard) -> tuple[Forecast, ...]:
    """What can be foretold of the machine, with the share of memory that the rule names."""
    return hardware_forecasts(seen, threshold(rules(), "host-ram-creep", "kill"), guard)


def view_of(seen: Measured, guard: Guard) -> MachineView | None:
    """What is shown of the machine beside the findings; None where nothing was measured."""
    forecasts = forecasts_of(seen, guard)
    return MachineView(seen.phases, seen.power_use, forecasts) if seen.samples or forecasts else None

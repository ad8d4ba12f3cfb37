"""Judges the machine and keeps the life of its findings. The rules remember nothing: a finding opens at once, and is
resolved when two looks in a row no longer see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from rltui.diagnosis.life import Key, Life, dated, follow
from rltui.evidence.beside_rows import Measured
from rltui.evidence.forecast import hardware_forecasts
from rltui.evidence.guard import Guard
from rltui.evidence.model import Forecast, MachineView
from rltui.rules.catalogue import limit_foretold, rules
from rltui.rules.registry import Panel
from rltui.run.hardware import SampleColumns

LOOKS = 1
ROWS = 0
"""A finding about the machine holds from the first look on, even if no rows arrive."""

APART_S = 60.0
APART_SHARE = 0.05
"""Looks at the past of the machine are a minute apart, or this share of the time that the samples span if that is
more."""


class Machine(Struct, frozen=True):
    """What is remembered about the machine after a look at `rows` rows, the last of them written at `time`."""

    lives: Mapping[Key, Life] = field(default_factory=dict)
    time: float = float("-inf")
    rows: int = 0
    failed: Mapping[str, str] = field(default_factory=dict)  # rules that raised, at this look or earlier


def due(before: Machine, samples: SampleColumns, time: float) -> bool:
    """Whether the machine is judged at a past look at a row written at `time` (NaN: unknown)."""
    if not len(samples) or not time > samples.times[0]:
        return False
    return time - before.time >= _apart(time, samples)


def _apart(time: float, samples: SampleColumns) -> float:
    """Seconds between two looks at the machine around this time."""
    return max(APART_S, APART_SHARE * (time - float(samples.times[0])))


class Present:
    """The present state of the machine, by all samples. Between the last past look and the newest sample the looks are
    as far apart as in the past, so the result depends on the samples alone and not on how often somebody asks."""

    def __init__(self) -> None:
        self._past: Machine | None = None
        self._reached = Machine()

    def judge(self, past: Machine, seen: Measured, panel: Panel[Measured]) -> tuple[list[str], Machine]:
        """Returns the same as `judge_machine`. `past`: what was remembered after the last look at a row."""
        if self._past is not past:
            self._past = self._reached = past
        for time in _between(self._reached.time, seen.seen):
            self._reached = replace(judge_machine(self._reached, seen.earlier(time), panel)[1], time=time)
        ran, now = judge_machine(self._reached, seen, panel)
        judged = len(seen.seen) > 0 and seen.seen.times[-1] <= self._reached.time
        return ran, self._reached if judged else now


def _between(time: float, samples: SampleColumns) -> Iterator[float]:
    """The times at which the machine is judged after `time` (-inf: never before), up to the newest sample."""
    if not len(samples):
        return
    time = max(time, float(samples.times[0]))
    while (time := time + _apart(time, samples)) < samples.times[-1]:
        yield time


def judge_machine(before: Machine, seen: Measured, panel: Panel[Measured]) -> tuple[list[str], Machine]:
    """The ids of the rules that ran, and what is remembered after this look."""
    guard = Guard(before.failed)
    lives, look = dict(before.lives), seen.look
    ran = []
    for rule_id, found in panel.ask(seen, guard):
        ran.append(rule_id)
        told = {signal.subject: signal for signal in found}
        for subject in dict.fromkeys([*told, *(lived for i, lived in before.lives if i == rule_id)]):
            old, signal = before.lives.get((rule_id, subject), Life()), told.get(subject)
            new = follow(old, signal, look.n, look.step, LOOKS, ROWS)
            lives[rule_id, subject] = dated(new, old, signal, look) if signal and new.level > old.level else new
    return ran, Machine(lives, seen.until, look.n, guard.failed)


def forecasts_of(seen: Measured, guard: Guard) -> tuple[Forecast, ...]:
    """The forecasts about the machine, with the share of memory that the rule states."""
    return hardware_forecasts(seen, limit_foretold(rules(), "host memory"), guard) if len(seen.seen) else ()


def view_of(seen: Measured, guard: Guard) -> MachineView | None:
    """What is shown about the machine beside the findings; None if nothing was measured."""
    forecasts = forecasts_of(seen, guard)
    return MachineView(seen.phases, seen.power_use, forecasts) if seen.samples or forecasts else None

"""Samples assigned to phases by the step's own timings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rltui.hardware.base import GpuSample, HardwareSample
from rltui.run.phase_hardware import StepTiming, by_phase, per_step, place
from rltui.vocabulary.load import phases

GENERATION = phases()["rollout"].label
STEPS = tuple(StepTiming(n, 100.0 * n, 90.0, ((GENERATION, 50.0), ("update", 30.0))) for n in range(1, 6))


def cards(time: float, n: int = 4) -> tuple[GpuSample, ...]:
    """10 s between steps, 50 s of generation at 30 % of the limit, 30 s of training at 90 %, 10 s of what no timer
    covers."""
    at = time % 100.0
    power, used = (210.0, 70.0) if 10 < at < 60 else (630.0, 50.0) if 60 < at < 90 else (100.0, 20.0)
    return tuple(
        GpuSample("n", i, memory_used_gb=used, memory_total_gb=80.0, power_w=power, power_limit_w=700.0)
        for i in range(n)
    )


SAMPLES = tuple(HardwareSample(t, cards(t)) for t in np.arange(1.0, 500.0, 2.0).tolist())


def test_samples_fall_into_the_phases_of_their_step() -> None:
    placed = {p.sample.time: (p.step, p.phase) for p in place(STEPS, SAMPLES)}
    assert placed[31.0] == (1, GENERATION)
    assert placed[175.0] == (2, "update")
    assert placed[395.0] == (4, None), "no timer covers the end of the step"
    assert 205.0 not in placed, "between two steps"


def test_power_and_memory_by_phase() -> None:
    """S2.27, S4.20, S4.21: generation draws less, which is normal; memory moves between phases."""
    rollout, update = by_phase(place(STEPS, SAMPLES))
    assert (rollout.phase, update.phase) == (GENERATION, "update")
    assert rollout.of_limit == pytest.approx(0.3)
    assert update.of_limit == pytest.approx(0.9)
    assert (rollout.power or 0) < (update.power or 0)
    assert (rollout.memory_floor_gb, rollout.memory_high_gb) == (70.0, 70.0)
    assert (update.memory_floor_gb, update.memory_high_gb) == (50.0, 50.0)
    assert "normal" in rollout.note
    assert update.note == ""
    assert [(p.idle, p.ahead) for p in (rollout, update)] == [((), ())] * 2


def test_a_rank_that_idles_and_one_that_the_others_wait_for() -> None:
    def changed(index: int, phase_power: dict[str, float], others: dict[str, float]) -> tuple[HardwareSample, ...]:
        out = []
        for p in place(STEPS, SAMPLES):
            power = {
                g.index: (phase_power if g.index == index else others).get(p.phase or "", g.power_w)
                for g in p.sample.gpus
            }
            out.append(replace(p.sample, gpus=tuple(replace(g, power_w=power[g.index]) for g in p.sample.gpus)))
        return tuple(out)

    lazy = by_phase(place(STEPS, changed(2, {"update": 150.0}, {})))
    assert [(p.phase, p.idle) for p in lazy] == [(GENERATION, ()), ("update", (("n", 2),))]
    waiting = by_phase(place(STEPS, changed(1, {GENERATION: 500.0}, {GENERATION: 120.0})))
    assert [(p.phase, p.ahead) for p in waiting] == [(GENERATION, (("n", 1),)), ("update", ())]


def test_most_and_least_within_each_step() -> None:
    ends = np.array([100.0, 200.0, np.nan, 300.0])
    value = {150.0: 1.0, 160.0: 5.0, 250.0: 2.0, 50.0: 9.0, 350.0: 8.0}
    samples = [HardwareSample(t) for t in sorted(value)]
    most = per_step(ends, np.arange(1, 5), samples, lambda s: value[s.time], "x")
    assert (most.steps.tolist(), most.values.tolist()) == ([2, 4], [5.0, 2.0])
    least = per_step(ends, np.arange(1, 5), samples, lambda s: value[s.time], "x", least=True)
    assert least.values.tolist() == [1.0, 2.0]


def test_without_values_nothing_is_claimed() -> None:
    blind = tuple(HardwareSample(s.time, (GpuSample("n", 0),)) for s in SAMPLES)
    rollout, _ = by_phase(place(STEPS, blind))
    assert (rollout.power, rollout.of_limit, rollout.memory_floor_gb, rollout.memory_high_gb) == (None,) * 4
    assert by_phase(place((), SAMPLES)) == ()
    assert by_phase(place(STEPS, ())) == ()

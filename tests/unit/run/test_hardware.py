"""Samples assigned to phases by the step's own timings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rltui.frameworks.load import phases
from rltui.hardware.base import GpuSample, HardwareSample
from rltui.run.hardware import ColumnCache, PhaseHardware, StepTiming, by_phase, columns, per_step, place

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


def phased(samples: tuple[HardwareSample, ...], steps: tuple[StepTiming, ...] = STEPS) -> tuple[PhaseHardware, ...]:
    seen = columns(samples)
    return by_phase(place(steps, seen.times), seen)


def test_samples_fall_into_the_phases_of_their_step() -> None:
    seen = columns(SAMPLES)
    at = place(STEPS, seen.times)
    phase = [at.names[i] if i >= 0 else None for i in at.phases]
    placed = dict(zip(seen.times.tolist(), zip(at.steps.tolist(), phase, strict=True), strict=True))
    assert placed[31.0] == (1, GENERATION)
    assert placed[175.0] == (2, "update")
    assert placed[395.0] == (4, None), "no timer covers the end of the step"
    assert placed[205.0] == (-1, None), "between two steps"


def test_power_and_memory_by_phase() -> None:
    """Generation draws less, which is normal; memory moves between phases."""
    rollout, update = phased(SAMPLES)
    assert (rollout.phase, update.phase) == (GENERATION, "update")
    assert rollout.of_limit == pytest.approx(0.3)
    assert update.of_limit == pytest.approx(0.9)
    assert (rollout.power or 0) < (update.power or 0)
    assert (rollout.memory_floor_gb, rollout.memory_high_gb) == (70.0, 70.0)
    assert (update.memory_floor_gb, update.memory_high_gb) == (50.0, 50.0)
    assert "normal" in rollout.note
    assert update.note == ""
    assert [(p.idle, p.ahead) for p in (rollout, update)] == [((), ())] * 2


def test_gpus_of_others_on_the_same_node_do_not_count() -> None:
    """Two that are empty, and one that somebody keeps full and idle."""
    beside = (
        GpuSample("n", 4, memory_used_gb=0.3, memory_total_gb=80.0, power_w=60.0, power_limit_w=700.0),
        GpuSample("n", 5, memory_used_gb=0.3, memory_total_gb=80.0, power_w=60.0, power_limit_w=700.0),
        GpuSample("n", 6, memory_used_gb=40.0, memory_total_gb=80.0, power_w=80.0, power_limit_w=700.0),
    )
    rollout, update = phased(tuple(replace(s, gpus=(*s.gpus, *beside)) for s in SAMPLES))
    assert [rollout.of_limit, update.of_limit] == pytest.approx([0.3, 0.9])
    assert (rollout.idle, update.idle) == ((("n", 6),), (("n", 6),))
    full = replace(beside[2], memory_used_gb=79.0)
    rollout, update = phased(tuple(replace(s, gpus=(*s.gpus, full)) for s in SAMPLES))
    assert (rollout.memory_high_gb, update.memory_high_gb) == (70.0, 50.0)


def test_a_rank_that_idles_and_one_that_the_others_wait_for() -> None:
    def changed(index: int, phase_power: dict[str, float], others: dict[str, float]) -> tuple[HardwareSample, ...]:
        at = place(STEPS, columns(SAMPLES).times)
        out = []
        for sample, i in zip(SAMPLES, at.phases.tolist(), strict=True):
            name = at.names[i] if i >= 0 else ""
            power = {g.index: (phase_power if g.index == index else others).get(name, g.power_w) for g in sample.gpus}
            out.append(replace(sample, gpus=tuple(replace(g, power_w=power[g.index]) for g in sample.gpus)))
        return tuple(out)

    lazy = phased(changed(2, {"update": 150.0}, {}))
    assert [(p.phase, p.idle) for p in lazy] == [(GENERATION, ()), ("update", (("n", 2),))]
    waiting = phased(changed(1, {GENERATION: 500.0}, {GENERATION: 120.0}))
    assert [(p.phase, p.ahead) for p in waiting] == [(GENERATION, (("n", 1),)), ("update", ())]


def test_most_and_least_within_each_step() -> None:
    ends = np.array([100.0, 200.0, np.nan, 300.0])
    value = {50.0: 9.0, 150.0: 1.0, 160.0: 5.0, 170.0: np.nan, 250.0: 2.0, 350.0: 8.0}
    times, values = np.array(list(value)), np.array(list(value.values()))
    rows, most = per_step(ends, times, values)
    assert (rows.tolist(), most.tolist()) == ([1, 3], [5.0, 2.0])
    assert per_step(ends, times, values, least=True)[1].tolist() == [1.0, 2.0]
    assert per_step(ends, times, np.stack((values, -values), axis=1))[1].tolist() == [[5.0, -1.0], [2.0, -2.0]]
    assert len(per_step(ends, times[:1], values[:1])[0]) == 0


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 8)), max_size=12))
def test_columns_of_what_is_appended_and_thinned_are_those_of_the_whole(turns: list[tuple[int, int]]) -> None:
    """0: all of it is replaced, 1: thinned, else: appended."""
    cache, time = ColumnCache(), 0.0
    samples: tuple[HardwareSample, ...] = ()
    for kind, count in turns:
        if kind == 0:
            samples = ()
        elif kind == 1:
            samples = samples[:1] + samples[1 : len(samples) // 2][1::2] + samples[len(samples) // 2 :]
        for _ in range(count):
            time += 1.0
            samples = (*samples, HardwareSample(time, cards(time, 1 + int(time) % count)))
        known, whole = cache.of(samples), columns(samples)
        assert known.samples == samples
        assert known.times.tolist() == whole.times.tolist()
        for name, values in whole.gpu.items():
            mine = known.gpu[name][:, [known.gpus.index(g) for g in whole.gpus]]
            np.testing.assert_array_equal(mine, values)
        for name, values in whole.host.items():
            np.testing.assert_array_equal(known.host[name], values)


def test_without_values_nothing_is_claimed() -> None:
    blind = tuple(HardwareSample(s.time, (GpuSample("n", 0),)) for s in SAMPLES)
    rollout, _ = phased(blind)
    assert (rollout.power, rollout.of_limit, rollout.memory_floor_gb, rollout.memory_high_gb) == (None,) * 4
    assert phased(SAMPLES, ()) == ()
    assert phased(()) == ()

"""What is measured of the machine: the right findings, the right forecast; a busy but healthy machine gives none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from msgspec.structs import replace

from rltui.diagnosis.engine import Engine
from rltui.diagnosis.machine import forecasts_of
from rltui.evidence.beside_rows import Measured
from rltui.evidence.blocks import BlockCache
from rltui.evidence.forecast import disk_full, host_memory
from rltui.evidence.guard import Guard
from rltui.evidence.look import Look, LookFeed
from rltui.evidence.model import Finding
from rltui.evidence.profile import RunSettings
from rltui.hardware.base import DiskSample, GpuProcess, GpuSample, HardwareSample, HostProcess, HostSample
from rltui.prose import capital
from rltui.rules.registry import ids
from rltui.run.checkpoints import Checkpoint
from rltui.run.run import RunState
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.machines import HOST, START, STEP_S, gpus, sampled
from tests.unit.rules.asked import only

RULES = ids(Measured)
MERGER = HostProcess(77, "merger", "python -m verl.model_merger merge", 90.0, aside=True)


def engine() -> Engine:
    """Asks the rules of the machine and no others."""
    return only(RULES)


def findings(run: FakeRun) -> dict[str, Finding]:
    return {f.id: f for f in engine().advance(run).findings if f.id in RULES and f.status == "active"}


def measured(run: FakeRun, rows: int | None = None) -> Measured:
    n = run.history.table.n if rows is None else rows
    return Measured.of(run, Look(LookFeed(run, BlockCache(), RunSettings.of(run)), n, {}), now=False)


def busy(step: float) -> tuple[GpuSample, ...]:
    """Generation at 30 % of the limit with much memory in use, then training at 90 %."""
    generating = step % 1.0 < 0.6
    return gpus(power=lambda i: (210.0 if generating else 630.0) + i, used=72.0 if generating else 55.0)


def test_a_busy_but_healthy_machine_is_quiet() -> None:
    def host(step: float) -> HostSample:
        wobble = 20.0 * np.sin(step) + (60.0 if step % 10 < 1 else 0.0)  # a checkpoint every ten steps
        return replace(HOST, ram_used_gb=500.0 + wobble, load1=60.0, pressure_cpu=0.6, pressure_io=0.05)

    assert findings(sampled(120, host, busy, planned=1000)) == {}


def test_memory_that_creeps_up_is_forecast_within_its_error_bar() -> None:
    noise = np.random.default_rng(0).normal(0, 5, 121)

    def host(step: float) -> HostSample:
        return replace(HOST, ram_used_gb=300.0 + 3.0 * np.ceil(step) + noise[int(np.ceil(step))])

    run = sampled(120, host, planned=1000)
    finding = findings(run)["host-ram-creep"]
    assert finding.severity == "warning"
    assert (finding.onset_step or 0) < 60
    ahead = host_memory(measured(run), 0.95)
    assert ahead is not None
    assert ahead.high is not None
    assert ahead.low <= (950.0 - 300.0) / 3.0 <= ahead.high
    assert ahead.at == pytest.approx(217, rel=0.05)
    assert capital(ahead.text) in finding.summary


def test_memory_near_the_limit_is_critical_and_the_biggest_process_is_named() -> None:
    trainer = HostProcess(5, "trainer", "main_ppo", 700.0)
    run = sampled(40, lambda step: replace(HOST, ram_used_gb=951.0, processes=(trainer,)))
    finding = findings(run)["host-ram-creep"]
    assert finding.severity == "critical"
    assert "trainer, 700 GB" in finding.summary


def test_memory_that_the_trainer_logs_counts_as_measured() -> None:
    columns = {"cpu_mem_used": 300.0 + 2.0 * np.arange(150)}
    run = sampled(150, lambda step: None, lambda step: (), columns)
    run.hardware = ()
    assert findings(run)["host-ram-creep"].severity == "info", "no limit is known: nothing to forecast"
    flat = sampled(150, lambda step: None, lambda step: (), {"cpu_mem_used": np.full(150, 300.0)})
    assert findings(flat) == {}


@pytest.mark.parametrize(("first_gb", "severity"), [(70.0, "warning"), (3.0, "info")])
def test_memory_of_a_host_of_unknown_size_that_becomes_a_multiple(first_gb: float, severity: str) -> None:
    """What is small beside any host stays a note."""
    columns = {"cpu_mem_used": first_gb * (1.0 + 0.03 * np.arange(150))}
    run = sampled(150, lambda step: None, lambda step: (), columns)
    run.hardware = ()
    finding = findings(run)["host-ram-creep"]
    assert finding.severity == severity
    assert ("times what it began with" in finding.summary) == (severity == "warning")


def checkpoints(size_gb: float, steps: range) -> list[Checkpoint]:
    return [Checkpoint(step, f"run/global_step_{step}", True, size_gb=size_gb) for step in steps]


@pytest.mark.parametrize(
    ("free", "severity", "decision"),
    [
        (0.0, "critical", "abort-now"),  # full now
        (50.0, "critical", "pause-and-fix"),  # at the next save
        (150.0, "warning", "continue-watch"),
        (350.0, "info", "continue"),  # some time, by the forecast
    ],
)
def test_room_for_checkpoints(free: float, severity: str, decision: str) -> None:
    saved = checkpoints(100.0, range(10, 51, 10))
    run = sampled(55, lambda step: replace(HOST, disk_free_gb=free), planned=200, checkpoints=saved)
    diagnosis = Engine().advance(run)
    assert findings(run)["disk-space-low"].severity == severity
    assert diagnosis.verdict.decision == decision


def test_a_run_that_is_over_needs_no_room() -> None:
    saved = checkpoints(100.0, range(10, 51, 10))
    run = sampled(55, lambda step: replace(HOST, disk_free_gb=0.0), planned=55, checkpoints=saved)
    run._given_state = RunState("finished", "the trainer says that it is done")
    assert Engine().advance(run).verdict.decision == "continue-watch"


def test_clearing_away_makes_room_for_the_next_checkpoint() -> None:
    kept = checkpoints(100.0, range(70, 91, 10))
    run = sampled(95, lambda step: replace(HOST, disk_free_gb=50.0), planned=200, checkpoints=kept)
    low = findings(run)["disk-space-low"]
    assert low.severity == "warning"
    assert "Older ones are cleared away" in low.summary


def test_the_disk_is_full_at_the_checkpoint_that_has_no_room() -> None:
    saved = checkpoints(100.0, range(10, 51, 10))
    run = sampled(55, lambda step: replace(HOST, disk_free_gb=350.0), planned=200, checkpoints=saved)
    ahead = disk_full(measured(run))
    assert ahead is not None
    assert (ahead.low, ahead.at, ahead.high) == (90.0, 90.0, 90.0), "60, 70 and 80 have room"
    plenty = sampled(55, planned=200, checkpoints=saved)
    assert disk_full(measured(plenty)) is None


def test_checkpoints_that_are_cleared_away_fill_no_disk() -> None:
    run = sampled(
        90,
        lambda step: replace(HOST, disk_free_gb=350.0),
        planned=500,
        checkpoints=checkpoints(100.0, range(70, 91, 10)),
    )
    assert findings(run) == {}


def test_a_merger_beside_the_training_is_told_with_what_it_costs() -> None:
    """Step time and memory rise while the merger runs."""
    during = np.arange(60) >= 45

    def host(step: float) -> HostSample:
        return replace(HOST, ram_used_gb=500.0, processes=(MERGER,)) if step >= 45 else HOST

    run = sampled(60, host, columns={"time_per_step_s": np.where(during, 95.0, STEP_S)})
    finding = findings(run)["background-interference"]
    assert finding.severity == "warning"
    assert "merger (pid 77, 90 GB) beside the training" in finding.summary
    assert "beside the training: a step takes 95 s with it, 60 s without. " in finding.summary
    assert "Host memory is at 500 GB with it, 200 GB without" in finding.summary
    assert any("during the rollout phase" in fix.text for fix in finding.fixes)
    assert any("upload once at the end" in fix.text for fix in finding.fixes)


def test_the_hosts_of_other_nodes_are_looked_at_too() -> None:
    run = sampled(40)
    full = replace(HOST, ram_used_gb=990.0)
    nodes = (("n2", HOST), ("n3", replace(full, processes=(MERGER,))))
    run.hardware = tuple(replace(s, others=nodes) for s in run.hardware)
    found = {(f.id, f.subject): f for f in Engine().advance(run).findings if f.status == "active"}
    memory = found.pop(("host-ram-creep", "n3"))
    assert memory.severity == "critical"
    assert "Host memory of n3: 990 of 1000 GB used (99 %)" in memory.summary
    assert "merger (pid 77, 90 GB) on n3 beside the training" in found.pop(("background-interference", None)).summary
    assert not [subject for _, subject in found if subject is not None], "n2 has room"


def test_a_merger_that_costs_nothing_is_a_notice_and_gone_when_it_ends() -> None:
    with_it = sampled(60, lambda step: replace(HOST, processes=(MERGER,)) if step >= 50 else HOST)
    assert findings(with_it)["background-interference"].severity == "info"
    ended = sampled(60, lambda step: replace(HOST, processes=(MERGER,)) if 30 <= step < 40 else HOST)
    assert findings(ended) == {}
    (gone,) = [f for f in engine().advance(ended).findings if f.id == "background-interference"]
    assert (gone.status, gone.severity, gone.peak_severity, gone.life) == ("resolved", "info", "info", "resolved")
    (episode,) = gone.episodes
    assert episode.onset_step is not None
    assert episode.end_step is not None
    assert 29 <= episode.onset_step <= 31
    assert 37 <= episode.end_step <= 41


@pytest.mark.long
def test_what_came_and_went_twice_has_two_episodes_and_rows_one_by_one_say_the_same() -> None:
    def hot(step: float) -> tuple[GpuSample, ...]:
        slow = 20 <= step < 30 or 60 <= step < 75
        return tuple(replace(g, sm_clock_mhz=990.0, throttle=("thermal",)) if slow else g for g in busy(step))

    whole = engine().advance(sampled(80, cards=hot)).findings
    finding = next(f for f in whole if f.id == "gpu-fault-or-throttle")
    assert [e.severity for e in finding.episodes] == ["warning", "warning"]
    assert finding.status == "resolved"
    judge, growing = engine(), sampled(80, cards=hot)
    at_50 = [f for f in judge.at(growing, 50).findings if f.id == finding.id]
    assert [(f.status, len(f.episodes)) for f in at_50] == [("resolved", 1)]
    growing = sampled(80, cards=hot)
    table = growing.history.table
    one_by_one = engine()
    for n in range(1, 81):
        one_by_one.at(growing, n)
    assert one_by_one.advance(growing).findings == whole
    assert table.n == 80


def test_of_a_run_that_is_followed_a_fault_is_resolved_though_no_row_comes() -> None:
    run = sampled(40, cards=busy)
    run.followed = run.pulse.heard = True
    engine = Engine()
    live = tuple(replace(s, source="live") for s in run.hardware)

    def at(minute: int, throttle: tuple[str, ...]) -> Finding | None:
        """The newest finding after a minute of samples behind the last row."""
        nonlocal live
        cards = tuple(replace(g, sm_clock_mhz=990.0 if throttle else 1900.0, throttle=throttle) for g in gpus(8))
        first = START + 40 * STEP_S + 60.0 * minute
        live += tuple(HardwareSample(first + 2.0 * i, cards, HOST) for i in range(30))
        run.hardware = live
        told = engine.advance(run, state=run.state()).findings
        return next((f for f in told if f.id == "gpu-fault-or-throttle"), None)

    assert at(0, ()) is None
    seen = at(1, ("thermal",))
    assert seen is not None
    assert (seen.status, seen.severity) == ("active", "warning")
    ended = [at(minute, ()) for minute in range(2, 5)][-1]
    assert ended is not None
    assert (ended.status, ended.peak_severity) == ("resolved", "warning")


def test_foreign_work_on_a_gpu_and_zombies_are_told_own_work_is_not() -> None:
    own = GpuProcess(1, 50.0, "me", "main_ppo", ours=True)
    foreign = GpuProcess(2, 12.0, "other", "python eval.py", ours=False)
    hidden = GpuProcess(3, 12.0, None, None, ours=None)
    dead = GpuProcess(4, 12.0, "me", None, ours=None, zombie=True)

    def run(*processes: GpuProcess) -> dict[str, Finding]:
        return findings(sampled(40, cards=lambda step: gpus(2, processes=processes)))

    assert run(own, hidden) == {}
    assert "foreign process 2 of other with 12 GB on n GPU 0" in run(own, foreign)["background-interference"].summary
    assert "zombie 4" in run(own, dead)["background-interference"].summary


def one(i: int, **fields: object) -> Callable[[float], tuple[GpuSample, ...]]:
    """GPU `i` differs, from step 30 on."""
    return lambda step: tuple(replace(g, **fields) if g.index == i and step >= 30 else g for g in busy(step))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "severity", "text"),
    [
        ({"xids": (79,)}, "critical", "fell off the bus"),
        ({"ecc_uncorrected": 2}, "critical", "2 uncorrected"),
        ({"lost": True, "power_w": None, "memory_used_gb": None}, "critical", "does not answer"),
        ({"sm_clock_mhz": 990.0, "throttle": ("thermal",)}, "warning", "clock at 50 % of its maximum: thermal"),
        ({"sm_clock_mhz": 990.0, "throttle": ("power cap",)}, "info", "power cap"),
    ],
)
def test_a_gpu_at_fault(fields: dict[str, object], severity: str, text: str) -> None:
    finding = findings(sampled(60, cards=one(3, **fields)))["gpu-fault-or-throttle"]
    assert (finding.severity, finding.subject) == (severity, "n GPU 3")
    assert text in finding.summary


def test_memory_errors_of_before_are_no_fault_of_now() -> None:
    def old(step: float) -> tuple[GpuSample, ...]:
        return tuple(replace(g, ecc_uncorrected=2) if g.index == 3 else g for g in busy(step))

    finding = findings(sampled(60, cards=old))["gpu-fault-or-throttle"]
    assert finding.severity == "warning"
    assert "none of them while this run was watched" in finding.summary


@pytest.mark.parametrize("fields", [{"xids": (13, 31)}, {"throttle": ("power cap",)}, {"ecc_uncorrected": 0}])
def test_what_a_healthy_gpu_may_show(fields: dict[str, object]) -> None:
    """XID 13 and 31 are faults of a program; a card at its power limit at full clock does what it should."""
    assert findings(sampled(60, cards=one(3, **fields))) == {}


def phased(cards: Callable[[float], tuple[GpuSample, ...]]) -> FakeRun:
    run = sampled(
        60, cards=cards, columns={"timing_s/gen": np.full(60, 36.0), "timing_s/update_actor": np.full(60, 24.0)}
    )
    run.dialect = "verl"
    return run


def test_a_gpu_that_does_less_than_its_peers_in_every_phase() -> None:
    weak = phased(lambda step: tuple(replace(g, power_w=140.0) if g.index == 5 else g for g in busy(step)))
    finding = findings(weak)["gpu-fault-or-throttle"]
    assert (finding.severity, finding.subject) == ("warning", "n GPU 5")
    assert findings(phased(busy)) == {}


def test_a_gpu_that_the_others_wait_for_in_generation() -> None:
    def cards(step: float) -> tuple[GpuSample, ...]:
        waits = 0.3 <= step % 1.0 < 0.6
        return tuple(replace(g, power_w=110.0) if waits and g.index != 2 else g for g in busy(step))

    finding = findings(phased(cards))["rollout-straggler"]
    assert finding.subject == "n GPU 2"
    assert "still works" in finding.summary


def test_memory_at_its_limit_and_memory_that_is_not_given_back() -> None:
    full = findings(sampled(60, cards=lambda step: gpus(used=78.5)))["gpu-memory-pressure"]
    assert full.severity == "warning"
    assert "98 %" in full.summary

    def leak(step: float) -> tuple[GpuSample, ...]:
        return gpus(used=20.0 + 0.1 * step + (15.0 if step % 1 < 0.5 else 0.0))

    run = sampled(120, cards=leak, planned=2000)
    leaking = findings(run)["gpu-memory-pressure"]
    assert leaking.severity == "warning"
    assert "what stays between the phases grows by 5" in leaking.summary
    ahead = [f for f in forecasts_of(measured(run), Guard()) if f.what == "GPU memory"]
    assert len(ahead) == 8
    assert ahead[0].at == pytest.approx(450, abs=1), "35 GB at the start, 0.1 GB more a step, of 80"


def test_a_log_that_tells_of_training_while_no_gpu_works() -> None:
    """Two sources that disagree: the hardware is believed before the log."""
    still = sampled(60, cards=lambda step: gpus(power=lambda i: 80.0, util=0.0))
    finding = findings(still)["gpu-fault-or-throttle"]
    assert finding.severity == "info"
    assert "no GPU seen here did anything" in finding.summary

    assert still_own_gpus().severity == "warning", "processes of this run hold these GPUs"
    assert findings(sampled(60, cards=lambda step: gpus(power=lambda i: 80.0, util=1.0))) == {}, "kernels ran"
    short = sampled(
        60, cards=lambda step: gpus(power=lambda i: 80.0 if step > 55 else 500.0, util=0.0 if step > 55 else 1.0)
    )
    assert findings(short) == {}, "five minutes may be a phase in which GPUs wait"


def still_own_gpus() -> Finding:
    own = (GpuProcess(1, 50.0, "me", "main_ppo", ours=True),)
    run = sampled(60, cards=lambda step: gpus(power=lambda i: 80.0, util=0.0, processes=own))
    return findings(run)["gpu-fault-or-throttle"]


def test_more_than_three_gpus_that_say_the_same_are_one_finding() -> None:
    def hot(count: int) -> list[Finding]:
        cards = tuple(replace(g, sm_clock_mhz=990.0, throttle=("thermal",)) if g.index < count else g for g in gpus(8))
        told = engine().advance(sampled(40, cards=lambda step: cards)).findings
        return [f for f in told if f.id == "gpu-fault-or-throttle"]

    assert sorted(f.subject or "" for f in hot(3)) == ["n GPU 0", "n GPU 1", "n GPU 2"]
    (all_of_them,) = hot(8)
    assert all_of_them.subject is None
    assert all_of_them.summary.startswith("8 of 8 GPUs, of them n GPU 0: clock at 50 %")


def peaks(values: np.ndarray, gpu: str = "") -> FakeRun:
    run = sampled(len(values), lambda step: None, lambda step: (), {"gpu_mem_reserved_peak": values})
    run.hardware = ()
    run.info = {"gpu": gpu} if gpu else {}
    return run


def test_the_peak_that_a_trainer_logs_stands_in_for_samples() -> None:
    """GiB as torch counts them. Of a card whose size is known its share counts, of any card that it goes on rising."""
    near = findings(peaks(np.full(60, 78.5), "NVIDIA H100 80GB HBM3"))["gpu-memory-pressure"]
    assert (near.severity, near.subject) == ("warning", "logged peak")
    assert "is 78.5 of 80 GiB (98 %)" in near.summary
    rising = findings(peaks(40.0 + 0.05 * np.arange(200)))["gpu-memory-pressure"]
    assert rising.severity == "info"
    assert "still grows, by 2.5 GiB in 50 steps" in rising.summary
    assert findings(peaks(np.full(60, 60.0), "NVIDIA H100 80GB HBM3")) == {}
    assert findings(peaks(np.full(60, 78.5))) == {}, "nobody knows of how much"
    warming = np.minimum(60.0, 40.0 + 2.0 * np.arange(200))
    assert findings(peaks(warming)) == {}, "it rises at first and stays"


def saving(seconds: float, io: float) -> FakeRun:
    """A checkpoint of 100 GB every ten steps, in `seconds` in which tasks wait for the disk."""
    disk = DiskSample("checkpoints", "/data/ckpt", 4000.0, 8000.0)
    host = replace(HOST, disks=(disk,), pressure_io=0.0)
    took = np.where((np.arange(60) + 1) % 10 == 0, seconds, 0.0)

    def now(step: float) -> HostSample:
        left = 10.0 * np.ceil(step / 10.0) - step
        return replace(host, pressure_io=io) if left < seconds / STEP_S else host

    columns = {"phase:save_checkpoint": took, "time_per_step_s": np.full(60, STEP_S)}
    return sampled(60, now, columns=columns, checkpoints=checkpoints(100.0, range(10, 61, 10)))


def test_checkpoints_that_a_slow_disk_holds_up() -> None:
    slow = {f.subject: f for f in engine().advance(saving(1000.0, 0.7)).findings if f.id == "checkpoint-slow"}
    assert slow["disk"].severity == "warning", "more than 15 minutes"
    assert "Checkpoints of 100 GB take 1000 s: 100 MB/s to /data/ckpt" in slow["disk"].summary
    assert "tasks waited for io 70 % of the time" in slow["disk"].summary
    assert "disk" not in {f.subject for f in engine().advance(saving(90.0, 0.7)).findings}, "1.1 GB a second"


def test_saving_that_no_timer_tells_is_told_by_the_step_that_it_lengthens() -> None:
    run = saving(0.0, 0.0)
    run.history.table.times[: run.history.table.n] += 700.0 * (np.arange(1, 61) // 10)
    assert [round(s) for _, s, _ in measured(untimed(run)).saves] == [700] * 6


def untimed(run: FakeRun) -> FakeRun:
    run.history.table.columns.pop("phase:save_checkpoint")
    return run


def test_a_busy_host_alone_is_no_interference_slow_steps_beside_it_are() -> None:
    def run(slow: float) -> FakeRun:
        host = replace(HOST, processes=(replace(MERGER, aside=False),))
        waits = replace(host, pressure_io=0.6)
        during = np.arange(60) >= 45
        return sampled(
            60,
            lambda step: replace(waits, processes=(MERGER,)) if 30 <= step < 40 else waits if step >= 45 else host,
            columns={"time_per_step_s": np.where(during, slow, STEP_S)},
        )

    assert findings(run(STEP_S)) == {}


def test_nothing_after_the_look_is_seen() -> None:
    run = sampled(120, lambda step: replace(HOST, ram_used_gb=200.0 if step < 60 else 960.0))
    engine = Engine()
    engine.advance(run)
    assert [f.id for f in engine.at(run, 50).findings if f.id in RULES] == []
    assert [f.id for f in engine.at(run, 100).findings if f.id in RULES] == ["host-ram-creep"]
    assert max(s.time for s in measured(run, 50).samples) <= START + 50 * STEP_S


def test_samples_of_this_machine_count_only_while_the_run_is_heard() -> None:
    """A copied log says nothing of the machine that it was copied to."""
    run = sampled(40, lambda step: replace(HOST, ram_used_gb=990.0))
    run.hardware = tuple(HardwareSample(s.time, s.gpus, s.host) for s in run.hardware)
    run.followed = True
    assert findings(run) == {}
    run.pulse.heard = True
    assert findings(run)["host-ram-creep"].severity == "critical"


def test_rules_without_measurements_say_what_they_need() -> None:
    run = sampled(40, cards=lambda step: ())
    needs = {n.id for n in Engine().advance(run).not_evaluable}
    assert "gpu-fault-or-throttle" in needs
    assert "host-ram-creep" not in needs

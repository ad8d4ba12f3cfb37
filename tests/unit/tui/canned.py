"""Frames and reports made by hand: a sick run and a healthy one, like the ones that the screen was drawn for."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from rltui.evidence.model import Coverage, Diagnosis, MissingMetric, StageResult, Verdict
from rltui.hardware.base import GpuSample, HardwareSample, HostSample
from rltui.readers.base import LogLine, Note
from rltui.report.model import (
    ConfigEntry,
    GpuNow,
    Hardware,
    HostNow,
    MetricSummary,
    PhaseItem,
    Phases,
    Report,
    Rollouts,
    RunIdentity,
    SourceUsed,
    Steps,
)
from rltui.rollouts.samples import Samples
from rltui.run.history import Series
from rltui.run.run import Checkpoint, MetricName, PhaseTable, RunState
from rltui.run.source_info import SourceInfo
from rltui.session.frame import Frame, Loading, RunSnapshot
from tests.unit.tui.canned_findings import SKIPPED, findings_of, verdict_of

START = 1_790_000_000.0
STEP_S = 150.0
N, ONSET, TOTAL = 812, 640, 2000
Points = list[tuple[int, float]]


def _points(text: str) -> Points:
    return [(int(step), float(value)) for step, value in (pair.split(":") for pair in text.split())]


def _metrics() -> dict[str, tuple[str, str, str, str, Points, Points, float]]:
    """Name -> key, label, unit, group, course of the sick and of the healthy run, noise as a share of the value."""
    with Path(__file__).with_name("canned_metrics.csv").open(encoding="utf-8") as rows:
        return {
            r["name"]: (
                r["key"],
                r["label"],
                r["unit"],
                r["group"],
                _points(r["sick"]),
                _points(r["healthy"]),
                float(r["noise"]),
            )
            for r in csv.DictReader(rows)
        }


METRICS = _metrics()


def canned_run(n: int, phases: PhaseTable) -> RunSnapshot:
    """A run of `n` steps as the session would show it."""
    steps = np.arange(1, n + 1)
    return RunSnapshot(
        id="qwen2.5-7b-grpo-math",
        path="outputs/qwen2.5-7b-grpo-math",
        framework="verl",
        framework_version="0.7",
        dialect="verl",
        algorithm="GRPO",
        planned_steps=TOTAL,
        followed=True,
        as_of=START + n * STEP_S,
        state=RunState("running", ""),
        steps=steps,
        times=START + STEP_S * steps,
        beats=(),
        restarts=(),
        attempts=(),
        ended=(),
        before_again="",
        phases=phases,
        checkpoints=tuple(
            Checkpoint(step, f"checkpoints/global_step_{step}", True) for step in range(200, min(n, 800) + 1, 200)
        ),
        config={},
        raw_config={},
        info={},
        names={
            key: MetricName(
                key,
                name,
                label,
                unit,
                group,
                meaning=f"what {label} means",
                trap="per token, not per response" if name == "kl_ref" else "",
            )
            for name, (key, label, unit, group, *_) in METRICS.items()
        },
        keys={name: (key,) for name, (key, *_) in METRICS.items()},
        unlogged=(),
        sources=(SourceInfo("outputs/metrics.jsonl", "jsonl", N, newest=START + N * STEP_S, lag="at once"),),
        samples=Samples(),
    )


def curve(points: Points, noise: float, seed: int, n: int) -> np.ndarray:
    at, values = zip(*points, strict=True)
    steps = np.arange(1, n + 1)
    rng = np.random.default_rng(seed)
    return np.interp(steps, at, values) * (1 + noise * rng.standard_normal(n))


def series_of(healthy: bool, n: int) -> dict[str, Series]:
    out = {}
    for i, (name, (key, _, _, _, sick, well, noise)) in enumerate(METRICS.items()):
        values = curve(well if healthy else sick, noise, i, n)
        steps = np.arange(1, n + 1)
        if name == "val_score":
            steps, values = steps[19::20], values[19::20]
        out[key] = Series(key, steps, values, steps - 1, START + STEP_S * steps)
    return out


def summary(name: str, series: Series, rows: int) -> MetricSummary:
    _, label, unit, group, *_ = METRICS[name]
    v, k = series.values, max(5, len(series) // 10)
    mid = (len(v) - k) // 2
    first, middle, last = (float(v[a : a + k].mean()) for a in (0, mid, len(v) - k))
    return MetricSummary(
        series.key,
        len(v),
        rows - len(v),
        0,
        float(v[0]),
        float(v[-1]),
        first,
        middle,
        last,
        float(v.min()),
        float(v.max()),
        float(v.mean()),
        100 * (last - first) / abs(first),
        0.01,
        0.9,
        "rises",
        label,
        unit,
        group,
    )


def hardware(healthy: bool, samples: int = 60) -> tuple[HardwareSample, ...]:
    rng = random.Random(7)
    out = []
    for k in range(samples):
        busy = (k // 6) % 3 == 0
        gpus = tuple(
            GpuSample(
                "node17",
                i,
                "NVIDIA H100 80GB HBM3",
                71.2 + i % 5 * 0.4,
                80.0,
                (640 if busy else 300) + rng.gauss(0, 12),
                700.0,
                0.9,
                58 + i % 7,
            )
            for i in range(8)
        )
        out.append(
            HardwareSample(
                START + N * STEP_S - 2.0 * (samples - k),
                gpus,
                HostSample(611 if healthy else 812, 1007, disk_free_gb=1900, disk_total_gb=7100),
            )
        )
    return tuple(out)


def make(healthy: bool = False, n: int = N, gpus: bool = True) -> tuple[Frame, Report]:
    """A frame and the report of it, `n` steps long."""
    series = series_of(healthy, n)
    metrics = {name: summary(name, series[METRICS[name][0]], n) for name in METRICS}
    found = () if healthy else findings_of(metrics, ONSET, N)
    samples = hardware(healthy) if gpus else ()
    step = {True: "pass", False: "fail"}[healthy]
    pipeline = tuple(
        StageResult(stage, level, f"why {stage} is {level}")
        for stage, level in (
            ("reward", "pass"),
            ("advantages", "pass"),
            ("log-probs", "unknown"),
            ("loss", step),
            ("generation", "pass" if healthy else "warn"),
        )
    )  # type: ignore[arg-type]
    coverage = Coverage(46, 42, (MissingMetric("rollout_train_logprob_diff", ("logprob-mismatch",), SKIPPED[0][2]),))
    verdict = verdict_of(healthy)
    end = START + n * STEP_S
    log = tuple(
        LogLine(f"(TaskRunner pid=1) step:{i} - actor/kl_loss:0.1 - critic/score/mean:0.6", i, START + i * STEP_S)
        for i in range(1, n + 1)
    )
    notes = (
        Note("start", "launch of verl 0.7", 1, None, None, START),
        Note("checkpoint", "global_step_600 saved", 600, 600, None, START + 600 * STEP_S),
        Note("warning", "NCCL is slow to answer", 700, 700, None, START + 700 * STEP_S),
        Note("checkpoint", "global_step_800 saved", 800, 800, None, START + 800 * STEP_S),
    )
    gen = (137.0, 0.71, "high") if not healthy else (76.0, 0.58, "usual")
    items = (
        PhaseItem("generation", "timing_s/gen", gen[0], gen[1], (0.4, 0.6), gen[2]),
        PhaseItem("log-probs", "timing_s/old_log_prob", 14.0, 0.07, None, "unknown"),
        PhaseItem("reference", "timing_s/ref", 9.0, 0.05, None, "unknown"),
        PhaseItem("update", "timing_s/update_actor", 27.0, 0.14, (0.15, 0.35), "usual"),
        PhaseItem("other", "", 5.0, 0.03, None, "unknown"),
    )
    now = samples[-1] if samples else None
    gpu_now = (
        tuple(
            GpuNow(
                g.node,
                g.index,
                g.name,
                g.memory_used_gb,
                g.memory_total_gb,
                g.power_w,
                g.power_limit_w,
                g.util,
                g.temp_c,
                1,
            )
            for g in now.gpus
        )
        if now
        else ()
    )
    host = HostNow(now.host.ram_used_gb, now.host.ram_total_gb, now.host.disk_free_gb) if now and now.host else None
    diagnosis = Diagnosis(n, verdict, found, pipeline, coverage, (), 41, ("whether the reward changed at step 640",))
    frame = Frame(
        run=canned_run(n, PhaseTable(20, None, ())),
        diagnosis=diagnosis,
        series=MappingProxyType(series),
        log=log[-500:],
        notes=notes,
        hardware=samples,
        loading=Loading(1_000_000, 1_000_000, "", True),
        now=end + 3,
        live=True,
        revision=n,
    )
    report = Report(
        as_of="2026-09-21T12:00:00+00:00",
        run=RunIdentity(
            "qwen2.5-7b-grpo-math",
            "outputs/qwen2.5-7b-grpo-math",
            "verl",
            "GRPO",
            "running",
            Steps(1, n, TOTAL, n),
            (),
            (SourceUsed("outputs/metrics.jsonl", "jsonl", n, 0, ""),),
            "0.7",
            "",
            (TOTAL - n) * 192.0,
            end,
        ),
        config={
            "kl_coef_loss": ConfigEntry(
                0.001, "actor_rollout_ref.actor.kl_loss_coef", "printed dict at line 12", True, ""
            ),
            "lr": ConfigEntry(3e-6, "actor_rollout_ref.actor.optim.lr", "printed dict at line 12", True, ""),
            "kl_in_reward": ConfigEntry(
                0.01, "algorithm.kl_ctrl.kl_coef", "printed dict at line 12", False, "use_kl_in_reward is off"
            ),
        },
        verdict=verdict,
        findings=found,
        metrics=metrics,
        phases=Phases(20, False, "generation", items),
        pipeline=pipeline,
        hardware=Hardware(
            gpu_now, host, "live" if gpus else "none", "" if gpus else "no NVIDIA driver on this machine"
        ),
        rollouts=Rollouts(None, (), 0, "no rollout files"),
        coverage=coverage,
        unknowns=("whether the reward function changed at step 640",),
        checks=41,
        not_evaluable=SKIPPED,
        at_step=n,
        machine=None,
        recording=frame,
    )
    return frame, report


def empty() -> tuple[Frame, Report]:
    """A recognised run without a row yet."""
    frame, report = make(True, 20)
    verdict = Verdict("not-enough-evidence", (), 0.0, (), "No metric rows yet.", "The first steps.", None)
    identity = replace(report.run, steps=Steps(None, None, None, 0), last_row_time=None, eta_s=None, state="unknown")
    report = replace(
        report,
        run=identity,
        verdict=verdict,
        metrics={},
        config={},
        phases=Phases(20, False, None, (), ""),
        hardware=Hardware((), None, "none", ""),
        checks=0,
        not_evaluable=(),
        coverage=Coverage(46, 0, ()),
        pipeline=(),
        unknowns=(),
    )
    frame = replace(frame, series={}, log=(), notes=(), hardware=())
    return frame, replace(report, recording=frame)


def clock() -> float:
    return START + N * STEP_S + 3

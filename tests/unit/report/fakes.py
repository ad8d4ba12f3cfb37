"""A run and a frame without files: only what a report reads of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from rltui.evidence.clock import Clock, Pace
from rltui.evidence.facts import RunFacts
from rltui.evidence.model import (
    BestCheckpoint,
    Cause,
    Coverage,
    Diagnosis,
    Episode,
    Evidence,
    Finding,
    Fix,
    MissingMetric,
    NotEvaluable,
    StageResult,
    Verdict,
)
from rltui.hardware.base import HardwareSample
from rltui.readers.base import Note
from rltui.run.run import ConfigValue, MetricName, PhaseShare, PhaseTable, Run, RunState
from rltui.run.table import Series
from rltui.session.frame import Frame, Loading, snapshot

STAGES = ("reward", "advantages", "log-probs", "loss", "generation")


class FakeRun(Run):
    """A run whose resolved parts are given instead of found."""

    def __init__(self, run_id: str = "fake", path: str = "runs/fake") -> None:
        super().__init__(run_id, path)
        self.fake_config: dict[str, ConfigValue] = {}
        self.fake_names: dict[str, MetricName] = {}
        self.fake_state = RunState("unknown", "")
        self.fake_phases = PhaseTable(20, None, ())

    @property
    def config(self) -> dict[str, ConfigValue]:
        return self.fake_config

    @property
    def raw_config(self) -> dict[str, ConfigValue]:
        return self.fake_config

    @property
    def names(self) -> dict[str, MetricName]:
        return self.fake_names

    def state(self, now: float | None = None) -> RunState:
        return self.fake_state

    def phases(self, until_row: int | None = None, window: int = 20) -> PhaseTable:
        return self.fake_phases


def series(key: str, values: Sequence[float], rows: Sequence[int] | None = None, first_step: int = 1) -> Series:
    """One point a row, or at the given rows; step = first_step + row, one row a second from 1000 s on."""
    at = np.array(range(len(values)) if rows is None else rows, dtype=np.int64)
    return Series(key, at + first_step, np.array(values, dtype=np.float64), at, 1000.0 + at.astype(np.float64))


def name(key: str, canonical: str | None, member: str = "", group: str = "reward", unit: str = "") -> MetricName:
    return MetricName(key, canonical, (canonical or key).replace("_", " "), unit, group, member)


def verdict(**changes: Any) -> Verdict:
    usual = Verdict("continue", ("healthy",), 0.8, (), "Healthy so far.", "A falling score.", None)
    return replace(usual, **changes)


def finding(**changes: Any) -> Finding:
    usual = Finding(
        id="kl-runaway",
        subject=None,
        title="KL keeps rising",
        severity="critical",
        peak_severity="critical",
        status="active",
        episodes=(Episode(40, None, "critical"),),
        stage="loss",
        onset_step=40,
        last_step=60,
        confidence=0.8,
        basis="config",
        root=None,
        evidence=(Evidence("kl_ref", "kl", 0.01, 0.1, 0.9, 1.5, "90 times its first window"),),
        causes=(Cause("KL penalty too weak", "beta", 0.0, "supported"),),
        fixes=(Fix("Raise the KL penalty", "beta", "high", "low"), Fix("Lower the rate", "lr", "medium", "none")),
        refute=("The KL estimate counts masked tokens",),
        life="worse",
        summary="KL rises from 0.01 to 0.9.",
    )
    return replace(usual, **changes)


def best(**changes: Any) -> BestCheckpoint:
    return replace(BestCheckpoint(30, "checkpoint-30", True, "val_score", 0.61, 0.02), **changes)


def facts() -> RunFacts:
    """60 of 200 steps done, 10 s each."""
    clock = Clock(60, 1, 60, 1, 200, None)
    pace = Pace(10.0, 50, "times", 140, 1400.0, 1300.0, 1500.0)
    return RunFacts(clock, pace, None, None, None, None, None, None, False)


def diagnosis(**changes: Any) -> Diagnosis:
    usual = Diagnosis(
        at_step=60,
        verdict=verdict(),
        findings=(),
        pipeline=tuple(StageResult(stage, "pass", "in its usual range") for stage in STAGES),
        coverage=Coverage(20, 18, (MissingMetric("entropy", ("entropy-collapse",), "log_entropy: true"),)),
        not_evaluable=(NotEvaluable("entropy-collapse", "Entropy collapse", "entropy", "log_entropy: true"),),
        checks=41,
        unknowns=("validation is not logged",),
        facts=facts(),
    )
    return replace(usual, **changes)


def frame(
    metrics: Mapping[str, Series] | None = None,
    run: FakeRun | None = None,
    result: Diagnosis | None = None,
    hardware: tuple[HardwareSample, ...] = (),
    notes: tuple[Note, ...] = (),
    loading: Loading | None = None,
    live: bool = False,
) -> Frame:
    shown = run or FakeRun()
    return Frame(
        run=snapshot(shown, shown.state(), shown.phases()),
        diagnosis=result or diagnosis(),
        series=metrics or {},
        log=(),
        notes=notes,
        hardware=hardware,
        loading=loading or Loading(0, 0, "", True),
        now=2000.0,
        live=live,
        revision=1,
    )


def sick_frame() -> Frame:
    """Sixty steps of a GRPO run whose KL runs away, with every part of a report filled."""
    run = FakeRun("grpo-math", "runs/grpo-math")
    run.framework, run.framework_version, run.algorithm = "trl", "0.26", "GRPO"
    run.planned_steps, run.as_of = 200, 1_795_216_631.0
    run.fake_state = RunState("running", "last row 3 s ago")
    run.fake_config = {
        "kl_coef_loss": ConfigValue(0.001, "beta", "printed config"),
        "lr": ConfigValue(3e-6, "learning_rate", "printed config"),
        "kl_coef_reward": ConfigValue(0.1, "kl_ctrl.kl_coef", "printed config", False, "set but inactive"),
    }
    run.fake_names = {
        "kl": name("kl", "kl_ref", group="drift", unit="nats/token"),
        "reward": name("reward", "reward_mean"),
        "eval/math": name("eval/math", "val_score", "math", "validation"),
        "eval/gsm8k": name("eval/gsm8k", "val_score", "gsm8k", "validation"),
    }
    run.fake_phases = PhaseTable(
        20,
        10.0,
        (
            PhaseShare("generation", "gen", 7.0, 0.7, (0.4, 0.75), "usual"),
            PhaseShare("update", "update", 2.0, 0.2, None, "unknown"),
            PhaseShare("other", "", 1.0, 0.1, None, "unknown"),
        ),
        bottleneck="generation",
    )
    steps = np.arange(60)
    metrics = {
        "kl": series("kl", list(0.01 * 1.08**steps)),
        "reward": series("reward", [0.5, 0.52] * 30),
        "eval/math": series("eval/math", [0.4, 0.6, 0.5], rows=[0, 29, 59]),
        "eval/gsm8k": series("eval/gsm8k", [0.7, 0.8, 0.75], rows=[0, 29, 59]),
    }
    result = diagnosis(
        verdict=verdict(
            decision="stop-use-best",
            kinds=("unstable",),
            because=("kl-runaway",),
            text="KL keeps rising while the reward is flat.",
            badge="STOP · KEEP 40",
            tone="crit",
            best_checkpoint=best(),
        ),
        findings=(
            finding(),
            finding(id="reward-flat-from-start", title="Reward is flat", severity="warning", root="kl-runaway"),
        ),
    )
    return frame(metrics, run, result)

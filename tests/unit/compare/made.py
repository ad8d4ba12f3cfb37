"""Runs made for tests: facts without files."""

from __future__ import annotations

import numpy as np

from rltui.compare.read import ComparedRun, RunCurve
from rltui.evidence.model import Cause, Episode, Finding, Fix

STEPS = np.arange(1, 201, dtype=np.int64)


def curve(end: float, *, start: float = 0.1, noise: float = 0.0, steps: np.ndarray = STEPS, seed: int = 0) -> RunCurve:
    """Rises to `end` over half of the steps and stays."""
    rise = np.minimum(1.0, (steps - steps[0]) / (0.5 * (steps[-1] - steps[0])))
    values = start + (end - start) * rise + np.random.default_rng(seed).normal(size=len(steps)) * noise
    return RunCurve(steps, values)


def made(
    id: str,
    end: float | None = 0.8,
    *,
    settings: dict[str, object] | None = None,
    findings: tuple[Finding, ...] = (),
    state: str = "finished",
    decision: str | None = None,
    metric: str = "val_score:math",
    tokens_a_step: float | None = 1000.0,
    gpus: float | None = 8.0,
    updated: str = "",
    words: tuple[str, ...] = (),
    noise: float = 0.005,
    steps: np.ndarray = STEPS,
) -> ComparedRun:
    given = settings or {}
    return ComparedRun(
        id=id,
        path=f"runs/{id}",
        framework="verl",
        algorithm="GRPO",
        state=state,
        decision=decision or ("pause-and-fix" if any(f.severity == "critical" for f in findings) else "continue"),
        badge="DONE" if decision == "continue" else "FIX · RERUN",
        listed_as=id,
        because=tuple(f.id for f in findings if f.status == "active"),
        findings=findings,
        updated=updated,
        words=words,
        settings=given,
        spelled={key: f"actor.{key}" for key in given},
        raw_config={f"actor.{key}": value for key, value in given.items()},
        curves={} if end is None else {metric: curve(end, noise=noise, steps=steps, seed=sum(map(ord, id)))},
        last_step=int(steps[-1]),
        tokens=None if tokens_a_step is None else RunCurve(steps, np.cumsum(np.full(len(steps), tokens_a_step))),
        hours=RunCurve(steps, steps / 100),
        gpus=gpus,
        health={"entropy": 1.0},
    )


def finding(id: str, severity: str = "critical", *, status: str = "active", root: str | None = None) -> Finding:
    return Finding(
        id=id,
        subject=None,
        title=f"title of {id}",
        severity=severity if status == "active" else "info",  # type: ignore[arg-type]
        peak_severity=severity,  # type: ignore[arg-type]
        status=status,  # type: ignore[arg-type]
        episodes=(Episode(50, None, severity),),  # type: ignore[arg-type]
        stage="loss",
        onset_step=50,
        last_step=200,
        confidence=0.9,
        basis="log",
        root=root,
        evidence=(),
        causes=(Cause("the rate is too high", "actor.lr", 1e-5, "supported"),),
        fixes=(Fix("halve the rate", "actor.lr", "high", "low"),),
        refute=("it closes by itself",),
    )

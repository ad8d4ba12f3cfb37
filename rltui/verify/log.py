"""The same checks on a log: invariants of its numbers, and steps from which nothing can be learned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from rltui.discovery.found import Found
from rltui.evidence.model import SEVERITY_RANK, Finding
from rltui.run.run import Run
from rltui.run.table import Floats
from rltui.session.run_reader import RunReader
from rltui.verify.check import STAGES, Check, Mark

MARKS: dict[str, Mark] = {"pass": "", "warn": "?", "fail": "!!", "unknown": "skip"}
NO_GRADIENT, NO_ADVANTAGE, VARIES = 1e-10, 1e-6, 1e-6
ALL_CLIPPED = 0.99
KL_TERM = 10.0
GAIN, STEPS_FOR_GAIN = 0.05, 6


def verify_log(found: Found, key_map: dict[str, str] | None = None) -> list[Check]:
    """Checks of a run's log. What is not logged is skipped, never passed. A count of suspicious steps is a certain
    violation only if the diagnosis has an active finding about the metric. The check then belongs to the stage of that
    finding."""
    opened = RunReader(found, key_map=key_map or {})
    try:
        opened.load()
        run = opened.run
        last = int(run.history.table.steps[-1]) if run.history.table.n else None
        if last is None:
            return [Check("reward", "log", "skip", "no metric rows", "nothing to check")]
        told = [Check(i.stage, i.name, MARKS[i.status], i.measured or "not logged", i.how)
                for i in opened.insight(last).invariants]  # fmt: skip
        findings = opened.diagnosis().findings
        counts = [_judged(check, metric, findings) for metric, check in _steps(run)]
        return sorted([*told, *counts], key=lambda check: STAGES.index(check.stage))
    finally:
        opened.close()


def _judged(check: Check, metric: str, findings: Iterable[Finding]) -> Check:
    """The check, moved to the stage of the worst active finding about the metric. Without a finding it is at most
    doubtful."""
    about = [f for f in findings if f.status == "active" and f.severity != "info" and f.evidence and f.stage]
    about = [f for f in about if f.evidence[0].metric == metric]
    if check.mark != "!!":
        return check
    if not about:
        return replace(check, mark="?")
    return replace(check, stage=max(about, key=lambda f: SEVERITY_RANK[f.severity]).stage or check.stage)


def _steps(run: Run) -> Iterator[tuple[str, Check]]:
    """Counts of suspicious steps, each with its metric."""

    @cache
    def values(name: str) -> Floats | None:
        series = run.series(name)
        return None if series is None else series.finite().values

    def share(stage: str, name: str, bad: np.ndarray | None, how: str) -> Check:
        """A violation if more than half of the steps are bad; doubtful if more than 5 % are."""
        if bad is None or not len(bad):
            return Check(stage, name, "skip", "not logged", how)
        hit = float(bad.mean())
        mark: Mark = "!!" if hit > 0.5 else "?" if hit > 0.05 else ""
        return Check(stage, name, mark, f"{int(bad.sum())} of {len(bad)} steps", how)

    gradient = values("grad_norm")
    none = None if gradient is None else gradient <= NO_GRADIENT
    yield "grad_norm", share("loss", "steps without a gradient", none, "norm ≤ 1e-10")
    how = "mean magnitude ≤ 1e-6 while the reward varies"
    yield "advantage_abs_mean", share("advantages", "steps without advantages", _dead(run), how)
    clipped = values("clip_frac")
    full = None if clipped is None else clipped >= ALL_CLIPPED
    yield "clip_frac", share("loss", "steps with everything clipped", full, "≥ 0.99")
    how = "|coefficient × KL| / |policy loss|"
    yield "kl_ref", share("loss", "KL term over ten times the policy term", _kl_share(run), how)
    yield "score_mean", _gain(run)


def _dead(run: Run) -> np.ndarray | None:
    size, spread = run.series("advantage_abs_mean"), run.series("reward_std")
    if size is None or spread is None:
        return None
    varies = dict(zip(spread.rows.tolist(), (spread.values > VARIES).tolist(), strict=True))
    return np.array(
        [v <= NO_ADVANTAGE for row, v in zip(size.rows.tolist(), size.values, strict=True) if varies.get(row)]
    )


def _kl_share(run: Run) -> np.ndarray | None:
    kl, policy = run.series("kl_ref"), run.series("pg_loss")
    entry = run.config.get("kl_coef_loss")
    coefficient = entry.value if entry is not None and entry.active else None
    if kl is None or policy is None or not isinstance(coefficient, int | float):
        return None
    term = dict(zip(policy.rows.tolist(), np.abs(policy.values).tolist(), strict=True))
    pairs = [
        (abs(k * coefficient), term[row]) for row, k in zip(kl.rows.tolist(), kl.values, strict=True) if row in term
    ]
    return np.array(
        [k >= KL_TERM * p and k > 1e-4 for k, p in pairs]
    )  # both may be near 0: on-policy, the loss is 0 by design


def _gain(run: Run) -> Check:
    name, how = "gain in reward, last third against first", f"above {GAIN}, at least {STEPS_FOR_GAIN} steps"
    series = run.series("score_mean") or run.series("reward_mean")
    values = np.empty(0) if series is None else series.finite().values
    if len(values) < STEPS_FOR_GAIN:
        return Check("reward", name, "skip", "too few steps", how)
    third = len(values) // 3
    gain = float(values[-third:].mean() - values[:third].mean())
    return Check("reward", name, "" if gain > GAIN else "?", f"{gain:+.3f}", how)

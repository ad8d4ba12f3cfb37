"""How well the diagnosis does, as a table.

    python -m tests.evaluation [--full]

Simulated runs, whose numbers can be had again anywhere: runs in which nothing happens (false alarms), planted faults
(delay, onset), and the best checkpoint of noisy validation (regret). With `--full` also the cases of public threads,
and the labelled runs where there are any (RLTUI_TEST_RUNS).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np

from rltui.diagnosis.engine import Engine
from rltui.evidence.look import look_rows
from rltui.evidence.model import Decision
from tests.conftest import labelled_runs
from tests.labels import confusion, judged, promises_missed, shares
from tests.unit.diagnosis.fake_run import FakeRun
from tests.unit.diagnosis.series import learning_run, noise, still_run
from tests.unit.rules.test_cases import CASES, judge

FAULT = 300
ROWS = 500


@dataclass(frozen=True, slots=True)
class Alarms:
    """False alarms in runs in which nothing happens."""

    rows: int
    warnings: int
    critical: int

    @property
    def per_1000(self) -> float:
        return 1000 * (self.warnings + self.critical) / self.rows

    @property
    def interval(self) -> tuple[float, float]:
        """95 % of a Poisson count (square roots, Anscombe), per 1,000 rows."""
        k, scale = self.warnings + self.critical, 1000 / self.rows
        low = max(0.0, (k + 0.375) ** 0.5 - 0.98) ** 2 - 0.375 if k else 0.0
        high = ((k + 1.375) ** 0.5 + 0.98) ** 2 - 0.375 if k else 3.0  # rule of three for none
        return max(0.0, low) * scale, high * scale


def false_alarms(runs: int, rows: int) -> Alarms:
    """Warnings and critical findings that open in `runs` runs of each of three kinds of noise."""
    warnings = critical = 0
    for rho in (0.0, 0.5, 0.8):
        for seed in range(runs):
            columns: Any = still_run(seed + int(1000 * rho), rows, rho)
            d = Engine().advance(FakeRun(columns, planned=rows).grow())
            warnings += sum(e.severity == "warning" for f in d.findings for e in f.episodes)
            critical += sum(e.severity == "critical" for f in d.findings for e in f.episodes)
    return Alarms(3 * runs * rows, warnings, critical)


def _from(start: int, length: int) -> np.ndarray:
    return np.clip((np.arange(ROWS) - start) / length, 0, 1)


def planted(kind: str, seed: int) -> Any:
    """A run that learns until row `FAULT`; then the fault."""
    c: Any = learning_run(seed, ROWS)
    score, fault = np.array(c["score_mean"]), _from(FAULT, 20)
    if kind == "reward collapses":
        c["score_mean"] = score * (1 - fault)
    elif kind == "gradient dies":
        c["grad_norm"] = np.where(np.arange(ROWS) >= FAULT, 0.0, np.array(c["grad_norm"]))
    elif kind == "loss is NaN":
        c["pg_loss"] = np.where(np.arange(ROWS) >= FAULT, np.nan, np.array(c["pg_loss"]))
    elif kind == "answers are cut":
        c["response_clip_ratio"], c["score_mean"] = 0.01 + 0.7 * fault, score * (1 - 0.4 * fault)
    elif kind == "entropy explodes":
        c["entropy"], c["score_mean"] = np.array(c["entropy"]) + 6 * fault, score * (1 - 0.8 * fault)
    elif kind == "KL runs away":
        c["kl_ref"], c["score_mean"] = np.array(c["kl_ref"]) * np.exp(4 * fault), score * (1 - 0.6 * fault)
    elif kind == "steps slow down":
        c["time_per_step_s"] = np.array(c["time_per_step_s"]) * (1 + 2 * fault)
    else:
        raise ValueError(kind)
    c["val_score"] = [None] * ROWS
    return c


FAULTS: dict[str, tuple[str, ...]] = {
    "reward collapses": ("reward-collapse", "reward-peak-decline"),
    "gradient dies": ("no-learning-signal",),
    "loss is NaN": ("nonfinite-values",),
    "answers are cut": ("truncation-high",),
    "entropy explodes": ("entropy-explosion",),
    "KL runs away": ("kl-runaway",),
    "steps slow down": ("step-time-regression",),
}


@dataclass(frozen=True, slots=True)
class Delay:
    """Rows from a fault to its first warning, error of the onset that is named then, and the verdict at the end."""

    rows: int | None
    onset_error: int | None
    decision: str


def delay(kind: str, seed: int) -> Delay:
    run, engine = FakeRun(planted(kind, seed), planned=2 * ROWS), Engine()
    engine.advance(run.grow(FAULT))
    for n in look_rows(FAULT):
        if n > ROWS:
            break
        d = engine.advance(run.grow(n))
        found = [f for f in d.findings if f.id in FAULTS[kind] and f.severity != "info"]
        if found:
            onset = min(abs((f.onset_step or 0) - FAULT - 1) for f in found)
            return Delay(n - FAULT, onset, engine.advance(run.grow()).verdict.decision)
    return Delay(None, None, engine.advance(run.grow()).verdict.decision)


def regret(seeds: int, sd: float = 0.03) -> tuple[float, float]:
    """What is lost by the checkpoint named best, and by the raw maximum, on 40 noisy evaluations of a known curve."""
    ours, raw = [], []
    t = np.arange(40)
    truth = 0.3 + 0.3 * np.minimum(1, t / 22) - 0.15 * np.clip((t - 24) / 16, 0, 1)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        seen = truth + sd * rng.standard_normal(40)
        columns: Any = {
            "val_score": [float(v) for v in seen],
            "score_mean": 0.5 + 0.02 * noise(rng, 40),
        }
        best = Engine().advance(FakeRun(columns).grow()).verdict.best_checkpoint
        assert best is not None
        ours.append(truth.max() - truth[best.step - 1])
        raw.append(truth.max() - truth[int(seen.argmax())])
    return float(np.mean(ours)), float(np.mean(raw))


def table(pairs: list[tuple[tuple[Decision, ...], Decision]]) -> str:
    """Wanted verdicts down, judged ones across."""
    counts = confusion(pairs)
    shown = [d for d in get_args(Decision) if any(d in pair for pair in counts)]
    lines = [f"| wanted \\ judged | {' | '.join(shown)} |", "|---" * (len(shown) + 1) + "|"]
    for wanted in shown:
        cells = [str(counts[wanted, judged] or "") for judged in shown]
        lines.append(f"| {wanted} | {' | '.join(cells)} |")
    return "\n".join(lines)


def print_cases() -> None:
    done = [judge(case) for case in CASES]
    asked, missed = sum(o.asked for o, _ in done), sum(len(o.missed) for o, _ in done)
    wrong = sum(bool(o.wrong_verdict) for o, _ in done)
    print(f"\n{len(done)} cases of public threads: rules {asked - missed} of {asked}, ", end="")
    print(f"false {sum(len(o.false) for o, _ in done)}, verdicts {len(done) - wrong} of {len(done)}")
    print(table([(tuple(case["verdict"]), d.verdict.decision) for case, (_, d) in zip(CASES, done, strict=True)]))


def print_labelled(root: Path) -> dict[str, list[str]]:
    """What is promised and missed."""
    runs = list(judged(root))
    print(f"\n{len(runs)} labelled runs:", ", ".join(f"{p} {k} of {n}" for p, (k, n) in shares(runs).items()))
    healthy = [r for r in runs if r.healthy]
    rows, loud = sum(r.rows for r in healthy), sum(r.loud for r in healthy)
    print(f"open warnings on the {len(healthy)} healthy ones: {loud} in {rows} rows")
    print(table([(r.accepted, r.decision) for r in runs]))
    return promises_missed(runs)


def main(words: list[str]) -> None:
    full = "--full" in words
    alarms = false_alarms(8 if full else 2, 2000 if full else 1000)
    low, high = alarms.interval
    print("| measure | value |\n|---|---|")
    print(f"| rows in which nothing happens | {alarms.rows:,} |")
    print(f"| warnings, critical findings | {alarms.warnings}, {alarms.critical} |")
    print(f"| false alarms per 1,000 rows (95 %) | {alarms.per_1000:.3f} ({low:.3f} to {high:.3f}) |")
    for kind in FAULTS:
        seen = [delay(kind, seed) for seed in range(5 if full else 2)]
        rows = [s.rows for s in seen if s.rows is not None]
        errors = [s.onset_error for s in seen if s.onset_error is not None]
        found = (
            f"{len(rows)} of {len(seen)}, after {np.median(rows):.0f} rows, onset ± {max(errors)}" if rows else "never"
        )
        print(f"| {kind} | {found}; {', '.join(sorted({s.decision for s in seen}))} |")
    ours, raw = regret(100 if full else 20)
    print(f"| regret of the best checkpoint (of the raw maximum) | {ours:.4f} ({raw:.4f}) |")
    root = labelled_runs()
    if full:
        print_cases()
    if full and root is not None:
        missed = print_labelled(root)
        if missed:
            sys.exit(f"promised and missed: {missed}")

"""A run of which every surface says the same: where a lie is planted."""

from __future__ import annotations

from typing import Any

from tests.contradictions.page import read_page
from tests.contradictions.surfaces import Json, Said

PAGE = """# honest

**✗ STOP · KEEP 40** Reward collapsed, since step 50. Reward fell from 0.8 to 0.1.

unstable · confidence 0.90 · 40 checks ran, 12 could not

## 1. Run

- Framework: verl; algorithm: GRPO
- State: **running**
- Steps: 1 to 60 of 100 planned, 60 training steps read
- Time left: 40 s

## 2. Metric diagnosis

| metric | first | mid | last | change | slope | corr | min | max | shape | key |
| --- | --: | --: | --: | --: | --: | --: | --: | --: | --- | --- |
| reward mean | 0.800 | 0.500 | 0.100 | −88 % | −1.20 | −0.90 | 0.100 | 0.800 | falls | `reward` |

## 3. Behavioural symptoms

### ✗ critical · Reward collapsed, since step 50

- reward mean 0.800 → 0.500 → 0.100

## 6. Continue or stop

- Decision: **✗ STOP · KEEP 40** (stop-use-best), confidence 0.90
- Because: Reward collapsed (`reward-collapse`)
- Best checkpoint: **step 40** at `ckpt/40`, reward mean 0.800 ± 0.020, on disk
- Forecast: 40 steps left. It would change with the pace.

## 7. Step time

A step takes 1.00 s. Medians over the last 20 steps.

## 8. Pipeline

| stage | status | because |
| --- | --- | --- |
| reward | ✗ critical | Reward collapsed |
| loss | ✓ pass | 9 checks |

## 9. Unknowns and missing logs

12 of 13 expected metrics are logged.
"""

MAIN = """ honest   GRPO · verl        step 60 / 100   60 %   ETA 40 s   ● live
  ✗ STOP · KEEP 40   Reward collapsed, since step 50. Reward fell from 0.8 to 0.1.
      Keep global_step_40, reward mean 0.800 ± 0.020, on disk.
      Confidence 0.90.
 pipeline  reward ✗  ›  loss ✓          40 checks, 12 could not run
 1 Findings  1 critical ────
 ▌✗ critical  Reward collapsed       reward mean   0.800 →   0.500 →   0.100    −88 %   since 50   open
 2 Metrics ────
   reward mean          ▁▂▃▄▅▆▇█▁▁▁▁▁    0.100    −88 %   reward
"""

PIPELINE = """ honest  ›  Pipeline
  1 reward        ✗ critical        Reward collapsed
  2 loss          ✓ pass        9 checks
  ✓ pass      finite         0 of 60
"""

COVERAGE = """ honest  ›  Coverage
  12 of 13 expected metrics are logged
  40 checks ran, 12 could not
  1 do not apply to this kind of run
  CHECKS THAT COULD NOT RUN    needs     how to log it
  ? Data repeated              epoch     log it
"""

DECISION = """ honest  ›  Decision
   ✗ STOP · KEEP 40   confidence 0.90
  KL up   reward down   validation not known
  divergence
  GAIN AGAINST COST
  the next 40 steps bring nothing
"""

METRIC = """ honest  ›  Metrics  ›  reward mean

 reward mean  0.100    −88 % since its first window   reward
   first window           0.800
   last window            0.100
   max                    0.800
   shape  falls
"""

FINDING = """ honest  ›  Findings  ›  1 of 1
 ✗ critical  Reward collapsed   since 50, 10 steps, open   confidence 0.90
 reward mean  0.800 → 0.500 → 0.100
"""

CONFIG = """ honest  ›  Run and config            60/100  60 %  ● live
  state      running: the newest row is 3 s old
  SOURCES
  jsonl                 60 rows     metrics.jsonl
  CONFIG                  value                               key
  lr                      1e-6                                lr
"""

PHASES = """ honest  ›  Step time            60/100  60 %  ● live
 3 One step ────
 ▌  generation      ████████        0.40    40 %  40–80 %
 Seconds over the steps ────
"""

GPU = """ honest  ›  GPU and host            60/100  60 %  ● live
 Logged by the run ────
  host memory           ▅▅▅▅▅▅      3.00 GB              1.00–3.00
"""

ROLLOUTS = """ honest  ›  Rollouts            60/100  60 %  ● live
  No generated text found: this is a limit of the monitoring, not a sign of health.
"""

ENTRY = """## honest: step 60/100, 2026-01-01T00:00:00Z

- Health: degraded, running. **✗ STOP · KEEP 40** Reward collapsed, since step 50. Reward fell from 0.8 to 0.1.
- Progress: reward mean 0.800 → 0.100
- Stability: not logged
- Performance: 40 s left
- Notes: critical: Reward collapsed since step 50 (`reward-collapse`); best checkpoint 40
"""


def metric(first: float, last: float, **more: Any) -> Json:
    words = {"shape": "falls", "label": "reward mean", "group": "reward", "unit": "reward"}
    middle = 0.5 if first > last else (first + last) / 2
    numbers = {"first": first, "mid": middle, "last": last, "min": last, "max": first, "first_value": first}
    numbers |= {"mean": middle, "slope_per_100_steps": -1.2, "corr_step": -0.9}
    known = {"key": "reward", "canonical": "reward_mean", "steady": False, "overlap": False, "count": 60, "left_out": 0}
    return {**known, "last_value": last, **numbers, **words, **more}


def finding(id: str = "reward-collapse", **more: Any) -> Json:
    evidence = {"metric": "reward_mean", "key": "reward", "first": 0.8, "mid": 0.5, "last": 0.1}
    return {
        "id": id,
        "subject": None,
        "title": "Reward collapsed",
        "severity": "critical",
        "peak_severity": "critical",
        "status": "active",
        "episodes": [{"onset_step": 50, "end_step": None, "severity": "critical"}],
        "stage": "reward",
        "onset_step": 50,
        "last_step": 60,
        "root": None,
        "evidence": [evidence],
        "confidence": 0.9,
        "causes": [{"config_key": "lr", "value": 1e-6, "status": "supported"}],
        "summary": "Reward fell from 0.8 to 0.1.",
        **more,
    }


def honest() -> Said:
    """A run of which every surface says the same."""
    report: Json = {
        "run": {
            "state": "running",
            "framework": "verl",
            "algorithm": "GRPO",
            "eta_s": 40.0,
            "restarts": [],
            "sources": [{"format": "jsonl", "rows": 60}],
            "steps": {"first": 1, "last": 60, "total": 100, "rows": 60},
        },
        "verdict": {
            "decision": "stop-use-best",
            "kinds": ["unstable"],
            "badge": "STOP · KEEP 40",
            "would_change": "",
            "because": ["reward-collapse"],
            "text": "Reward collapsed, since step 50. Reward fell from 0.8 to 0.1.",
            "best_checkpoint": {"step": 40, "path": "ckpt/40", "on_disk": True, "metric": "reward"}
            | {"value": 0.8, "se": 0.02, "basis": "train reward"},
            "confidence": 0.9,
        },
        "findings": [finding()],
        "metrics": {
            "reward_mean": metric(0.8, 0.1),
            "host_memory_gb": metric(1.0, 3.0, key="ram", label="host memory", group="memory", min=1.0, max=3.0)
            | {"shape": "rises"},
            "time_per_step_s": metric(1.0, 1.0, key="time", label="step time", group="time", shape="level"),
        },
        "phases": {"step_s": 1.0, "items": [{"name": "generation", "seconds": 0.4, "share": 0.4}]},
        "rollouts": {"count": 0},
        "pipeline": [
            {"stage": "reward", "status": "fail", "because": ""},
            {"stage": "loss", "status": "pass", "because": ""},
        ],
        "outlook": {
            "invariants": [],
            "kl_reward": {
                "kl": "up",
                "reward": "down",
                "validation": "none",
                "reading": "divergence",
                "advice": "stop now",
            },
            "worth": {"text": "the next 40 steps bring nothing"},
            "forecasts": [{"what": "end", "at": 40.0, "text": "40 steps left"}],
        },
        "checks": 40,
        "not_evaluable": [{"title": "Data repeated"}] * 12,
        "not_applicable": [{"title": "Critic predicts no better than a constant"}],
        "coverage": {"expected": 13, "present": 12, "missing": [{"metric": "epoch"}]},
        "config": {"lr": {"key": "lr", "value": 1e-6, "active": True}},
        "moved": [],
        "facts": {
            "dead_groups": {"value": 0.5, "rows": 20},
            "cut": None,
            "clock": {"step": 60, "first_step": 1, "planned_steps": 100},
            "pace": {"left_s": 40.0},
            "score": {"metric": "reward_mean", "key": "reward", "first": 0.8, "last": 0.1}
            | {"peak": {"value": 0.8, "step": 40}, "since_start": {"value": -0.7, "direction": -1}}
            | {"moves": False},
            "reward": None,
            "validation": None,
        },
        "checks_failed": [],
    }
    row: Json = {"state": "running", "last_step": 60, "total_steps": 100, "framework": "verl", "algorithm": "GRPO"}
    row |= {"decision": None, "health": "unknown", "signs": [], "values": {"reward_mean": 0.1}}
    said = Said("honest", report, read_page(PAGE))
    said.ends = dict(row)
    said.whole = row | {"decision": "stop-use-best", "critical": 1, "warnings": 0}
    said.compared = {
        "state": "running",
        "framework": "verl",
        "algorithm": "GRPO",
        "decision": "stop-use-best",
        "flags": [{"word": "collapse", "finding": "reward-collapse"}],
        "group": "ugly",
        "best_step": 40,
        "best": 0.8,
        "se": 0.02,
        "last": 0.1,
    }
    event = {"event": "summary", "state": "running", "step": 60, "total": 100, "finding": None, "severity": None}
    event |= {"onset_step": None, "badge": "STOP · KEEP 40", "decision": "stop-use-best"}
    said.watched = [event | {"text": report["verdict"]["text"]}]
    said.watched.append(
        event
        | {"event": "opened", "finding": "reward-collapse", "subject": None, "severity": "critical"}
        | {"onset_step": 50, "text": "Reward fell from 0.8 to 0.1."}
    )
    said.hooked = [dict(said.watched[1])]
    said.lines = [
        f"2026-01-01 00:00:00  honest  step 60/100  summary  running: {report['verdict']['text']}  (STOP · KEEP 40)",
        "2026-01-01 00:00:00  honest  step 60/100  critical opened  reward-collapse since step 50: "
        "Reward fell from 0.8 to 0.1.  (STOP · KEEP 40)",
        "2026-01-01 00:00:01  done: the time is over",
    ]
    said.entry = ENTRY
    said.listed = "honest  verl GRPO  running  60/100  3 s  0.100  tail: unknown"
    said.row = "ugly\nhonest   ▁▂▃▄▅▆▇█        0.800    0.020    0.100      60   collapse"
    said.held = [{"mark": "", "stage": "loss", "name": "finite", "value": "0 of 60"}]
    then = {**report, "verdict": {**report["verdict"], "badge": "CONTINUE", "text": "All clear: 40 checks ran."}}
    then |= {"findings": [], "run": {**report["run"], "steps": {"first": 1, "last": 30, "total": 100}}}
    then["verdict"] = {**then["verdict"], "best_checkpoint": None}
    said.earlier = {30: then}
    said.cut = {30: then}
    said.travelled = {30: "as at step 30 of 60   CONTINUE  All clear: 40 checks ran.  1 Findings ──"}
    said.screens = {"main": MAIN, "pipeline": PIPELINE, "coverage": COVERAGE}
    said.screens |= {"decision": DECISION, "metric": METRIC, "finding": FINDING}
    said.screens |= {"config": CONFIG, "phases": PHASES, "gpu": GPU, "rollouts": ROLLOUTS}
    said.explained = {"reward-collapse": {"title": "Reward collapsed", "stage": "reward", "severity": "critical"}}
    said.picked = " honest   verl GRPO   60/100   3 s   ● running   0.1   ? not looked at"
    return said

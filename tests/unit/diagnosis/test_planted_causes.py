"""A fault is planted in a run that learns, and its cause has to come first. Each run is written as a trainer would
write it (metrics, config, log) and read as `rltui report` reads it: the cause leads, the short page shows none that the
run contradicts, and no finding asks for more than three changes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from tests.unit.diagnosis.written import learning, wave, write
from tests.unit.reported import told

ROWS, AT = 160, 100
ACTOR = "actor_rollout_ref.actor"
CONFIG: Mapping[str, object] = {
    "algorithm.adv_estimator": "grpo",
    f"{ACTOR}.optim.lr": 1e-6,
    f"{ACTOR}.use_kl_loss": True,
    f"{ACTOR}.kl_loss_coef": 0.005,
    f"{ACTOR}.clip_ratio_high": 0.28,
    f"{ACTOR}.entropy_coeff": 0.0,
    f"{ACTOR}.ppo_epochs": 1,
    f"{ACTOR}.ppo_mini_batch_size": 128,
    f"{ACTOR}.grad_clip": 1.0,
    "actor_rollout_ref.rollout.n": 8,
    "actor_rollout_ref.rollout.temperature": 1.0,
    "data.train_batch_size": 128,
    "data.max_response_length": 2048,
    "trainer.save_freq": 50,
}
PHASES = {
    "reward_s": "timing_s/reward",
    "gen_s": "timing_s/gen",
    "update_s": "timing_s/update_actor",
    "save_s": "timing_s/save_checkpoint",
    "dead": "frac_reward_zero_std",
    "mismatch": "training/rollout_probs_diff_mean",
}
Plant = Callable[[dict[str, np.ndarray]], None]


def since(before: float, after: float, noise: float = 0.0, over: int = 1, at: int = AT) -> np.ndarray:
    """A level that goes over to another one from row `at` on, within so many rows."""
    share = np.clip((np.arange(ROWS) - at + 1) / over, 0, 1)
    return (before + (after - before) * share) * (1 + wave(0, noise, ROWS, 11))


def timed(columns: dict[str, np.ndarray], **phases: np.ndarray) -> None:
    """Phases of a step, and the step as their sum."""
    usual = {"reward_s": wave(3, 0.1, ROWS, 21), "gen_s": wave(15, 0.3, ROWS, 22), "update_s": wave(12, 0.2, ROWS, 23)}
    columns.update(usual | phases)
    columns["step_s"] = sum((usual | phases).values(), wave(0.5, 0.05, ROWS, 24))


def reward_falls(columns: dict[str, np.ndarray], to: float = 0.03, over: int = 20, at: int = AT + 5) -> None:
    columns["score"] = np.minimum(columns["score"], since(0.8, to, 0.02, over, at))


def longer_answers(c: dict[str, np.ndarray]) -> None:
    c["length"] = since(300, 780, 0.02)
    timed(c, gen_s=since(15, 39, 0.02), update_s=since(12, 31, 0.02))


def slower_tokens(c: dict[str, np.ndarray]) -> None:
    timed(c, gen_s=since(15, 60, 0.02))


def slow_grader(c: dict[str, np.ndarray]) -> None:
    c["length"] = since(300, 306, 0.01)
    timed(c, reward_s=since(3, 36, 0.02))


def slow_saves(c: dict[str, np.ndarray]) -> None:
    timed(c, save_s=since(0, 40, 0.02))


def grader_down(c: dict[str, np.ndarray]) -> None:
    c["score"] = np.where(np.arange(ROWS) >= AT, 0.0, c["score"])
    c["score_max"] = np.where(np.arange(ROWS) >= AT, 0.0, 1.0)
    c["score_min"] = np.zeros(ROWS)


def rate_jumps(c: dict[str, np.ndarray]) -> None:
    c["lr"] = since(1e-6, 2e-5)
    c["grad"] = since(0.5, 6, 0.1, 10)
    c["kl"] = c["kl"] + since(0, 3, 0.02, 15)
    reward_falls(c)


def answers_cut(c: dict[str, np.ndarray]) -> None:
    c["lr"] = wave(1e-6, 0, ROWS)
    c["length"] = since(300, 1900, 0.02, 20)
    c["longest"] = np.minimum(2048, c["length"] * 2)
    c["cut"] = np.clip(since(0.01, 0.85, 0.02, 20), 0, 1)
    reward_falls(c)


def limit_too_small(c: dict[str, np.ndarray]) -> None:
    c["length"] = wave(1800, 20, ROWS, 7)
    c["longest"] = wave(2048, 0, ROWS)
    c["cut"] = np.clip(wave(0.7, 0.02, ROWS, 8), 0, 1)
    c["score"] = np.clip(wave(0.1, 0.01, ROWS, 1), 0, 1)


def entropy_bonus(c: dict[str, np.ndarray]) -> None:
    c["lr"] = wave(1e-6, 0, ROWS)
    c["entropy"] = since(0.8, 7, 0.02, 40, 70)
    reward_falls(c)


def symmetric_clip(c: dict[str, np.ndarray]) -> None:
    c["lr"] = wave(1e-6, 0, ROWS)
    c["entropy"] = np.maximum(0.004, since(0.8, 0.005, 0.02, 60, 30))
    c["score"] = np.minimum(c["score"], 0.45 + wave(0, 0.01, ROWS, 1))
    c["dead"] = np.clip(since(0.2, 0.9, 0.02, 60, 30), 0, 1)


def sampler_drifts(c: dict[str, np.ndarray]) -> None:
    c["lr"] = wave(1e-6, 0, ROWS)
    c["mismatch"] = since(0.004, 0.12, 0.05, 30, 70)
    c["grad"] = since(0.5, 30, 0.1, 30, 90)
    reward_falls(c)


def rate_is_zero(c: dict[str, np.ndarray]) -> None:
    c["lr"] = np.zeros(ROWS)
    c["score"] = np.clip(wave(0.3, 0.015, ROWS, 1), 0, 1)
    c["grad"] = np.zeros(ROWS)
    c["kl"] = np.full(ROWS, 1e-7)


def format_farmed(c: dict[str, np.ndarray]) -> None:
    c["lr"] = wave(1e-6, 0, ROWS)
    c["reward_extra_info/accuracy/mean"] = np.clip(since(0.5, 0.1, 0.03, 40, 60), 0, 1)
    c["reward_extra_info/format/mean"] = np.clip(since(0.3, 0.98, 0.02, 40, 60), 0, 1)
    c["score"] = 0.5 * c["reward_extra_info/accuracy/mean"] + c["reward_extra_info/format/mean"]


@dataclass(frozen=True)
class Planted:
    """`rule`: the finding that is asked; `cause`: how its first cause begins."""

    plant: Plant
    rule: str
    cause: str
    config: Mapping[str, object] = field(default_factory=dict)
    log: str = ""


DISK = """Traceback (most recent call last):
  File "/app/main_ppo.py", line 40, in fit
    self._save_checkpoint()
  File "/opt/env/lib/python3.11/site-packages/torch/serialization.py", line 850, in save
OSError: [Errno 28] No space left on device: '/ckpt/global_step_150/model.pt'
"""
BEGAN = "Started a local Ray instance. View the dashboard at 127.0.0.1:8265\nTotal training steps: 160\n"
SERVICE = BEGAN + "".join(
    f"2026-01-01 10:{n:02}:00 WARNING reward_client: HTTP 503 Service Unavailable from http://rm:8000/score, try {n}\n"
    for n in range(12)
)
CASES = {
    "longer answers": Planted(longer_answers, "step-time-regression", "Longer responses"),
    "slower tokens": Planted(slower_tokens, "step-time-regression", "Generation writes fewer tokens"),
    "slow grader": Planted(slow_grader, "step-time-regression", "Slow reward or tools"),
    "slow saves": Planted(slow_saves, "step-time-regression", "Checkpoints or validation"),
    "grader down": Planted(grader_down, "reward-function-fault", "The sandbox or the remote reward", log=SERVICE),
    "rate jumps": Planted(rate_jumps, "reward-collapse", "Steps too large"),
    "answers cut": Planted(answers_cut, "reward-collapse", "Responses no longer end"),
    "limit too small": Planted(limit_too_small, "truncation-high", "Length limit too small"),
    "entropy bonus": Planted(entropy_bonus, "entropy-explosion", "Entropy bonus", {f"{ACTOR}.entropy_coeff": 0.02}),
    "symmetric clip": Planted(
        symmetric_clip, "entropy-collapse", "A symmetric clip", {f"{ACTOR}.clip_ratio_high": 0.2}
    ),
    "sampler drifts": Planted(sampler_drifts, "grad-norm-explosion", "Trainer and sampler disagree"),
    "rate is zero": Planted(
        rate_is_zero, "reward-flat-from-start", "Learning rate too low", {f"{ACTOR}.optim.lr": 0.0}
    ),
    "format farmed": Planted(format_farmed, "reward-component-decoupling", "The extra part is cheaper"),
    "disk full": Planted(lambda c: None, "run-crashed", "The disk was full", log=DISK),
}


def planted(case: Planted, folder: Path) -> Path:
    """The run in which the cause is planted, as a trainer would write it."""
    columns = learning(ROWS)
    timed(columns)
    columns["lr"] = wave(1e-6, 0, ROWS)
    case.plant(columns)
    write(folder, {PHASES.get(name, name): values for name, values in columns.items()})
    (folder / "config.json").write_text(json.dumps({**CONFIG, **case.config}), encoding="utf-8")
    if case.log:
        (folder / "train.log").write_text(case.log, encoding="utf-8")
    return folder


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_the_planted_cause_leads(case: Planted, tmp_path: Path) -> None:
    page, _, report = told(planted(case, tmp_path / "run"))
    finding = next((f for f in report["findings"] if f["id"] == case.rule), None)
    assert finding is not None, [(f["id"], f["severity"]) for f in report["findings"]]
    lead = finding["causes"][0]
    assert (lead["status"], lead["text"][: len(case.cause)]) == ("supported", case.cause), finding["causes"]
    assert re.search(r"\d", lead["because"]) or case.log, "it names its numbers"
    order = ["supported", "untestable", "contradicted"]
    for one in report["findings"]:
        ranks = [order.index(cause["status"]) for cause in one["causes"]]
        assert ranks == sorted(ranks), one["id"]
        assert all(cause["because"] for cause in one["causes"]), one["id"]
        assert len(one["fixes"]) <= 3, one["id"]
        for cause in one["causes"]:
            if cause["status"] == "contradicted":
                assert f"{cause['text']}:" not in page
                assert f" {cause['text']} (" not in page

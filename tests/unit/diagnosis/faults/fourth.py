"""A fourth lot: what holds still, grows noisy, fades, or changes at once. A learning rate that warms up is no jump."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.speed import BEGAN
from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to


def warmed_up(c: Columns, n: int) -> None:
    c["lr"] = 1e-6 * np.minimum(1, (np.arange(n) + 1) / 10)


def noisy_judge(c: Columns, n: int) -> None:
    """The judge throws dice from two fifths on; what is right by rule is scored as before."""
    warmed_up(c, n)
    rng = np.random.default_rng(1)
    c["part:exact"] = noisy(c["reward"] * 0.6, 0.02, 2)
    c["part:judge"] = 0.3 + rng.normal(0, to(n, 0.01, 0.12, int(0.4 * n)))
    c["reward"] = c["score"] = c["part:exact"] + c["part:judge"]


def idle_critic(c: Columns, n: int) -> None:
    c["vf_loss"] = noisy(np.full(n, 0.42), 0.05, 3)
    c["explained"] = np.random.default_rng(4).normal(0.0, 0.02, n)
    c["values"] = noisy(np.full(n, 0.05), 0.03, 5)
    c["reward"] = c["score"] = noisy(np.full(n, 0.25), 0.05, 6)


def short_schedule(c: Columns, n: int) -> None:
    """A linear decay that was planned for half of the steps."""
    end = n // 2
    c["lr"] = 2e-6 * np.clip(1 - np.arange(n) / end, 0, 1)
    for name in ("reward", "score", "val", "kl"):
        c[name] = noisy(np.minimum(c[name], np.median(c[name][end - 5 : end + 5])), 0.02, 7)


def moments_lost(c: Columns, n: int) -> None:
    """A restart 30 rows before the end, with an optimiser that knows nothing."""
    warmed_up(c, n)
    c["grad"] *= to(n, 1, 6, n - 30)
    c["loss"] += to(n, 0, 0.1, n - 30)
    c["kl"] *= to(n, 1, 4, n - 30, 3)
    c["reward"] = c["score"] = c["reward"] * to(n, 1, 0.45, n - 30, 4)


def counted_against(c: Columns, n: int) -> None:
    """What is right counts -1, beside a part of as much noise of its own."""
    right = np.clip(noisy(0.5 * np.exp(-np.arange(n) / 50), 0.04, 8), 0, 1)
    style = 0.2 + np.random.default_rng(9).normal(0, 0.02, n)
    c["part:correctness"], c["part:style"], c["val"] = right, style, right
    c["reward"] = c["score"] = style - right


def other_prompts(c: Columns, n: int) -> None:
    warmed_up(c, n)
    c["prompt"] = noisy(to(n, 180, 420, n // 2), 0.03, 10)
    c["reward"] = c["score"] = c["reward"] * to(n, 1, 0.55, n // 2)


def stricter_grader(c: Columns, n: int) -> None:
    warmed_up(c, n)
    c["reward"] = c["score"] = c["reward"] * to(n, 1, 0.5, n // 2)


def other_questions(c: Columns, n: int) -> None:
    warmed_up(c, n)
    c["val"] = c["val"] * to(n, 1, 0.5, n // 2)


NO_STEPS = r"learning rate|steps too large"
FOURTH = {
    "judge that throws dice": Fault(
        "the judge became noisy",
        "trl",
        noisy_judge,
        r"grading became noisier, or prompts more mixed \(judge",
        untrue=NO_STEPS,
        rows=200,
        seed=121,
        mild="reward-noise-dominates",
    ),
    "idle critic": Fault(
        "the critic is in no optimiser",
        "verl",
        idle_critic,
        r"critic is not trained|critic does not learn",
        untrue=r"warmed up|learning rate",
        seed=122,
        config={"algorithm.adv_estimator": "gae"},
        mild="critic-uninformative",
    ),
    "short schedule": Fault(
        "the schedule ended in mid-run", "trl", short_schedule, r"schedule ended", untrue="frozen", rows=200, seed=123
    ),
    "moments lost": Fault(
        "the optimiser's state was lost at a restart",
        "verl",
        moments_lost,
        r"restart|not restored",
        untrue=NO_STEPS,
        log=BEGAN + "Resuming from /ckpt/run/global_step_130\n",
        seed=124,
    ),
    "counted against": Fault(
        "the right answers count -1", "trl", counted_against, r"wrong sign", untrue=r"cheaper", seed=125
    ),
    "other prompts": Fault(
        "other data with longer prompts",
        "verl",
        other_prompts,
        r"prompts have another length",
        untrue=NO_STEPS,
        seed=126,
    ),
    "stricter grader": Fault(
        "another grader from one step on",
        "openrlhf",
        stricter_grader,
        r"policy is as before",
        untrue=NO_STEPS,
        seed=127,
    ),
    "other questions": Fault(
        "another validation set from one step on",
        "nemo_rl",
        other_questions,
        r"validation set or its grading changed",
        untrue=NO_STEPS,
        rows=240,
        seed=128,
    ),
}

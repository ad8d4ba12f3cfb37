"""A fifth lot: two explanations that both sound right, of which the run's own numbers leave one."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.fourth import warmed_up
from tests.unit.diagnosis.faults.speed import BEGAN, nothing
from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to


def bonus_too_large(c: Columns, n: int) -> None:
    """Entropy rises from the start; the distance to the reference follows, and then the reward."""
    warmed_up(c, n)
    rise = np.clip(np.arange(n) / (0.7 * n), 0, 1)
    c["entropy"] = noisy(0.6 + 5 * rise**1.5, 0.02, 11)
    c["kl"] = noisy(0.005 + 1.4 * rise**2, 0.05, 12)
    c["reward"] = c["score"] = noisy(np.clip(0.5 - 0.4 * np.clip((rise - 0.5) * 2, 0, 1), 0, 1), 0.04, 13)


def longer_prompts(c: Columns, n: int) -> None:
    """Prompts of another data set: as many tokens a step more as time, and not one in the answers."""
    times = to(n, 1.0, 6.0, n // 2)
    c["prompt"] = noisy(250 * times, 0.02, 14)
    for name in sorted({"old_s", "ref_s", "update_s"} & c.keys()):
        c[name] = noisy(c[name] * times, 0.02, 15)


def tools_gone(c: Columns, n: int) -> None:
    c["tools"] = noisy(np.full(n, 2.0), 0.03, 16)
    c["failed_tools"] = np.clip(noisy(to(n, 0.03, 0.97, int(0.7 * n)), 0.01, 17), 0, 1)
    c["reward"] = noisy(c["reward"] * to(n, 1.0, 0.5, int(0.7 * n)), 0.02, 18)


def weights_change(c: Columns, n: int) -> None:
    """What style counts fades; both parts do as well as before."""
    warmed_up(c, n)
    c["part:correct"] = noisy(0.4 + 0.1 * np.arange(n) / n, 0.02, 19)
    c["part:style"] = noisy(np.full(n, 0.9), 0.01, 20)
    c["reward"] = c["part:correct"] + to(n, 1.0, 0.1, n // 2, n // 4) * c["part:style"]


def hardly_right(c: Columns, n: int) -> None:
    warmed_up(c, n)
    c["reward"] = c["score"] = np.abs(np.random.default_rng(21).normal(0.012, 0.004, n))
    c["score_min"], c["score_max"] = np.zeros(n), np.ones(n)
    c["kl"] = noisy(np.full(n, 0.0006), 0.1, 22)


def noisy_rewards(c: Columns, n: int) -> None:
    """The reward model throws dice from the middle on. Its best mean of some rows is chance."""
    warmed_up(c, n)
    c["reward"] = c["score"] = noisy(1.2 + 0.2 * (1 - np.exp(-np.arange(n) / 20)), 0.02, 23)
    c["reward"] += np.random.default_rng(24).normal(0, to(n, 0, 0.4, n // 2))
    c["score"] = c["reward"]


def tight_range(c: Columns, n: int) -> None:
    c["clip"] = noisy(np.full(n, 0.42), 0.05, 25)
    c["ppo_kl"] = noisy(np.full(n, 3e-4), 0.2, 26)


GPU_FULL = (
    f"{BEGAN}Traceback (most recent call last):\n"
    '  File "/opt/verl/trainer/ppo/ray_trainer.py", line 1011, in fit\n'
    "    actor_output = self.actor_rollout_wg.update_actor(batch)\n"
    "ray.exceptions.RayTaskError(OutOfMemoryError): ray::WorkerDict.actor_rollout_update_actor() (pid=2212)\n"
    '  File "/opt/verl/workers/actor/dp_actor.py", line 431, in update_policy\n'
    "    loss.backward()\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.12 GiB. GPU 2 has a total capacity of 79.10 GiB "
    "of which 1.41 GiB is free.\n"
)
REFUSED = "".join(
    f"2026-02-01 11:{m:02}:10,001 - sandbox - ERROR - POST http://sandbox:9000/run failed: Connection refused\n"
    for m in range(5)
)

FIFTH = {
    "entropy bonus": Fault(
        "the entropy bonus is too large",
        "verl",
        bonus_too_large,
        r"entropy bonus too large",
        untrue=r"updates per rollout",
        config={
            "actor_rollout_ref.actor.entropy_coeff": 0.03,
            "actor_rollout_ref.actor.ppo_mini_batch_size": 128,
        },
        seed=131,
    ),
    "longer prompts": Fault(
        "prompts became six times as long, answers did not",
        "verl",
        longer_prompts,
        r"longer prompts",
        untrue=r"responses",
        seed=132,
    ),
    "tools gone": Fault(
        "the sandbox refuses connections",
        "trl",
        tools_gone,
        r"tool server is down",
        untrue=r"schema|parser",
        log=BEGAN + REFUSED,
        seed=133,
    ),
    "weights change": Fault(
        "a part of the reward counts less and less",
        "trl",
        weights_change,
        r"weights of the reward's parts",
        untrue=r"disagree|too large",
        seed=134,
    ),
    "hardly right": Fault(
        "the task is too hard: one answer in a hundred is right",
        "verl",
        hardly_right,
        r"too hard",
        untrue=r"learning rate",
        seed=135,
    ),
    "noisy rewards": Fault(
        "the reward model became noisy",
        "openrlhf",
        noisy_rewards,
        r"grading became noisier",
        untrue=r"drift|learning rate",
        rows=200,
        seed=136,
    ),
    "tight range": Fault(
        "the clip range is a twentieth of what it should be",
        "verl",
        tight_range,
        r"far below the usual one for tokens",
        untrue=r"updates per rollout",
        mild="cfg-clip-range-wrong-scale",
        config={
            "actor_rollout_ref.actor.clip_ratio_low": 0.01,
            "actor_rollout_ref.actor.clip_ratio_high": 0.01,
            "actor_rollout_ref.actor.ppo_mini_batch_size": 128,
        },
        seed=137,
    ),
    "gpu full": Fault(
        "GPU memory ran out in the update, and Ray wrapped the error",
        "verl",
        nothing,
        r"GPU memory ran out in the update",
        untrue=r"host memory",
        log=GPU_FULL,
        seed=138,
    ),
}

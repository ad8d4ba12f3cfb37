"""Faults of the update: its size, its penalties, its samples."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to

A = "actor_rollout_ref.actor"


def falls(c: Columns, n: int, at: float, over: int, least: float = 0.04) -> None:
    """Reward and score fall to a level."""
    for name in ("reward", "score"):
        c[name] = c[name] * to(n, 1, least / 0.6, int(at * n), over)


def rate_jump(c: Columns, n: int) -> None:
    c["lr"] = to(n, 5e-7, 1e-5, n // 2)
    c["grad"] = noisy(to(n, 0.4, 5.0, n // 2, 8), 0.1, 51)
    c["ppo_kl"] = noisy(to(n, 0.0008, 0.03, n // 2, 5), 0.2, 52)
    c["clip"] = noisy(to(n, 0.006, 0.2, n // 2, 5), 0.1, 53)
    c["kl"] = c["kl"] + noisy(to(n, 0, 1.8, n // 2, 25), 0.05, 54)
    falls(c, n, 0.53, 20)


def rate_too_high(c: Columns, n: int) -> None:
    c["lr"] = np.full(n, 2e-4)
    c["grad"] = noisy(to(n, 3.0, 40.0, 5, 20), 0.3, 51)
    c["clip"] = noisy(to(n, 0.1, 0.4, 2, 10), 0.1, 53)
    c["kl"] = noisy(to(n, 0.05, 9.0, 3, 40), 0.1, 54)
    c["entropy"] = noisy(to(n, 0.9, 5.5, 8, 30), 0.03, 55)
    for name in ("reward", "score"):
        c[name] = np.abs(noisy(to(n, 0.3, 0.01, 6, 25), 0.1, 56))


def rate_too_low(c: Columns, n: int) -> None:
    c["lr"] = np.full(n, 1e-10)
    c["kl"] = np.abs(noisy(np.full(n, 2e-6), 0.4, 57))
    c["entropy"] = noisy(np.full(n, 0.9), 0.01, 58)
    c["length"] = noisy(np.full(n, 520.0), 0.015, 59)
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.27), 0.04, 60)
    c["val"] = noisy(np.full(n, 0.28), 0.02, 61)


def inert_penalty(c: Columns, n: int) -> None:
    """The policy leaves the reference; the coefficient is set, but not on the path that acts."""
    c["kl"] = noisy(to(n, 0.001, 6.5, n // 4, n // 2), 0.04, 62)
    falls(c, n, 0.6, 50, 0.2)


def heavy_penalty(c: Columns, n: int) -> None:
    c["kl"] = np.abs(noisy(np.full(n, 0.0012), 0.1, 63))
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.26), 0.04, 64)
    c["val"] = noisy(np.full(n, 0.28), 0.02, 61)
    c["loss"] = noisy(np.full(n, 0.02), 0.5, 65)


def entropy_bonus(c: Columns, n: int) -> None:
    c["entropy"] = noisy(to(n, 0.9, 8.0, n // 3, n // 3), 0.02, 66)
    falls(c, n, 0.55, 40)


def wide_clip(c: Columns, n: int) -> None:
    """Four passes over a rollout, and nothing bounds the ratio."""
    c["ppo_kl"] = noisy(to(n, 0.01, 0.3, n // 3, 40), 0.2, 67)
    c["clip"] = np.full(n, 0.0)
    c["grad"] = noisy(to(n, 0.5, 7, n // 3, 40), 0.15, 68)
    c["kl"] = c["kl"] + noisy(to(n, 0, 2.5, n // 3, 60), 0.05, 69)
    falls(c, n, 0.5, 30)


def many_passes(c: Columns, n: int) -> None:
    c["ppo_kl"] = noisy(to(n, 0.02, 0.16, n // 3, 30), 0.1, 67)
    c["clip"] = noisy(to(n, 0.12, 0.45, n // 3, 30), 0.05, 67)
    c["kl"] = c["kl"] + noisy(to(n, 0, 1.2, n // 3, 60), 0.05, 69)
    falls(c, n, 0.5, 40, 0.15)


def cold_sampler(c: Columns, n: int) -> None:
    """Temperature 0: all answers of a prompt are the same."""
    c["dead"] = np.ones(n)
    c["spread"] = np.zeros(n)
    c["grad"] = np.zeros(n)
    c["loss"] = np.zeros(n)
    c["entropy"] = noisy(np.full(n, 0.3), 0.01, 58)
    c["kl"] = np.zeros(n)
    c["reward"] = noisy(np.full(n, 0.3), 0.03, 64)
    c["val"] = noisy(np.full(n, 0.3), 0.01, 61)


def missed_sync(c: Columns, n: int) -> None:
    """From a step on the sampler keeps its old weights: both drift apart, and learning goes wrong."""
    for name in ("mismatch", "mismatch_kl"):
        c[name] = np.abs(noisy(to(n, 0.003, 0.25, n // 2, n // 3), 0.05, 81))
    c["grad"] = noisy(to(n, 0.4, 6, n // 2 + 15, 40), 0.2, 82)
    falls(c, n, 0.65, 40, 0.15)


def eight_bit_sampler(c: Columns, n: int) -> None:
    for name in ("mismatch", "mismatch_kl"):
        c[name] = np.abs(noisy(np.full(n, 0.09), 0.05, 83))
    c["mismatch_most"] = np.abs(noisy(np.full(n, 0.98), 0.01, 84))


def stale_rollouts(c: Columns, n: int) -> None:
    c["age"] = noisy(to(n, 1, 14, n // 3, 20), 0.05, 85)
    c["oldest"] = c["age"] * 1.6
    c["mismatch_kl"] = np.abs(noisy(to(n, 0.001, 0.08, n // 3, 25), 0.1, 86))
    c["masked"] = noisy(to(n, 0.01, 0.3, n // 3, 25), 0.1, 87)
    falls(c, n, 0.55, 40, 0.15)


def half_precision(c: Columns, n: int) -> None:
    at = int(0.6 * n)
    c["grad"] = noisy(to(n, 0.4, 900.0, at - 12, 12), 0.2, 88)
    for name in ("grad", "loss", "kl", "entropy"):
        c[name] = np.where(np.arange(n) >= at, np.nan, c[name])
    for name in ("reward", "score"):
        c[name] = np.where(np.arange(n) >= at, 0.0, c[name])


def critic_stands(c: Columns, n: int) -> None:
    c["critic_lr"] = np.zeros(n)
    c["vf_loss"] = noisy(np.full(n, 0.31), 0.03, 89)
    c["explained"] = np.random.default_rng(91).normal(-0.02, 0.02, n)
    c["values"] = noisy(np.full(n, 0.02), 0.05, 92)
    c["critic_grad"] = np.zeros(n)
    for name in ("reward", "score"):
        c[name] = noisy(np.full(n, 0.27), 0.05, 64)


def small_batch(c: Columns, n: int) -> None:
    rng = np.random.default_rng(93)
    for name in ("reward", "score"):
        c[name] = np.clip(0.35 + 0.22 * rng.standard_normal(n), 0, 1)
    c["grad"] = np.exp(rng.normal(0, 1.0, n))
    c["val"] = noisy(np.full(n, 0.28), 0.02, 61)


UPDATES = {
    "rate jumps": Fault(
        "the learning rate is 20 times as high from the middle on",
        "openrlhf",
        rate_jump,
        r"learning rate|steps? too large",
        untrue=r"truncat|grader|staleness|entropy bonus",
        seed=21,
    ),
    "rate too high": Fault(
        "the learning rate is 2e-4 for all weights since the start",
        "trl",
        rate_too_high,
        r"learning rate|steps? too large",
        untrue=r"truncat|grader|stale|too low",
        seed=22,
        config={"learning_rate": 2e-4},
    ),
    "rate too low": Fault(
        "the learning rate is 1e-10: nothing moves",
        "skyrl",
        rate_too_low,
        r"learning rate too low|updates too small|learning rate",
        untrue=r"too high|stale|too hard",
        seed=23,
        config={"trainer.policy.optimizer_config.lr": 1e-10},
    ),
    "inert penalty": Fault(
        "the KL coefficient is set, but the switch of its path is off",
        "verl",
        inert_penalty,
        r"inert|inactive|does not act|no KL|off|use_kl_loss",
        untrue=r"coefficient too (large|high)|stale|truncat",
        seed=24,
        config={f"{A}.use_kl_loss": False, f"{A}.kl_loss_coef": 0.05},
        rows=220,
    ),
    "heavy penalty": Fault(
        "a KL coefficient of 2 holds the policy at the reference",
        "trl",
        heavy_penalty,
        r"KL (coefficient|penalty)|\bbeta\b|penalty dominates",
        untrue=r"KL .*too (low|small)|stale|truncat",
        mild="reward-flat-from-start",
        seed=25,
        config={"beta": 2.0},
    ),
    "entropy bonus": Fault(
        "an entropy bonus of 0.05 makes the policy random",
        "slime",
        entropy_bonus,
        r"entropy bonus|entropy coefficient",
        untrue=r"truncat|stale|grader",
        seed=26,
        config={"entropy_coef": 0.05},
    ),
    "wide clip": Fault(
        "the clip range is 10, so that four passes over a rollout have no bound",
        "verl",
        wide_clip,
        r"clip|passes|epochs|updates a rollout|steps? too large",
        untrue=r"truncat|stale|grader",
        seed=27,
        config={f"{A}.clip_ratio_low": 10.0, f"{A}.clip_ratio_high": 10.0, f"{A}.ppo_epochs": 4},
    ),
    "many passes": Fault(
        "each rollout is used eight times",
        "skyrl",
        many_passes,
        r"passes|epochs|updates|steps? too large|several",
        untrue=r"truncat|stale|grader",
        seed=28,
        config={"trainer.update_epochs_per_batch": 8},
    ),
    "temperature 0": Fault(
        "the sampler takes the best token always: answers of a group are the same",
        "trl",
        cold_sampler,
        r"temperature",
        untrue=r"too easy|too hard|learning rate",
        seed=29,
        config={"temperature": 0.0},
    ),
    "missed sync": Fault(
        "the sampler no longer gets new weights",
        "slime",
        missed_sync,
        r"(old|stale) weights|sync",
        untrue=r"truncat|learning rate|grader",
        seed=30,
    ),
    "8-bit sampler": Fault(
        "the sampler computes in 8 bits, the trainer in 16, without a correction",
        "verl",
        eight_bit_sampler,
        r"precision|quanti|fp8|8.bit|number format",
        untrue=r"stale|truncat|learning rate",
        mild="mismatch-high",
        seed=31,
        config={"actor_rollout_ref.rollout.quantization": "fp8", "actor_rollout_ref.rollout.dtype": "float16"},
    ),
    "stale rollouts": Fault(
        "rollouts are 14 versions old when they are used",
        "prime_rl",
        stale_rollouts,
        r"stale|old|off-policy",
        untrue=r"truncat|grader|learning rate",
        seed=32,
        config={"orchestrator.max_off_policy_steps": 32},
    ),
    "half precision": Fault(
        "training in float16 without a loss scale overflows",
        "trl",
        half_precision,
        r"fp16|float16|precision|overflow",
        untrue=r"grader|stale|too hard",
        seed=33,
        config={"bf16": False, "fp16": True},
    ),
    "critic stands": Fault(
        "the critic's learning rate is 0: it predicts nothing",
        "verl",
        critic_stands,
        r"critic.{0,40}(learning rate|lr)|learning rate.{0,40}critic",
        untrue=r"stale|truncat|too easy",
        seed=34,
        config={"algorithm.adv_estimator": "gae", "critic.optim.lr": 0.0, f"{A}.use_kl_loss": False},
    ),
    "small batch": Fault(
        "a step sees two prompts: noise hides any gain",
        "openrlhf",
        small_batch,
        r"batch|noise|few (prompts|samples)",
        untrue=r"stale|truncat|grader",
        seed=35,
        config={"rollout.batch_size": 2, "rollout.n_samples_per_prompt": 2, "train.batch_size": 4},
    ),
}

"""A second lot: written after the causes were mended on the first, so that its rate is of faults nobody mended for."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.policy import falls
from tests.unit.diagnosis.faults.speed import BEGAN, grows, nothing, traced
from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to


def rate_after_resume(c: Columns, n: int) -> None:
    """The schedule starts anew after a resume: the rate is ten times what it was."""
    c["lr"] = to(n, 1e-6, 1.2e-5, int(0.6 * n))
    c["grad"] = noisy(to(n, 0.4, 3.0, int(0.6 * n), 6), 0.1, 51)
    c["entropy"] = noisy(to(n, 0.8, 0.02, int(0.6 * n), 25), 0.05, 52)
    c["mismatch_kl"] = np.abs(noisy(np.full(n, 0.0008), 0.1, 53))
    falls(c, n, 0.62, 25, 0.1)


def aged(c: Columns, n: int) -> None:
    c["age"] = noisy(to(n, 1, 9, n // 2, 10), 0.05, 54)
    c["oldest"] = 2 * c["age"]
    c["mismatch"] = np.abs(noisy(to(n, 0.004, 0.06, n // 2, 15), 0.08, 55))
    c["clip"] = noisy(to(n, 0.006, 0.16, n // 2, 15), 0.1, 56)
    falls(c, n, 0.6, 40, 0.2)


def silent_outage(c: Columns, n: int) -> None:
    """A grader that answers 0 to everything: nothing in the log, and the policy is as before."""
    at = np.arange(n) >= int(0.75 * n)
    c["reward"] = c["score"] = np.where(at, 0.0, c["reward"])
    c["all_wrong"] = np.where(at, 100.0, noisy(np.full(n, 15.0), 0.05, 57))
    c["all_right"] = np.where(at, 0.0, noisy(np.full(n, 20.0), 0.05, 58))


def brevity(c: Columns, n: int) -> None:
    """A part pays for short answers: accuracy goes with the length."""
    c["length"] = noisy(to(n, 520, 60, n // 5, n // 2), 0.02, 59)
    c["longest"] = c["length"] * 2
    c["part:brevity_reward"] = noisy(to(n, 0.2, 0.95, n // 5, n // 2), 0.02, 60)
    c["part:accuracy_reward"] = np.abs(noisy(to(n, 0.5, 0.12, n // 5, n // 2), 0.03, 61))
    c["reward"] = c["part:brevity_reward"] + c["part:accuracy_reward"]
    c["val"] = np.abs(noisy(to(n, 0.5, 0.12, n // 5, n // 2), 0.02, 62))


def nan_by_rate(c: Columns, n: int) -> None:
    c["lr"] = np.full(n, 1e-4)
    c["grad"] = noisy(to(n, 2, 400, n // 5, n // 3), 0.2, 63)
    at = np.arange(n) >= int(0.55 * n)
    for name in ("grad", "loss", "kl", "entropy"):
        c[name] = np.where(at, np.nan, c[name])
    falls(c, n, 0.3, n // 5, 0.01)


def mild_temperature(c: Columns, n: int) -> None:
    c["dead"] = np.clip(noisy(np.full(n, 0.82), 0.02, 64), 0, 1)
    c["spread"] = noisy(np.full(n, 0.05), 0.05, 65)
    c["entropy"] = noisy(np.full(n, 0.12), 0.02, 66)
    c["grad"] = noisy(np.full(n, 0.05), 0.1, 67)
    c["reward"] = noisy(np.full(n, 0.4), 0.02, 68)
    c["val"] = noisy(np.full(n, 0.4), 0.02, 69)


def loops(c: Columns, n: int) -> None:
    """The reward model likes repetition."""
    c["repeated"] = np.clip(noisy(to(n, 0.01, 0.7, n // 4, n // 3), 0.04, 70), 0, 1)
    c["length"] = noisy(to(n, 520, 7000, n // 4, n // 3), 0.02, 71)
    c["longest"] = np.minimum(8192, 2 * c["length"])
    c["cut"] = np.clip(noisy(to(n, 0.01, 0.6, n // 4, n // 3), 0.03, 72), 0, 1)
    c["val"] = np.abs(noisy(to(n, 0.4, 0.1, n // 4, n // 3), 0.02, 73))


def nucleus(c: Columns, n: int) -> None:
    c["mismatch"] = np.abs(noisy(np.full(n, 0.11), 0.05, 74))
    c["mismatch_most"] = np.abs(noisy(np.full(n, 0.97), 0.01, 75))


def long_warm_up(c: Columns, n: int) -> None:
    c["lr"] = np.linspace(1e-12, 2e-9, n)
    c["kl"] = np.abs(noisy(np.full(n, 1e-5), 0.3, 76))
    c["entropy"] = noisy(np.full(n, 0.9), 0.01, 77)
    c["reward"] = c["score"] = noisy(np.full(n, 0.3), 0.03, 78)
    c["val"] = noisy(np.full(n, 0.3), 0.02, 79)


def large_returns(c: Columns, n: int) -> None:
    """Rewards of a hundred, not normalised: the critic's loss explodes."""
    c["reward"] = c["score"] = 100 * c["reward"]
    c["values"] = noisy(to(n, 2, 45, n // 4, n // 4), 0.1, 80)
    c["vf_loss"] = noisy(to(n, 8, 9000, n // 4, n // 4), 0.2, 81)
    c["explained"] = np.random.default_rng(82).normal(-0.8, 0.2, n)
    c["critic_grad"] = noisy(to(n, 3, 4000, n // 4, n // 4), 0.2, 83)
    c["critic_lr"] = np.full(n, 1e-5)


def reference_follows(c: Columns, n: int) -> None:
    c["kl"] = np.zeros(n)


def short_for_penalty(c: Columns, n: int) -> None:
    """KL in the reward is summed over tokens: short answers pay less."""
    c["length"] = noisy(to(n, 520, 40, n // 5, n // 2), 0.03, 84)
    c["longest"] = c["length"] * 2
    c["score"] = np.abs(noisy(to(n, 0.4, 0.05, n // 5, n // 2), 0.04, 85))
    c["reward"] = c["score"] - to(n, 0.9, 0.02, n // 5, n // 2)
    c["val"] = np.abs(noisy(to(n, 0.4, 0.05, n // 5, n // 2), 0.02, 86))


def longer_and_wrong(c: Columns, n: int) -> None:
    """The loss divides by an answer's length: wrong answers grow, right ones do not."""
    c["length"] = noisy(to(n, 520, 1500, n // 5, n // 2), 0.02, 87)
    c["longest"] = np.full(n, 2048.0)
    c["cut"] = np.clip(noisy(to(n, 0.01, 0.3, n // 5, n // 2), 0.03, 88), 0, 1)
    c["reward"] = noisy(np.full(n, 0.4), 0.02, 89)
    c["val"] = noisy(np.full(n, 0.4), 0.02, 90)


def tools_down(c: Columns, n: int) -> None:
    c["tools"] = noisy(np.full(n, 2.1), 0.03, 91)
    c["failed_tools"] = np.clip(noisy(to(n, 0.04, 0.97, int(0.6 * n), 3), 0.02, 92), 0, 1)
    falls(c, n, 0.6, 5, 0.1)


def update_offloaded_late(c: Columns, n: int) -> None:
    grows("old_s", 4, 60, 0.5)(c, n)


A = "actor_rollout_ref.actor"
SEARCH = BEGAN + "".join(
    f"2026-03-02 10:{m:02}:00 ERROR tools.search: HTTP 503 Service Unavailable from http://search:9000/query\n"
    for m in range(30)
)
SPILLED = (
    BEGAN
    + "".join(
        f"(raylet) Spilled {60 * m} GiB, {400 * m} objects, write throughput 900 MiB/s. object store is full\n"
        for m in range(1, 9)
    )
    + "(raylet) [2026-03-02 11:00:00,000 E 77 77] node_manager.cc:3099: 1 Workers (tasks / actors) killed due to "
    "memory pressure (OOM), 0 Workers crashed due to other reasons at node (IP: 10.0.0.7)\n"
)
SECOND = {
    "rate after resume": Fault(
        "the schedule of the learning rate began anew",
        "prime_rl",
        rate_after_resume,
        r"learning rate|steps? too large",
        untrue=r"stale|grader|truncat",
        seed=61,
    ),
    "aged rollouts": Fault(
        "rollouts are nine versions old",
        "skyrl",
        aged,
        r"stale|old(er)? (rollouts|weights)|rollouts .{0,20}old",
        untrue=r"grader|truncat|learning rate",
        seed=62,
    ),
    "silent outage": Fault(
        "the grader gives 0 to everything, and no log says so",
        "nemo_rl",
        silent_outage,
        r"reward (code|model|function)|grader|sandbox",
        untrue=r"learning rate|stale|too hard",
        seed=63,
    ),
    "brevity": Fault(
        "a part of the reward pays for short answers",
        "trl",
        brevity,
        r"extra part|brevity|pays for (short|length)|penalty",
        untrue=r"stale|grader|sign",
        seed=64,
    ),
    "NaN by rate": Fault(
        "a learning rate of 1e-4 ends in NaN",
        "skyrl",
        nan_by_rate,
        r"learning rate",
        untrue=r"float16|grader|stale",
        seed=65,
        config={"trainer.policy.optimizer_config.lr": 1e-4},
    ),
    "low temperature": Fault(
        "a temperature of 0.2: most groups agree",
        "trl",
        mild_temperature,
        r"temperature",
        untrue=r"learning rate|stale",
        seed=66,
        config={"temperature": 0.2},
    ),
    "loops pay": Fault(
        "the policy repeats itself for reward",
        "slime",
        loops,
        r"loop|repe|can be earned|exploit",
        untrue=r"stale|learning rate",
        seed=67,
    ),
    "nucleus": Fault(
        "the sampler cuts the tail at top_p 0.7, the trainer does not",
        "verl",
        nucleus,
        r"top_p|sampling settings",
        untrue=r"stale|learning rate|truncated responses",
        seed=68,
        config={"actor_rollout_ref.rollout.top_p": 0.7},
        mild="mismatch-high",
    ),
    "long warm-up": Fault(
        "a warm-up of 100,000 steps keeps the learning rate at nothing",
        "openrlhf",
        long_warm_up,
        r"learning rate too low|warm",
        untrue=r"stale|grader|too high",
        seed=69,
        config={"actor.adam.lr": 1e-6},
        mild="reward-flat-from-start",
    ),
    "large returns": Fault(
        "returns of a hundred are too large for the critic",
        "verl",
        large_returns,
        r"returns|reward.{0,30}(scale|large|normal)",
        untrue=r"stale|truncat",
        seed=70,
        mild="critic-uninformative",
        config={"algorithm.adv_estimator": "gae", f"{A}.use_kl_loss": False, "critic.optim.lr": 1e-5},
    ),
    "reference follows": Fault(
        "the reference is synced with the policy at each step",
        "trl",
        reference_follows,
        r"reference is the policy|sync",
        untrue=r"grader|stale",
        seed=71,
        config={"sync_ref_model": True, "ref_model_sync_steps": 1},
        mild="kl-zero-unexpected",
    ),
    "short for the penalty": Fault(
        "a KL penalty summed over tokens pays for short answers",
        "verl",
        short_for_penalty,
        r"KL|penalty",
        untrue=r"stale|truncat|learning rate",
        seed=72,
        config={"algorithm.use_kl_in_reward": True, "algorithm.kl_ctrl.kl_coef": 0.05, f"{A}.use_kl_loss": False},
    ),
    "length bias": Fault(
        "the loss divides by the length of an answer",
        "trl",
        longer_and_wrong,
        r"length bias|division by length|average|loss",
        untrue=r"stale|grader|learning rate",
        seed=73,
        config={"loss_type": "grpo"},
        mild="length-explosion",
    ),
    "search down": Fault(
        "the search service answers 503",
        "trl",
        tools_down,
        r"tool|server|service|sandbox",
        untrue=r"stale|learning rate",
        seed=74,
        log=SEARCH,
    ),
    "slow log-probs": Fault(
        "the old log-probs became 15 times as slow",
        "skyrl",
        update_offloaded_late,
        r"update|log-prob",
        untrue=r"grader|longer|fewer",
        seed=75,
    ),
    "object store": Fault(
        "Ray's object store filled the host, and Ray killed workers",
        "openrlhf",
        nothing,
        r"host memory|Ray|object store",
        untrue=r"GPU|disk",
        seed=76,
        log=SPILLED,
    ),
    "engine memory": Fault(
        "no GPU memory was left for the cache of the sampler",
        "verl",
        nothing,
        r"sampler|cache|engine",
        untrue=r"disk|host",
        seed=77,
        log=traced(
            'vllm/worker.py", line 20, in init',
            "ValueError: No available memory for the cache blocks. Try increasing "
            "`gpu_memory_utilization` when initializing the engine.",
        ),
    ),
    "port in use": Fault(
        "another process holds the port",
        "slime",
        nothing,
        r"port|address",
        untrue=r"disk|memory",
        seed=78,
        log=traced('launch.py", line 3, in bind', "OSError: [Errno 98] Address already in use"),
    ),
    "few prompts": Fault(
        "30 passes over a small data set",
        "trl",
        lambda c, n: c.update(
            epoch=np.linspace(0, 30, n),
            reward=noisy(to(n, 0.3, 0.97, n // 10, n // 2), 0.015, 41),
            val=noisy(to(n, 0.45, 0.3, n // 3, n // 2), 0.02, 42),
        ),
        r"repeat|passes|memor",
        untrue=r"stale|grader",
        seed=79,
    ),
}

"""A third lot, of kinds that the first two lack, written by somebody who had not read the causes."""

from __future__ import annotations

import numpy as np

from tests.unit.diagnosis.faults.policy import falls
from tests.unit.diagnosis.faults.speed import BEGAN
from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to


def slowed(c: Columns, n: int) -> None:
    """Heat: what runs on the GPUs takes 1.7 times as long."""
    for name, seed in (("gen_s", 1), ("update_s", 2), ("ref_s", 3)):
        c[name] = noisy(c.get(name, np.full(n, 6.0)) * to(n, 1, 1.7, n // 2, 10), 0.02, seed)


def longer_prompts(c: Columns, n: int) -> None:
    c["prompt"] = noisy(to(n, 240, 3000, n // 3, n // 2), 0.02, 4)
    c["gen_s"] = noisy(to(n, 48, 110, n // 3, n // 2), 0.02, 5)
    c["update_s"] = noisy(to(n, 30, 105, n // 3, n // 2), 0.02, 6)


def reference_on_cpu(c: Columns, n: int) -> None:
    c["ref_s"] = noisy(to(n, 6, 70, n // 2), 0.03, 7)


def gibberish(c: Columns, n: int) -> None:
    c["entropy"] = noisy(to(n, 2.2, 5.5, n // 9, n // 3), 0.03, 8)
    c["cut"] = np.clip(noisy(to(n, 0.05, 0.7, n // 9, n // 3), 0.04, 9), 0, 1)
    falls(c, n, 1 / 9, n // 3, 0.03)


def unmasked(c: Columns, n: int) -> None:
    c["grad"] = noisy(to(n, 0.3, 30, n // 3, n // 4), 0.3, 10)
    c["kl"] = noisy(to(n, 0.01, 1.0, n // 3, n // 3), 0.15, 11)
    falls(c, n, 0.42, n // 4, 0.04)


def other_template(c: Columns, n: int) -> None:
    c["reward"] = noisy(to(n, 0.2, 0.92, n // 18, n // 2), 0.02, 12)
    c["val"] = noisy(np.full(n, 0.03), 0.1, 13)


def endless(c: Columns, n: int) -> None:
    c["length"] = noisy(np.full(n, 4090.0), 0.0005, 14)
    c["longest"] = np.full(n, 4096.0)
    c["cut"] = np.clip(noisy(np.full(n, 0.985), 0.004, 15), 0, 1)
    c["reward"] = np.abs(noisy(np.full(n, 0.05), 0.2, 16))
    c["val"] = np.abs(noisy(np.full(n, 0.05), 0.1, 17))


def out_of_sync(c: Columns, n: int) -> None:
    """Weights no longer arrive: the gap grows, validation falls before the reward does."""
    c["mismatch"] = noisy(to(n, 0.004, 0.22, int(0.4 * n), n // 4), 0.06, 18)
    c["mismatch_most"] = np.clip(noisy(to(n, 0.3, 0.99, int(0.4 * n), n // 6), 0.02, 19), 0, 1)
    c["grad"] = noisy(to(n, 0.25, 2.0, int(0.4 * n), n // 3), 0.15, 20)
    falls(c, n, 0.56, n // 4, 0.15)


def token_range(c: Columns, n: int) -> None:
    c["clip"] = np.zeros(n)
    c["ppo_kl"] = noisy(to(n, 0.001, 0.05, n // 4, n // 2), 0.2, 21)
    falls(c, n, 0.5, n // 3, 0.15)
    c["val"] = 0.9 * c["reward"]  # it is the policy that breaks


def agreeing(c: Columns, n: int) -> None:
    c["dead"] = np.clip(noisy(np.full(n, 0.96), 0.01, 22), 0, 1)
    c["spread"] = noisy(np.full(n, 0.01), 0.1, 23)
    c["reward"] = noisy(np.full(n, 0.45), 0.04, 24)
    c["val"] = noisy(np.full(n, 0.4), 0.03, 25)
    c["grad"] = noisy(np.full(n, 0.02), 0.2, 26)


def unsaved(c: Columns, n: int) -> None:
    """Nothing but the log is wrong."""


A = "actor_rollout_ref.actor"
WRITER = (
    BEGAN + "Traceback (most recent call last):\n"
    '  File "/opt/work/checkpoint_manager.py", line 210, in save_checkpoint\n'
    "    torch.save(optim, path)\n"
    "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 6400 vs 6294\n"
    "OSError: [Errno 28] No space left on device: '/ckpt/global_step_160/actor/optim_rank_3.pt'\n"
)
THIRD = {
    "heat": Fault(
        "all GPUs are throttled",
        "verl",
        slowed,
        r"heat|power|node|program",
        untrue=r"longer|grader|fewer tokens",
        seed=101,
    ),
    "prompts grow": Fault(
        "prompts grow tenfold", "verl", longer_prompts, r"prompts", untrue=r"grader|longer responses|slower", seed=102
    ),
    "reference on the CPU": Fault(
        "the reference was moved to the CPU",
        "verl",
        reference_on_cpu,
        r"reference|log-prob",
        untrue=r"^The update",
        seed=103,
    ),
    "hot sampling": Fault(
        "a temperature of 1.6 makes gibberish",
        "openrlhf",
        gibberish,
        r"temperature",
        untrue=r"grader|stale|truncat",
        seed=104,
        config={"rollout.temperature": 1.6},
    ),
    "tool output in the loss": Fault(
        "what tools wrote counts in the loss",
        "verl",
        unmasked,
        r"mask",
        untrue=r"grader|stale",
        seed=105,
        config={f"{A}.state_masking": False, "retriever.url": "http://r:8000", "actor_rollout_ref.rollout.n_agent": 4},
    ),
    "other template": Fault(
        "validation uses another chat template",
        "trl",
        other_template,
        r"template",
        untrue=r"learning rate|stale",
        seed=106,
        config={"max_completion_length": 4096},
    ),
    "no end token": Fault(
        "the end token is missing in the template",
        "nemo_rl",
        endless,
        r"end token",
        untrue=r"learning rate|stale|too small",
        seed=107,
    ),
    "out of sync": Fault(
        "weights no longer arrive at the sampler",
        "verl",
        out_of_sync,
        r"sync|stale|weights",
        untrue=r"grader|truncat|over-train",
        seed=108,
    ),
    "range of tokens": Fault(
        "a token's clip range for whole sequences",
        "verl",
        token_range,
        r"clip range|range",
        untrue=r"grader|stale",
        seed=109,
        config={f"{A}.policy_loss.loss_mode": "gspo"},
    ),
    "groups agree": Fault(
        "prompts are all too easy or all too hard", "trl", agreeing, r"easy|hard", untrue=r"coarse|stale", seed=110
    ),
    "writer's error": Fault(
        "the disk is full, and PyTorch says so in its own words", "skyrl", unsaved, r"disk", seed=111, log=WRITER
    ),
}

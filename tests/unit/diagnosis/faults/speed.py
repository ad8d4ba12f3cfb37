"""What makes steps slow, and what ends a run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.unit.diagnosis.faults.writing import Columns, Fault, noisy, to

Plant = Callable[[Columns, int], None]


def grows(name: str, before: float, after: float, at: float, over: int = 1) -> Plant:
    """One phase takes longer from a row on."""

    def plant(c: Columns, n: int) -> None:
        c[name] = noisy(to(n, before, after, int(at * n), over), 0.03, 71)

    return plant


def long_answers(c: Columns, n: int) -> None:
    times = to(n, 1.0, 2.7, n // 2, n // 4)
    for name in ("length", "gen_s"):
        c[name] = noisy(c[name] * times, 0.02, 72)
    c["longest"] = np.minimum(2048, c["length"] * 1.4)


def long_tail(c: Columns, n: int) -> None:
    c["longest"] = noisy(to(n, 1500, 4096, n // 2, 10), 0.01, 73)
    c["gen_s"] = noisy(to(n, 34, 92, n // 2, 10), 0.03, 74)


def merger_beside(c: Columns, n: int) -> None:
    """Another process eats the memory of the host, step by step, until the kernel ends the trainer."""
    c["host_gb"] = noisy(to(n, 210, 1960, n // 3, n - n // 3), 0.003, 75)


def memory_grows(c: Columns, n: int) -> None:
    c["length"] = noisy(to(n, 520, 3600, n // 3, n - n // 3), 0.02, 76)
    c["longest"] = np.minimum(4096, c["length"] * 2)
    c["gpu_gb"] = noisy(to(n, 48, 78.5, n // 3, n - n // 3), 0.004, 77)


def nothing(c: Columns, n: int) -> None:
    """The metrics show no fault: the log does."""


BEGAN = "Started a local Ray instance. View the dashboard at 127.0.0.1:8265\n"


def traced(place: str, error: str) -> str:
    return (
        f'{BEGAN}Traceback (most recent call last):\n  File "/opt/work/{place}\n    result = self.run(batch)\n{error}\n'
    )


SERVICE_SLOW = BEGAN + "".join(
    f"2026-02-01 11:{m:02}:10,001 WARNING tools.sandbox: sandbox call timed out after 60 s, retrying ({m}/40)\n"
    for m in range(40)
)
PREEMPTED = BEGAN + "".join(
    f"WARNING 02-01 12:{m:02}:31 [scheduler.py:311] Sequence group {m} is preempted by PreemptionMode.RECOMPUTE "
    "because there is not enough KV cache space. This can affect the end-to-end performance.\n"
    for m in range(20)
)
NCCL = (
    "[rank5]:[E ProcessGroupNCCL.cpp:616] [Rank 5] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88123, OpType=ALLGATHER, NumelIn=1, Timeout(ms)=600000) ran for 600013 milliseconds before timing "
    "out.\n[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=88124, OpType=ALLREDUCE, NumelIn=1, Timeout(ms)=600000) ran for 600021 milliseconds before timing "
    "out.\nterminate called after throwing an instance of 'c10::DistBackendError'\n"
)

SLOW = {
    "long answers": Fault(
        "answers became 2.7 times as long, and a step takes as much longer",
        "trl",
        long_answers,
        r"longer (responses|answers)|responses (grow|are longer)",
        untrue=r"slow (reward|grader)|fewer tokens|checkpoint",
        mild="step-time-regression",
        seed=1,
    ),
    "slower tokens": Fault(
        "the sampler writes a third of the tokens a second, answers are as long as before",
        "nemo_rl",
        lambda c, n: (grows("gen_s", 34, 100, 0.6)(c, n), c.update(tokens_s=to(n, 2100, 800, int(0.6 * n))))[0],
        r"fewer tokens|generation",
        untrue=r"longer (responses|answers)|slow (reward|grader)",
        seed=2,
    ),
    "slow grader": Fault(
        "scoring takes 48 s in the place of 2.5 s",
        "verl",
        grows("reward_s", 2.5, 48, 0.55, 6),
        r"reward|grader|scor",
        untrue=r"longer (responses|answers)|fewer tokens",
        seed=3,
        rows=240,
        noise=2.0,
    ),
    "slow broadcast": Fault(
        "sending the weights to the sampler takes 60 s in the place of 3 s",
        "openrlhf",
        grows("sync_s", 3, 60, 0.5),
        r"weights",
        untrue=r"longer|grader|fewer tokens",
        seed=4,
    ),
    "slow checkpoints": Fault(
        "every step waits 70 s for a checkpoint on a slow disk",
        "skyrl",
        lambda c, n: c.update(save_s=noisy(to(n, 1, 70, n // 2), 0.03, 78)),
        r"checkpoint|sav",
        untrue=r"longer|grader|fewer tokens",
        seed=5,
    ),
    "one long answer": Fault(
        "a few answers run to the limit and hold up generation; the mean length is as before",
        "slime",
        long_tail,
        r"few very long|longest|straggl|slowest",
        untrue=r"grader|checkpoint",
        seed=6,
    ),
    "slow tools": Fault(
        "calls of the sandbox time out",
        "trl",
        grows("reward_s", 3, 55, 0.5, 8),
        r"sandbox|tool|reward",
        untrue=r"longer (responses|answers)",
        log=SERVICE_SLOW,
        seed=7,
    ),
    "small cache": Fault(
        "the cache of the sampler is too small: requests are preempted and computed again",
        "verl",
        grows("gen_s", 34, 110, 0.5, 20),
        r"preempt",
        untrue=r"longer|grader",
        config={"actor_rollout_ref.rollout.gpu_memory_utilization": 0.35},
        log=PREEMPTED,
        seed=8,
    ),
    "offloaded optimiser": Fault(
        "parameters and optimiser lie on the CPU since the start: the update takes most of a step",
        "verl",
        grows("update_s", 160, 160, 0.5),
        r"offload|CPU|update",
        untrue=r"grader|longer|sent slowly",
        config={
            "actor_rollout_ref.actor.fsdp_config.param_offload": True,
            "actor_rollout_ref.actor.fsdp_config.optimizer_offload": True,
        },
        mild="phase-bottleneck",
        seed=9,
    ),
    "reference offloaded": Fault(
        "the reference is on the CPU: its log-probs take half of a step",
        "slime",
        lambda c, n: c.update(ref_s=noisy(np.full(n, 62.0), 0.03, 79)),
        r"reference",
        untrue=r"grader|longer",
        mild="phase-bottleneck",
        seed=10,
    ),
    "slow optimiser": Fault(
        "the update alone became four times as slow",
        "skyrl",
        grows("update_s", 21, 90, 0.6),
        r"update",
        untrue=r"grader|fewer tokens|longer",
        seed=11,
    ),
}

ENDED = {
    "disk full": Fault(
        "the disk was full when a checkpoint was written",
        "nemo_rl",
        nothing,
        r"disk",
        untrue=r"memory",
        seed=12,
        log=traced(
            'checkpoint.py", line 88, in save',
            "RuntimeError: [enforce fail at inline_container.cc:603] . "
            "PytorchStreamWriter failed writing file data/0: No space left on device",
        ),
    ),
    "merger beside": Fault(
        "a merger of checkpoints beside the training filled the host's memory, and the kernel ended the trainer",
        "verl",
        merger_beside,
        r"host|kernel|out of memory|memory",
        untrue=r"CUDA|GPU|disk",
        seed=13,
        log="[1209384.11] Out of memory: Killed process 48213 (python) total-vm:901234kB, anon-rss:88123412kB\n"
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7712.0. Some of the step tasks have been OOM Killed.\n",
    ),
    "GPU memory": Fault(
        "answers became six times as long until the update no longer fitted on the GPU",
        "verl",
        memory_grows,
        r"GPU memory|CUDA|out of memory",
        untrue=r"disk|host memory",
        seed=14,
        log=traced(
            'fsdp_workers.py", line 512, in update_actor',
            "torch.OutOfMemoryError: CUDA out of memory. Tried to "
            "allocate 9.27 GiB. GPU 3 has a total capacity of 79.10 GiB of which 1.12 GiB is free.",
        ),
    ),
    "rank 5 hangs": Fault(
        "rank 5 came too late to a collective operation",
        "openrlhf",
        nothing,
        r"rank 5|NCCL|collective",
        untrue=r"memory|disk",
        seed=15,
        log=NCCL,
    ),
    "reward code": Fault(
        "an answer without a number breaks the user's reward function",
        "trl",
        nothing,
        r"reward (code|function)|math_reward",
        untrue=r"memory|disk",
        seed=16,
        log=traced('rewards/math_reward.py", line 31, in accuracy_reward', "IndexError: list index out of range"),
    ),
    "time limit": Fault(
        "the job ran into the time limit of the scheduler",
        "slime",
        nothing,
        r"time limit",
        untrue=r"memory|disk",
        seed=17,
        log="slurmstepd: error: *** JOB 881234 ON node17 CANCELLED AT 2026-02-03T04:00:12 DUE TO TIME LIMIT ***\n",
    ),
    "no module": Fault(
        "a module is missing on the node",
        "skyrl",
        nothing,
        r"module|import|install",
        untrue=r"memory|disk",
        seed=18,
        log=traced('main_base.py", line 9, in <module>', "ModuleNotFoundError: No module named 'flash_attn'"),
    ),
}

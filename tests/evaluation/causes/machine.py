"""Faults of what stands around the policy: graders, sampler, disk, memory, network; and slow steps."""

from __future__ import annotations

import numpy as np

from tests.evaluation.causes.case import Case, plant
from tests.evaluation.causes.policy import OUTSIDE

GRADER = (
    *OUTSIDE,
    "The reward service fails",
    "The sandbox or the remote reward model is down",
    "The grader",
    "The reward function",
)


@plant("longer answers make steps slow")
def longer_answers(c: Case) -> tuple[str, ...]:
    c.logs_all()
    by = 1 + c.some(1.0, 2.0) * c.since(5)
    c["response_length_mean"] = c["response_length_mean"] * by
    c.timed(gen=by, update=by, old=by)
    return ("Longer responses", "Long responses are rewarded", "Longer sequences")


@plant("tokens come slower")
def slower_tokens(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.timed(gen=1 + c.some(1.5, 4) * c.since(1))
    return ("Generation writes fewer tokens", "The sampler preempts", "The server is overloaded")


@plant("grading becomes slow")
def slow_grader(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.timed(grade=1 + c.some(15, 40) * c.since(3))
    return ("Slow reward or tools", "Slow grader", "Scoring takes longer")


@plant("saves become slow")
def slow_saves(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.timed(save=c.some(0.8, 2.0) * c.since(1))
    return (
        "Checkpoints or validation",
        "Saves come too often",
        "The file system of the checkpoints",
        "A slow file system",
    )


@plant("sending weights becomes slow")
def slow_sync(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.timed(sync=1 + c.some(30, 60) * c.since(2))
    return ("Sending weights", "Weights are sent slowly")


@plant("log-probs become slow")
def slow_log_probs(c: Case) -> tuple[str, ...]:
    c.logs_all()
    c.timed(old=1 + c.some(10, 20) * c.since(2))
    return ("The log-probs of policy or reference", "Making the experience")


def _answers_only(c: Case, value: float) -> None:
    """All answers get one and the same score from the fault on."""
    after = np.arange(1, c.w.length + 1) >= c.begin
    c["score_mean"] = np.where(after, value, c["score_mean"])
    c.pays(value, value, after)
    c["reward_std"] = np.where(after, 0.0, c["reward_std"])
    c["frac_reward_zero_std"] = np.where(after, 1.0, c["frac_reward_zero_std"])
    c["grad_norm"] = np.where(after, 1e-3, 1) * c["grad_norm"]


@plant("the reward service is down")
def service_down(c: Case) -> tuple[str, ...]:
    for step in range(c.begin, c.w.length, max(1, c.w.length // 40)):
        c.log.append(
            (step, f"2026-01-01 10:00:{step % 60:02} WARNING reward: HTTP 503 Service Unavailable from rm:8000")
        )
    _answers_only(c, c.w.low)
    return GRADER


@plant("the grader answers one default")
def one_default(c: Case) -> tuple[str, ...]:
    default = c.w.low + c.w.width * float(c.w.rng.choice([0.0, 0.5, 1.0]))
    _answers_only(c, default)
    return GRADER


@plant("the grader fails on half of the answers")
def half_fail(c: Case) -> tuple[str, ...]:
    after = np.arange(1, c.w.length + 1) >= c.begin
    for step in range(c.begin, c.w.length, max(1, c.w.length // 60)):
        c.log.append(
            (step, f"ERROR [reward_worker] step {step}: TimeoutError: judge did not answer in 30 s, score set to 0")
        )
    c["score_mean"] = np.where(after, c.w.low + 0.5 * (c["score_mean"] - c.w.low), c["score_mean"])
    return GRADER


DISK = """Traceback (most recent call last):
  File "/app/train.py", line 212, in save
    torch.save(state, path)
  File "/opt/env/lib/python3.11/site-packages/torch/serialization.py", line 850, in save
    _save(obj, opened_zipfile)
OSError: [Errno 28] No space left on device
"""
CUDA = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/app/train.py", line 140, in update_policy
[rank3]:     loss.backward()
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.43 GiB. GPU 3 has a total capacity of \
79.11 GiB of which 2.31 GiB is free. Of the allocated memory 70.12 GiB is allocated by PyTorch, and 3.50 GiB is \
reserved by PyTorch but unallocated.
"""
KERNEL = """slurmstepd: error: Detected 1 oom_kill event in StepId=4711.0. Some of the step tasks have been OOM Killed.
srun: error: node12: task 0: Out Of Memory
"""
NCCL = """[rank2]:[E1101 10:11:12.123456789 ProcessGroupNCCL.cpp:629] [Rank 2] Watchdog caught collective operation \
timeout: WorkNCCL(SeqNum=8812, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 \
milliseconds before timing out.
terminate called after throwing an instance of 'c10::DistBackendError'
"""
PREEMPTED = """slurmstepd: error: *** JOB 4711 ON node12 CANCELLED AT 2026-01-01T12:00:00 DUE TO TIME LIMIT ***
"""
ASSERTED = """Traceback (most recent call last):
  File "/app/train.py", line 88, in step
    rewards = compute_rewards(batch)
  File "/app/rewards.py", line 31, in compute_rewards
    assert len(answers) == len(completions), (len(answers), len(completions))
AssertionError: (64, 63)
"""
PORT = """Traceback (most recent call last):
  File "/app/serve.py", line 12, in start
    sock.bind(("0.0.0.0", 8000))
OSError: [Errno 98] Address already in use
"""


def _crash(name: str, text: str, *causes: str) -> None:
    @plant(name)
    def crash(c: Case) -> tuple[str, ...]:
        c.end = text
        return causes


_crash("the disk is full", DISK, "The disk was full")
_crash("the GPU's memory is full", CUDA, "CUDA out of memory", "The GPU's memory", "Out of GPU memory", "GPU memory")
_crash("the host's memory is full", KERNEL, "The host", "Host memory", "Out of host memory", "The kernel")
_crash("a rank is missing", NCCL, "NCCL", "A rank", "One rank", "A collective")
_crash("the time limit", PREEMPTED, "The time limit", "The job", "Time limit", "The scheduler")
_crash("an assertion of the reward code", ASSERTED, "An assertion", "The reward code", "Reward code")
_crash("a port is in use", PORT, "A port", "The port", "The address", "A process of an earlier run")
